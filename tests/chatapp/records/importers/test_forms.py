"""What other programs have recorded: told by how it begins, and read as it is meant."""

import gzip
import json
import re
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatapp.condensing import undo
from chatapp.conversations.context.condense_requests import CondenseScope, find_chosen
from chatapp.models import Conversation, Source, errors, message_store
from chatapp.records import importers
from chatapp.records.transfer.record_import import (
    ImportResult,
    load_conversation,
    load_conversations,
)
from tests.chatapp.records.importers.exports import CHATGPT, CLAUDE, LIBRE, WEBUI

AT = "2026-01-02T03:04:05.678Z"
TOOL_CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "ls", "arguments": '{"path": "a"}'},
}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": "Be kind."},
    {"role": "user", "content": [
        {"type": "text", "text": "What is there?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
    ]},
    {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL, TOOL_CALL | {"id": "c2"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    {"role": "tool", "tool_call_id": "c2", "content": "b.py"},
    {"role": "system", "content": "It is late."},
    {"role": "assistant", "content": "Two files."},
]  # fmt: skip
USAGE = {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 11}
MAIN = {"sessionId": "s", "timestamp": AT, "isSidechain": False}


def line(number: int, kind: str, **more: Any) -> dict[str, Any]:
    """Return a line of a session."""
    return {"type": kind, "uuid": f"u{number}", **MAIN, **more}


def replied(number: int, *blocks: Any) -> dict[str, Any]:
    """Return a line with a part of one reply."""
    message = {
        "id": "msg_1",
        "role": "assistant",
        "model": "m-1",
        "content": blocks,
        "usage": USAGE,
    }
    return line(number, "assistant", message=message)


SESSION: list[dict[str, Any]] = [
    {"type": "summary", "summary": "Looking around", "leafUuid": "u9"},
    line(1, "user", message={"role": "user", "content": "What is there?"}),
    replied(2, {"type": "text", "text": "Let me look."}),
    replied(3, {"type": "tool_use", "id": "t1", "name": "LS", "input": {"path": "."}}),
    line(4, "user", message={"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}]}),
    line(5, "assistant", isSidechain=True, message={"role": "assistant", "content": "Psst."}),
    line(6, "system", subtype="compact_boundary",
         compactMetadata={"trigger": "auto", "preTokens": 155_000}),
    line(7, "user", isCompactSummary=True, message={"role": "user", "content": "It was a.py."}),
    line(8, "user", message={"role": "user", "content": "Thanks."}),
]  # fmt: skip


def item(kind: str, **payload: Any) -> dict[str, Any]:
    """Return a line of a rollout."""
    return {"timestamp": AT, "type": "response_item", "payload": {"type": kind, **payload}}


TOKENS = {"input_tokens": 16, "cached_input_tokens": 11, "output_tokens": 7}
ROLLOUT: list[dict[str, Any]] = [
    {"timestamp": AT, "type": "session_meta", "payload": {"id": "s", "cwd": "/x"}},
    item("message", role="user", content=[{"type": "input_text", "text": "What is there?"}]),
    item("reasoning", summary=[{"type": "summary_text", "text": "Look."}], encrypted_content="x"),
    item("function_call", name="shell", arguments='{"command": ["ls"]}', call_id="c1"),
    item("function_call_output", call_id="c1", output="a.py"),
    item("message", role="assistant", content=[{"type": "output_text", "text": "One file."}]),
    {"timestamp": AT, "type": "event_msg",
     "payload": {"type": "token_count", "info": {"last_token_usage": TOKENS}}},
    {"timestamp": AT, "type": "compacted", "payload": {"message": "It was a.py."}},
    item("message", role="user", content=[{"type": "input_text", "text": "Thanks."}]),
]  # fmt: skip

NAME, MARK = str(uuid.uuid4()), "not-a-uuid"
HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "Hi"}], "ts": 1, "condenseParent": NAME},
    {"role": "assistant", "content": "Hello", "ts": 2, "condenseParent": NAME},
    {"role": "user", "content": "They said hi.", "ts": 3, "isSummary": True, "condenseId": NAME},
    {"role": "assistant", "content": "Go on.", "ts": 4, "truncationParent": MARK},
    {"role": "user", "content": "[cut]", "ts": 5, "isTruncationMarker": True, "truncationId": MARK},
    {"role": "user", "content": "Well?", "ts": 1_700_000_000_000},
]
SHOWN: list[dict[str, Any]] = [
    {"ts": 1, "type": "say", "say": "text", "text": "Hi  there"},
    {"ts": 3, "type": "say", "say": "condense_context", "contextCondense": {
        "cost": 0.0123, "prevContextTokens": 900, "newContextTokens": 90,
        "summary": "They said hi.", "condenseId": NAME}},
    {"ts": 5, "type": "say", "say": "sliding_window_truncation", "contextTruncation": {
        "truncationId": MARK, "prevContextTokens": 90, "newContextTokens": 9}},
]  # fmt: skip


def lines(items: list[dict[str, Any]]) -> bytes:
    """Return JSON Lines."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in items)


def write(folder: Path, name: str, data: bytes) -> Path:
    """Write a file and return its path."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return folder / name


def task(folder: Path) -> Path:
    """Return the folder of a task."""
    write(folder / "task", "ui_messages.json", json.dumps(SHOWN).encode())
    return write(
        folder / "task", "api_conversation_history.json", json.dumps(HISTORY).encode()
    ).parent


def load(path: Path, owner: User) -> Conversation:
    """Import what is recognised."""
    form = importers.recognise(path)
    assert form
    source = Source(form=form, name=path.name)
    pieces = importers.read_file(form, path)
    return load_conversation(pieces, owner=owner, source=source)


def said(conversation: Conversation) -> list[tuple[str, str]]:
    """Return what the model sees."""
    return [(one.role, one.text) for one in message_store.read_effective(conversation.pk)]


@pytest.mark.parametrize(
    ("name", "data", "form"),
    [
        ("a.json", json.dumps(CHAT).encode(), "chat_completions"),
        ("a.json", json.dumps({"model": "m", "messages": CHAT}).encode(), "chat_completions"),
        ("a.jsonl", lines(CHAT), "chat_completions"),
        ("a.jsonl", lines(SESSION), "claude_code"),
        ("a.jsonl.gz", gzip.compress(lines(SESSION)), "claude_code"),
        ("a.jsonl", lines(ROLLOUT), "codex"),
        ("a.jsonl", lines([one["payload"] for one in ROLLOUT[1:6]]), "codex"),
        ("a.json", json.dumps(HISTORY).encode(), "roo_code"),
        ("a.json", json.dumps([{"role": "user", "content": "Hi"}]).encode(), "messages"),
        (
            "a.json",
            json.dumps({"messages": [{"role": "user", "content": "x"}]}).encode(),
            "messages",
        ),
        ("a.json", b'{"format":"palimpsest conversation 1","messages":[]}', "palimpsest"),
        *(("a.json", data, None) for data in (b"", b"\xff\xfe", b"{}", b"[1]", b"<html>", b"[[[[")),
        ("a.jsonl", b'{"a": 1}\n{"b": 2}\n', None),
        ("a.gz", b"\x1f\x8b\0", None),
    ],
)
def test_a_form_is_told_by_how_the_file_begins(
    tmp_path: Path, name: str, data: bytes, form: str | None
) -> None:
    """Whatever the file is called."""
    assert importers.recognise(write(tmp_path, name, data)) == form


def test_chat_messages_become_blocks(alice: User, tmp_path: Path) -> None:
    """Calls with results, images, system messages: the prompt, and later ones as nobody's words."""
    made = load(write(tmp_path, "a.jsonl", lines(CHAT)), alice)
    rows = list(made.messages.order_by("seq"))
    assert [(row.role, [one["type"] for one in row.content]) for row in rows] == [
        ("user", ["text", "image"]),
        ("assistant", ["tool_use", "tool_use"]),
        ("user", ["tool_result", "tool_result"]),
        ("user", ["text"]),
        ("assistant", ["text"]),
    ]
    assert rows[3].content[0]["user_words"] == ""
    assert rows[1].content[0]["input"] == {"path": "a"}
    assert [one["content"] for one in rows[2].content] == ["a.py", "b.py"]
    assert made.system_prompt == "Be brief.\n\nBe kind."
    assert made.source.problems == []


def test_a_result_without_an_id_belongs_to_its_tools_first_open_call(
    alice: User, tmp_path: Path
) -> None:
    """The API's older form has no ids, and other servers name the tool or nothing."""
    names = ["ls", "pwd", "ls"]
    talk = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "function_call": {"name": "ls", "arguments": "{}"}},
        {"role": "function", "name": "ls", "content": "a"},
        {"role": "assistant", "tool_calls": [{"function": {"name": name}} for name in names]},
        {"role": "tool", "tool_name": "pwd", "content": "b"},
        {"role": "tool", "tool_name": "ls", "content": "c"},
        {"role": "tool", "content": "d"},
    ]
    made = load(write(tmp_path, "a.jsonl", lines(talk)), alice)
    blocks = [block for row in made.messages.order_by("seq") for block in row.content]
    calls = [(one["id"], one["name"]) for one in blocks if one["type"] == "tool_use"]
    said = {one["tool_use_id"]: one["content"] for one in blocks if "tool_use_id" in one}
    assert [(name, said[key]) for key, name in calls] == [
        ("ls", "a"),
        ("ls", "c"),
        ("pwd", "b"),
        ("ls", "d"),
    ]


def test_a_session_has_its_summary_and_its_calls_on_record(alice: User, tmp_path: Path) -> None:
    """A reply that came in parts is one; what a subagent said is named as not used."""
    talk = load(write(tmp_path, "a.jsonl", lines(SESSION)), alice)
    assert said(talk) == [("user", "It was a.py."), ("user", "Thanks.")]
    assert talk.title == "Looking around"
    reply = talk.messages.get(seq=2)
    assert [one["type"] for one in reply.content] == ["text", "tool_use"]
    assert talk.messages.get(seq=3).content[0]["content"] == "a.py"
    assert reply.created_at.isoformat() == "2026-01-02T03:04:05.678000+00:00"
    call = talk.calls.get()
    assert (call.message, call.tokens_prompt, call.tokens_output, call.cost) == (reply, 16, 7, None)
    attempt = talk.condensations.get()
    assert (attempt.message, attempt.tokens_before) == (talk.messages.get(seq=4), 155_000)
    names = [row.condense_parent for row in talk.messages.order_by("seq")]
    assert names == [*[attempt.message.condense_id] * 3, None, None]
    lost, *others = talk.source.problems
    assert lost["reason"] == ("5 of 54 characters were not imported, such as “Psst.”.")
    assert [one["index"] for one in others] == [6]


@pytest.mark.parametrize("counted", [(1, 1, 7), (7, 7, 7), (0, 7, 2), (None, 1, 7)])
def test_a_reply_took_what_its_fullest_part_says(
    alice: User, tmp_path: Path, counted: tuple[int | None, ...]
) -> None:
    """While it is streamed, its first parts are written down with what they know by then."""
    parts = [replied(2 + place, {"type": "text", "text": f"{place}"}) for place in range(3)]
    for part, tokens in zip(parts, counted, strict=True):
        part["message"]["usage"] = tokens is not None and {**USAGE, "output_tokens": tokens}
    made = load(write(tmp_path, "a.jsonl", lines([*SESSION[:2], *parts])), alice)
    assert made.messages.count() == 2
    call = made.calls.get()
    assert (call.tokens_prompt, call.tokens_output) == (16, 7)


@pytest.mark.parametrize("usage", [None, [], "much", {"output_tokens": "7"}])
@pytest.mark.parametrize("trigger", ["auto", "manual"])
def test_a_session_tells_who_had_it_condensed_and_what_was_counted(
    alice: User, tmp_path: Path, usage: Any, trigger: str
) -> None:
    """The program itself or a person; what a call took is unknown where nothing was counted."""
    reply = replied(2, {"type": "text", "text": "Let me look."})
    reply["message"]["usage"] = usage
    told = {"trigger": trigger, "preTokens": 155_000}
    session = [*SESSION[:2], reply, SESSION[6] | {"compactMetadata": told}, *SESSION[7:]]
    talk = load(write(tmp_path, "a.jsonl", lines(session)), alice)
    assert talk.condensations.get().trigger == trigger
    assert talk.messages.get(seq=2).content[0]["text"] == "Let me look."
    assert [call.tokens_output for call in talk.calls.all()] in ([], [0])
    assert talk.source.problems == []


def test_a_summary_of_a_summary_leaves_what_that_one_hid_behind_it(
    alice: User, tmp_path: Path
) -> None:
    """So each can be undone after the other."""
    again = {"timestamp": AT, "type": "compacted", "payload": {"message": "They said thanks."}}
    talk = load(write(tmp_path, "a.jsonl", lines([*ROLLOUT, again])), alice)
    first, second = talk.messages.exclude(condense_id=None).order_by("seq")
    assert said(talk) == [("user", "They said thanks.")]
    assert first.condense_parent == second.condense_id
    assert talk.messages.filter(condense_parent=first.condense_id).count() == 4


@pytest.mark.parametrize(
    "part", [{"type": "audio"}, {"type": "image_url", "image_url": 7}, 7, None]
)
def test_a_part_that_can_t_be_used_is_named_and_the_rest_is_used(
    alice: User, tmp_path: Path, part: Any
) -> None:
    """By the number of its message."""
    chat = [*CHAT[:3], {"role": "user", "content": [part]}, CHAT[-1]]
    made = load(write(tmp_path, "a.json", json.dumps(chat).encode()), alice)
    assert [one["index"] for one in made.source.problems] == [4]
    assert made.messages.count() == 2


def test_a_rollout_has_its_summary_and_its_usage_on_record(alice: User, tmp_path: Path) -> None:
    """What is one reply's is one message."""
    talk = load(write(tmp_path, "a.jsonl", lines(ROLLOUT)), alice)
    assert said(talk) == [("user", "It was a.py."), ("user", "Thanks.")]
    kinds = [[one["type"] for one in row.content] for row in talk.messages.order_by("seq")]
    assert kinds == [["text"], ["text", "tool_use"], ["tool_result"], ["text"], ["text"], ["text"]]
    assert talk.messages.get(seq=3).content[0]["content"] == "a.py"
    call = talk.calls.get()
    assert (call.tokens_input, call.tokens_cache_read, call.tokens_output) == (5, 11, 7)
    assert talk.source.problems == []


@pytest.mark.parametrize(("name", "written"), [("a.jsonl", SESSION), ("b.jsonl", ROLLOUT)])
def test_a_summary_of_another_program_is_undone_redone_and_written_again(
    alice: User, tmp_path: Path, name: str, written: list[Any]
) -> None:
    """It is known what it hides, as of one that was made here."""
    talk = load(write(tmp_path, name, lines(written)), alice)
    attempt, before = talk.condensations.get(), said(talk)
    made = attempt.message
    assert made
    hidden = undo.list_hidden(condensation=attempt)
    assert [one.seq for one in hidden] == [*range(1, made.seq)]
    undo.undo_condensation(condensation=attempt)
    assert len(said(talk)) > len(before)
    undo.redo_condensation(condensation=attempt)
    assert said(talk) == before
    again = find_chosen(
        talk.pk, message_store.read_effective(talk.pk), CondenseScope(made.seq, again=True)
    )
    assert len(again.originals) == made.seq - 1


def test_a_task_keeps_its_tags_and_its_figures(alice: User, tmp_path: Path) -> None:
    """The model sees what it saw there, and each summary and marker is on record."""
    talk = load(task(tmp_path), alice)
    assert said(talk) == [("user", "They said hi."), ("user", "[cut]"), ("user", "Well?")]
    assert talk.title == "Hi there"
    first = talk.messages.get(seq=1)
    assert str(first.condense_parent) == NAME == str(talk.messages.get(seq=3).condense_id)
    found = talk.condensations.order_by("started_at")
    assert [(one.kind, one.tokens_before, one.tokens_after, one.cost) for one in found] == [
        ("condensed", 900, 90, Decimal("0.0123")),
        ("truncated", 90, 9, None),
    ]
    assert [(one.at_seq, one.message.seq) for one in found if one.message] == [(2, 3), (4, 5)]
    assert talk.messages.get(seq=6).created_at.year == 2023


@pytest.mark.parametrize("shown", [[], [*SHOWN, *SHOWN], [{"contextCondense": {}}, 7]])
def test_each_summary_of_a_task_is_on_record_once_whatever_its_page_says(
    alice: User, tmp_path: Path, shown: list[Any]
) -> None:
    """So it is said what hides the originals, and it can be undone."""
    folder = task(tmp_path)
    write(folder, "ui_messages.json", json.dumps(shown).encode())
    talk = load(folder, alice)
    found = talk.condensations.order_by("message__seq")
    assert [(one.kind, one.messages_hidden) for one in found] == [
        ("condensed", 2),
        ("truncated", 1),
    ]
    assert found[0].summary == "They said hi."
    undo.undo_condensation(condensation=found[0])
    assert ("assistant", "Hello") in said(talk)


def test_a_task_without_what_was_sent_is_refused(alice: User, tmp_path: Path) -> None:
    """What the page showed is not enough."""
    with pytest.raises(errors.Refused, match="api_conversation_history"):
        load(write(tmp_path, "ui_messages.json", json.dumps(SHOWN).encode()), alice)
    assert not Conversation.objects.exists()


LONG_TEXT = "A word " * 80_000
DEEP: Any = "A word"
for _level in range(150):
    DEEP = [DEEP]
VALUES: tuple[Any, ...] = (
    None, True, -1, 1e300, 2**80, "", "\0\ud800", [], {}, [1], [[]], [{}], "Words of it", DEEP,
    {"type": "novel", "verse": "Words of it"}, [{"type": "x", "x": "Words of it"}, 7], LONG_TEXT,
)  # fmt: skip
FORMS: dict[str, list[dict[str, Any]]] = {
    "chat_completions": CHAT,
    "claude_code": SESSION,
    "codex": ROLLOUT,
    "roo_code": HISTORY,
    "messages": CHAT[2:],
    "chatgpt": CHATGPT,
    "claude_ai": CLAUDE,
    "open_webui": WEBUI,
    "librechat": [LIBRE],
}
# Of the words of an export, those that no key or kind has.
WORDS = re.compile(
    r"word\d\d|What is there|Let me look|Thanks|They said|Two files|One file|Psst|Go on"
)


def told_of(outcomes: list[ImportResult], path: Path) -> tuple[str, str]:
    """Return what was stored of a file, and what is said of what was not."""
    made = [one.source.conversation for one in outcomes if not one.refusal]
    stored = [[one.title, one.system_prompt, [row.content for row in one.messages.all()]]
              for one in made]  # fmt: skip
    named = [[one.title, one.refusal, one.source.problems] for one in outcomes]
    return json.dumps(stored), json.dumps(named) + path.name


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_no_value_anywhere_breaks_an_import_or_is_lost_silently(
    alice: User, tmp_path: Path, data: st.DataObject
) -> None:
    """A word is stored, named or counted as missing, and other conversations come over whole."""
    form = data.draw(st.sampled_from([*FORMS]))
    items = json.loads(json.dumps(FORMS[form]))
    spoilt = data.draw(st.sampled_from(items))
    spoil(spoilt, data)
    if form != "librechat" and data.draw(st.booleans()):
        items.insert(data.draw(st.integers(0, len(items))), data.draw(st.sampled_from(VALUES)))
    whole = lines(items) if form in {"claude_code", "codex"} else json.dumps(items).encode()
    path = write(tmp_path, "a", json.dumps(items[0]).encode() if form == "librechat" else whole)
    importers.recognise(path)
    pieces = importers.read_file(form, path)
    outcomes = [*load_conversations(pieces, owner=alice, source=Source(form=form))]
    assert all(one.source.messages or one.refusal for one in outcomes)
    stored, named = told_of(outcomes, path)
    there = {*WORDS.findall(json.dumps(items))}
    missing = there - {*WORDS.findall(stored + named)}
    # A number of more than 64 bits ends what is read of a file.
    is_counted = "were not imported" in named or "not JSON from here on" in named
    assert not missing or is_counted or any(one.refusal for one in outcomes), missing
    if form in {"chatgpt", "claude_ai"} and "not JSON" not in named:
        others = {*WORDS.findall(json.dumps([one for one in items if one is not spoilt]))}
        assert others - {*WORDS.findall(stored + named)} == set()


def spoil(item: dict[str, Any], data: st.DataObject) -> None:
    """Put another value somewhere in an item, or take one away or add one again."""
    key = data.draw(st.sampled_from([*item]))
    inner = item[key]
    if isinstance(inner, list) and inner and isinstance(inner[0], dict):
        again = data.draw(st.sampled_from([0, 0, 0, 1, 2]))
        if again:
            inner[again:again] = inner[: 2 * again : again]
        inner = data.draw(st.sampled_from(inner))
    if isinstance(inner, dict) and inner and data.draw(st.booleans()):
        spoil(inner, data)
    elif data.draw(st.sampled_from([0, 0, 1])):
        del item[key]
    else:
        ids = [*item] if isinstance(inner, dict) else ["1", "2", "3", "a", "b", "c", "u1", "t1"]
        item[key] = data.draw(st.sampled_from([*VALUES, *ids]))
