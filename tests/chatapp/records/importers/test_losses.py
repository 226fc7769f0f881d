"""Nothing of an export is lost silently: what is odd costs itself, and is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from chatapp.conversations import rewind
from chatapp.models import Source, message_store
from chatapp.models.versions import read_versions
from chatapp.records import importers
from chatapp.records.transfer import Begin, Beside, Problem
from chatapp.records.transfer.record_import import load_conversation
from tests.chatapp.records.importers.exports import IMAGE, ISO, ROOT, node, zipped


def tree(title: str, *words: str) -> dict[str, Any]:
    """A conversation of ChatGPT whose messages follow each other."""
    nodes = dict[str, Any]()
    for place, text in enumerate(words):
        role = ("user", "assistant")[place % 2]
        nodes |= node(f"n{place}", f"n{place - 1}" if place else None, role, text)
    return {"title": title, "mapping": nodes}


def claude(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    """An export of Claude.ai with one conversation."""
    told = [{"uuid": f"m{place}", **one} for place, one in enumerate(messages)]
    return [{"name": "talk", "chat_messages": told}]


def claude_says(*content: dict[str, Any]) -> list[dict[str, Any]]:
    """The same with one question, and an answer of these parts."""
    return claude({"sender": "human", "text": "Why?"}, {"sender": "assistant", "content": content})


def webui(*messages: dict[str, Any], **chat: Any) -> list[dict[str, Any]]:
    """An export of Open WebUI with one chat."""
    told = [{"id": f"m{n}", "parentId": f"m{n - 1}" if n else None} | one
            for n, one in enumerate(messages)]  # fmt: skip
    return [
        {"title": "talk", "chat": chat or {"history": {"messages": {m["id"]: m for m in told}}}}
    ]


def webui_says(*output: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """The same with one question, and an answer of these items."""
    answer = {"role": "assistant", "content": "", "output": output, **more}
    return webui({"role": "user", "content": "Why?"}, answer)


def libre(*content: Any, **more: Any) -> dict[str, Any]:
    """An export of LibreChat with one question, and an answer of these parts."""
    asked = {"messageId": "a", "parentMessageId": ROOT, "text": "Why?", "isCreatedByUser": True}
    answer = {"messageId": "b", "parentMessageId": "a", "content": content, **more}
    return {"conversationId": "c", "title": "talk", "messages": [asked, answer]}


def pieces_of(tmp_path: Path, data: Any) -> list[Any]:
    """Return what is read of a file."""
    path = tmp_path / "talk.json"
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    form = importers.recognise(path)
    assert form
    return [*importers.read_file(form, path)]


def said(pieces: list[Any]) -> list[str]:
    """Return what messages say, one block a line, with its kind where it is no text."""
    found = []
    for block in (block for one in pieces if isinstance(one, dict) for block in one["content"]):
        told = block.get("content", block.get("input", block.get("thinking", block.get("source"))))
        if isinstance(told, list):
            told = [one.get("text", one["type"]) for one in told]
        kind = block["type"]
        found.append(block["text"] if kind == "text" else f"{kind}: {told}")
    return found


def problems(pieces: list[Any]) -> list[str]:
    """Return what could not be used."""
    return [one.reason for one in pieces if isinstance(one, Problem)]


def as_lines(*items: Any) -> bytes:
    """Return JSON Lines; bytes are a line as it is."""
    return b"\n".join(one if isinstance(one, bytes) else json.dumps(one).encode() for one in items)


GOOD = tree("good", "Where is it?", "Over there.")
DEEP: Any = {}
for _level in range(300):
    DEEP = [DEEP]
TOO_DEEP = "It has too many parts, or too much text."
TREE = {
    "title": "talk", "inserted_at": ISO, "mapping": {
        "root": {"parent": None, "message": None},
        "1": {"parent": "root", "message": {"fragments": [{"type": "REQUEST", "content": "Why?"}]}},
        "2": {"parent": "1", "message": {"model": "m", "fragments": [
            {"type": "THINK", "content": "Hm."}, {"type": "RESPONSE", "content": "So."}]}},
        "3": {"parent": "2", "message": {"role": "USER", "content": "And?",
                                         "files": [{"file_name": "a.pdf"}]}},
        "4": {"parent": "3", "message": {"role": "ASSISTANT", "content": "Yes.",
                                         "reasoning_content": "Well."}},
    },
}  # fmt: skip
SHELLS: list[Any] = [
    None, 7, "text", [], {}, {"title": "shell"}, {"title": "shell", "mapping": None},
    {"title": "shell", "mapping": []}, {"a": [[[]]]}, DEEP, GOOD | {"x": DEEP},
]  # fmt: skip
HISTORYLESS = {"title": "shell", "chat": {"title": "shell", "history": None}}


@pytest.mark.parametrize("odd", SHELLS, ids=lambda odd: str(odd)[:40])
@pytest.mark.parametrize(
    "build",
    [
        lambda odd: [odd, GOOD],
        lambda odd: [GOOD, odd],
        lambda odd: [odd] * 30 + [GOOD],
        lambda odd: as_lines(odd, GOOD, GOOD),
        lambda odd: zipped(conversations_dot_json=[odd, GOOD]),
        lambda odd: zipped(**{"conversations-000_dot_json": [odd],
                              "conversations-001_dot_json": [odd, GOOD]}),
    ],
    ids=["first", "last", "many", "lines", "zip", "parts"],
)  # fmt: skip
def test_an_item_that_is_no_conversation_costs_only_itself(
    tmp_path: Path, odd: Any, build: Any
) -> None:
    """It is named, wherever it stands."""
    pieces = pieces_of(tmp_path, build(odd))
    assert {*said(pieces)} == {"Where is it?", "Over there."}
    assert {one.title for one in pieces if isinstance(one, Begin)} >= {"good"}
    assert {*problems(pieces)} <= {"Not a conversation.", "This is no object.", TOO_DEEP}
    assert problems(pieces) or said(pieces)[2:]


def test_each_item_is_named_until_there_are_too_many(tmp_path: Path) -> None:
    """A file that begins with many is of another kind: the rest of it is not read."""
    items = [{"mapping": None}] * 3
    assert problems(pieces_of(tmp_path, [*items, GOOD])) == ["Not a conversation."] * 3
    assert not said(pieces_of(tmp_path, [*items * 99, GOOD]))


@pytest.mark.parametrize(
    "data",
    [
        [*claude()[:0], {"uuid": "x", "name": "shell"}, *claude({"sender": "human", "text": "Hi"})],
        [{"name": "shell", "chat_messages": None}, *claude({"sender": "human", "text": "Hi"})],
        [HISTORYLESS, *webui({"role": "user", "content": "Hi"})],
        [{"title": "shell", "chat": None}, *webui({"role": "user", "content": "Hi"})],
        webui(messages=[{"role": "user", "content": "Hi"}]),
        webui(history=None, messages=[{"id": "a", "role": "user", "content": "Hi"}]),
        as_lines(b'{"title": "cut', tree("t", "Hi"), b"", tree("t", "Hi")),
        as_lines(tree("t", "Hi"), b"\xff\xfe", tree("t", "Hi")),
    ],
)
def test_each_form_reads_on_behind_what_it_can_t_use(tmp_path: Path, data: Any) -> None:
    """Also from before it had branches."""
    assert {*said(pieces_of(tmp_path, data))} == {"Hi"}


def test_a_tree_of_fragments_is_no_empty_conversation(tmp_path: Path) -> None:
    """Newer files and older ones; a file that is not there is named."""
    pieces = pieces_of(tmp_path, [TREE])
    assert said(pieces) == ["Why?", "thinking: Hm.", "So.", "And?", "thinking: Well.", "Yes."]
    assert ["a.pdf" in one for one in problems(pieces)] == [True]


@pytest.mark.parametrize("odd", [None, 5, "words of it", [], ["words of it"], {"x": "words of it"}])
@pytest.mark.parametrize(
    "build",
    [
        lambda odd: [GOOD | {"mapping": {"n0": GOOD["mapping"]["n0"], "x": odd,
                                         "n1": GOOD["mapping"]["n1"] | {"parent": "x"}}}],
        lambda odd: [{"name": "t", "chat_messages": [
            {"uuid": "a", "sender": "human", "text": "Where is it?", "parent_message_uuid": ROOT},
            odd,
            {"uuid": "b", "sender": "assistant", "text": "Over there.", "parent_message_uuid": "x"},
        ]}],
        lambda odd: [{"chat": {"history": {"messages": {
            "a": {"role": "user", "content": "Where is it?", "parentId": None}, "x": odd,
            "b": {"role": "assistant", "content": "Over there.", "parentId": "x"}}}}}],
        lambda odd: {"conversationId": "c", "messages": [
            {"messageId": "a", "text": "Where is it?", "isCreatedByUser": True}, odd,
            {"messageId": "b", "parentMessageId": "x", "text": "Over there."}]},
    ],
    ids=["chatgpt", "claude_ai", "open_webui", "librechat"],
)  # fmt: skip
def test_a_broken_message_costs_only_itself(tmp_path: Path, odd: Any, build: Any) -> None:
    """The others follow each other as they did, and its words are counted."""
    pieces = pieces_of(tmp_path, build(odd))
    texts = [one for one in said(pieces) if "words" not in one]
    assert texts == ["Where is it?", "Over there."]
    assert not [one for one in pieces if isinstance(one, Beside) and one.section == "rewinds"]
    named = [one for one in problems(pieces) if "were not imported" in one]
    assert (len(named) == 1) == ("words" in str(odd)) or "words of it" in said(pieces)


CALL = {
    "type": "function_call",
    "call_id": "c",
    "name": "look",
    "arguments": '{"a": "there it is"}',
}
PICTURE = {"type": "base64", "media_type": "image/png", "data": IMAGE.partition(",")[2]}
SEEN = f"image: {PICTURE}"


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (webui_says({"type": "reasoning", "content": [{"type": "output_text", "text": "Hm."}]},
                    {"type": "message", "content": [{"type": "output_text", "text": "So."}]}),
         ["thinking: Hm.", "So."]),
        (webui_says({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
                    CALL, {"type": "function_call_output", "call_id": "c", "output": [
                        {"type": "input_text", "text": "Two."},
                        {"type": "input_image", "image_url": IMAGE}]}),
         ["thinking: Hm.", "tool_use: {'a': 'there it is'}", "tool_result: ['Two.', 'image']"]),
        (webui_says({"type": "novel", "verse": "Roses are red"}), ["Roses are red"]),
        (webui_says(content="So.", sources=[{"source": {"title": "A b", "url": "https://a.b/"}}]),
         ["So.", "A b <https://a.b/>"]),
        (claude_says({"type": "text", "text": "So.", "citations": [
            {"title": "A b", "details": {"type": "web", "url": "https://a.b/"}}]}),
         ["So.", "A b <https://a.b/>"]),
        (claude_says({"type": "text", "text": "So.", "citations": [{"url": "javascript:x()"}]}),
         ["So."]),
        (claude_says({"type": "thinking", "thinking": "", "summaries": [{"summary": "Hm hm"}]},
                     {"type": "voice_note", "title": "Note", "text": "So."}),
         ["thinking: Hm hm", "Note\n\nSo."]),
        (claude_says({"type": "tool_use", "id": "c", "name": "look", "input": {"a": "b"},
                      "message": "Looking around", "display_content": {"text": "Looking around"}},
                     {"type": "tool_result", "tool_use_id": "c", "content": [
                         {"type": "text", "text": "Two."}, {"type": "image", "source": PICTURE}]}),
         ["tool_use: {'a': 'b'}", "tool_result: ['Two.', 'image']"]),
        (claude({"sender": "human", "text": "Why?", "attachments": [
            {"file_name": "", "extracted_content": "Pasted words"}]}),
         ['<file name="File">\nPasted words\n</file>']),
        (webui({"role": "user", "content": [
            {"type": "text", "text": "Why?"},
            {"type": "image_url", "image_url": {"url": IMAGE}}]}), [SEEN]),
        (libre({"type": "text", "text": "So."}, files=[
            {"filename": "a.txt", "file_id": "f", "text": "Read of it"}], attachments=[
            {"type": "web_search", "web_search": {"organic": [
                {"title": "A b", "link": "https://a.b/"}]}}]),
         ["So.", '<file name="a.txt">\nRead of it\n</file>', "A b <https://a.b/>"]),
        (libre({"type": "agent_update", "agent_update": {"agentId": "x"}},
               {"type": "tool_call", "tool_call": {"id": "f", "type": "function", "function": {
                   "name": "look", "arguments": '{"a": "b"}', "output": "Two."}}},
               {"type": "tool_call", "tool_call": {"id": "c", "type": "code_interpreter",
                   "code_interpreter": {"input": "1", "outputs": [{"logs": "log it"}]}}}),
         ["tool_use: {'a': 'b'}", "tool_result: Two.", "tool_use: {'_unparsed': '1'}",
          "tool_result: log it"]),
        (claude_says({"type": "text", "text": ""}) and claude(
            {"sender": "human", "text": "Why?"},
            {"sender": "assistant", "text": "So.", "content": [{"type": "text", "text": ""}]}),
         ["So."]),
        ([claude_says({"type": "text", "text": "So."})[0] | {"summary": "They talked."}], ["So."]),
        (libre({"type": "novel", "novel": {"verse": "Roses are red"}}), ["Roses are red"]),
        (libre({"type": "image_url", "image_url": {"url": IMAGE}}), [SEEN]),
        (libre({"type": "text", "text": "So."}, attachments=[
            {"type": "web_search", "web_search": {"organic": [
                {"title": "A b", "link": "x", "url": "https://a.b/"}]}}]),
         ["So.", "A b <https://a.b/>"]),
        ([tree("talk", "Why?") | {"mapping": tree("t", "Why?")["mapping"] | node(
            "n1", "n0", "assistant", kind="novel", content={"output_str": "Roses are red"})}],
         ["Roses are red"]),
        ([tree("talk", "Why?") | {"mapping": tree("t", "Why?")["mapping"] | node(
            "n1", "n0", "assistant", {"content_type": "novel", "verse": "Roses are red"},
            kind="multimodal_text")}],
         ["Roses are red"]),
        ([tree("talk", "Why?", 'In \ue200entity\ue202["city","Old Town","x"]\ue201, see '
               "\ue200url\ue202A page\ue202https://a.b/\ue201. It is \ue200cite\ue202t0\ue201so.")],
         ["In Old Town, see A page. It is so."]),
    ],
)  # fmt: skip
def test_what_is_new_in_an_export_is_read_or_kept_as_its_words(
    tmp_path: Path, data: Any, answer: list[str]
) -> None:
    """Thinking, calls, results with pictures, cited pages; and nothing is said to be missing."""
    pieces = pieces_of(tmp_path, data)
    assert said(pieces) == ["Why?", *answer]
    assert problems(pieces) == []


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (claude_says({"type": "novel"}, {"type": "text", "text": "So."}), "novel"),
        (claude_says({"type": "tool_result", "content": [
            {"type": "image", "file_uuid": "x", "file_name": "cat.png"}]}), "cat.png"),
        (libre({"type": "text", "text": "So."}, {"type": "novel"}), "novel"),
        (libre({"type": "image_file", "image_file": {"file_id": "f", "filename": "cat.png"}}),
         "cat.png"),
    ],
)  # fmt: skip
def test_what_has_no_words_is_named(tmp_path: Path, data: Any, kind: str) -> None:
    """By its kind or its name."""
    assert any(kind in one for one in problems(pieces_of(tmp_path, data)))


def line(kind: str, name: str, above: str | None, **more: Any) -> dict[str, Any]:
    """Return a line of Claude Code."""
    about = {"uuid": name, "parentUuid": above, "sessionId": "s", "timestamp": ISO}
    return {"type": kind, **about, **more}


def asked(name: str, above: str | None, text: str) -> dict[str, Any]:
    """Return a line with what the user said."""
    return line("user", name, above, message={"role": "user", "content": text})


def answered(name: str, above: str, *content: Any) -> dict[str, Any]:
    """Return a line with a reply."""
    told = [{"type": "text", "text": one} if isinstance(one, str) else one for one in content]
    message = {"role": "assistant", "id": name, "content": told}
    return line("assistant", name, above, message=message)


def queued(text: str, **more: Any) -> dict[str, Any]:
    """Return a line with what the user sent while it worked."""
    sent = {"type": "queued_command", "commandMode": "prompt", "prompt": text}
    return {"type": "attachment", "sessionId": "s", "attachment": sent | more}


def enqueued(text: str) -> dict[str, Any]:
    """Return a line that says so of the queue."""
    return {"type": "queue-operation", "operation": "enqueue", "sessionId": "s", "content": text}


@pytest.mark.parametrize("depth", [300, 5_000, 50_000])
def test_a_line_that_is_nested_too_deeply_costs_only_itself(tmp_path: Path, depth: int) -> None:
    """It could be neither stored nor sent."""
    deep = json.dumps(asked("b", "a", "@")).replace('"@"', "[" * depth + "]" * depth).encode()
    pieces = pieces_of(tmp_path, as_lines(asked("a", None, "Go."), deep, answered("c", "b", "So.")))
    assert said(pieces) == ["Go.", "So."]
    assert len(problems(pieces)) == 1


USE = {"type": "tool_use", "id": "t", "name": "LS", "input": {}}
RESULT = line("user", "r", "b", message={"role": "user", "content": [
    {"type": "tool_result", "tool_use_id": "t", "content": "x"}]})  # fmt: skip
BUSY = [asked("a", None, "Go."), answered("b", "a", USE)]


@pytest.mark.parametrize(
    ("behind", "texts"),
    [
        ([queued("Blue!"), RESULT, answered("c", "r", "Yes.")], ["Blue!", "Yes."]),
        ([enqueued("Blue!"), RESULT, answered("c", "r", "Yes.")], ["Blue!", "Yes."]),
        ([enqueued("Blue!"), queued("Blue!"), RESULT], ["Blue!"]),
        ([enqueued("Blue one"), enqueued("Red one"),
          enqueued("Blue one") | {"operation": "popAll"}, RESULT,
          asked("d", "r", "Blue one. Or red.")], ["Red one", "Blue one. Or red."]),
        ([RESULT, *BUSY, RESULT, answered("c", "r", "Yes.")], ["Yes."]),
        ([RESULT, answered("c", "r", "API Error") | {"error": "overloaded"},
          {"type": "pr-link", "sessionId": "s", "prTitle": "Of a page"}], ["API Error"]),
        ([enqueued("Blue!"), RESULT, answered("c", "r", "Yes."), asked("d", "c", "Blue!")],
         ["Yes.", "Blue!"]),
        ([enqueued("Blue!"), enqueued("Blue!"), RESULT, asked("d", "r", "Blue!")],
         ["Blue!", "Blue!"]),
        ([queued([{"type": "text", "text": "Look: see"}, {"type": "image", "source": PICTURE}]),
          RESULT], ["Look: see", SEEN]),
    ],
)  # fmt: skip
def test_what_a_user_sent_while_claude_code_worked_is_a_message_once(
    tmp_path: Path, behind: list[Any], texts: list[str]
) -> None:
    """It stands behind the results of the calls that ran, or where it was sent later."""
    pieces = pieces_of(tmp_path, as_lines(*BUSY, *behind))
    assert said(pieces) == ["Go.", "tool_use: {}", "tool_result: x", *texts]
    assert problems(pieces) == []


def test_a_session_has_the_title_that_its_user_gave_it(tmp_path: Path) -> None:
    """Else the one that the model gave it."""
    titles = [{"type": "ai-title", "sessionId": "s", "aiTitle": "By a model"},
              {"type": "custom-title", "sessionId": "s", "customTitle": "By hand"}]  # fmt: skip
    for known in (2, 1):
        told = pieces_of(tmp_path, as_lines(*BUSY, RESULT, *titles[:known]))
        about = next(one.item for one in told if isinstance(one, Beside))
        assert about["title"] == titles[known - 1].popitem()[1]
        assert problems(told) == []


REWOUND = [
    asked("a", None, "Go."), answered("b", "a", "Done."),
    asked("c", "b", "Old"), answered("d", "c", "Old answer."),
    asked("e", "b", "New"), answered("f", "e", "New answer."),
]  # fmt: skip
AGAIN = [asked("g", "b", "Newest"), answered("h", "g", "Newest answer.")]
INNER = [asked("g", "f", "x"), asked("h", "f", "y"), *[asked("i", "b", "Last")]]
FIRST = [asked("g", None, "Start anew")]


@pytest.mark.parametrize(
    ("lines", "shown", "places"),
    [
        (REWOUND, ["Go.", "Done.", "New", "New answer."], [3]),
        ([*REWOUND, *AGAIN], ["Go.", "Done.", "Newest", "Newest answer."], [3, 3]),
        ([*REWOUND, *INNER], ["Go.", "Done.", "Last"], [3, 7, 3]),
        ([*REWOUND, *FIRST], ["Start anew"], [3, 1]),
        ([*REWOUND[:2], asked("g", "a", "By itself") | {"isMeta": True}],
         ["Go.", "Done.", "By itself"], []),
        ([*REWOUND, asked("g", "d", "Back")], ["Go.", "Done.", "New", "New answer.", "Back"], [3]),
        ([*BUSY, RESULT, asked("c", "b", "On.")], ["Go.", "tool_use: {}", "tool_result: x", "On."],
         []),
    ],
)  # fmt: skip
def test_a_rewound_branch_of_a_session_is_a_version(
    tmp_path: Path, lines: list[Any], shown: list[str], places: list[int]
) -> None:
    """The one that was written last is shown; a result that comes late is no branch."""
    pieces = pieces_of(tmp_path, as_lines(*lines))
    seen = [one for one in pieces if not (isinstance(one, dict) and "rewind_parent" in one)]
    assert said(seen) == shown
    rewinds = [one for one in pieces if isinstance(one, Beside) and one.section == "rewinds"]
    assert [one.item["root_seq"] for one in rewinds] == places
    versions = [places[: place + 1].count(root) for place, root in enumerate(places)]
    assert [one.item["version"] for one in rewinds] == versions
    assert problems(pieces) == []


def test_a_version_of_a_session_can_be_gone_to(alice: User, tmp_path: Path) -> None:
    """As if it had been written here."""
    made = load_conversation(
        pieces_of(tmp_path, as_lines(*REWOUND)), owner=alice, source=Source(form="claude_code")
    )
    aside = read_versions(made.pk)["edited", 3].set_aside(1)
    assert aside
    rewind.switch_version(rewind=aside)
    texts = [one.text for one in message_store.read_effective(made.pk)]
    assert texts == ["Go.", "Done.", "Old", "Old answer."]


def item(kind: str, **payload: Any) -> dict[str, Any]:
    """Return a line of a rollout of Codex."""
    return {"timestamp": ISO, "type": "response_item", "payload": {"type": kind, **payload}}


def event(kind: str, **payload: Any) -> dict[str, Any]:
    """Return a line with an event."""
    return {"timestamp": ISO, "type": "event_msg", "payload": {"type": kind, **payload}}


ASKED = item("message", role="user", content=[{"type": "input_text", "text": "Why?"}])
ANSWER = [{"type": "output_text", "text": "So."}]


@pytest.mark.parametrize(
    ("lines", "answer", "lost"),
    [
        ([event("user_message", message="Why?"), item("message", role="assistant", content=ANSWER),
          event("agent_message", message="So."), event("exec_end", stdout="two words")],
         ["So."], ""),
        ([event("agent_message", message="Never an item")], [], "Never an item"),
        ([{"type": [], "payload": {"text": "Of no type"}}], [], "Of no type"),
        ([item("web_search_call", action={"type": "search", "query": "the weather"})],
         ["the weather"], ""),
        ([item("web_search_call", action={"type": "open_page", "url": "https://a.b/"})],
         ["<https://a.b/>"], ""),
        ([item("image_generation_call", result=PICTURE["data"])], [SEEN], ""),
        ([item("function_call", name="look", arguments="{}", call_id="c"),
          item("function_call_output", call_id="c", output=[
              {"type": "input_image", "image_url": IMAGE}])],
         ["tool_use: {}", "tool_result: ['image']"], ""),
        ([item("reasoning", summary=[], content=[{"type": "reasoning_text", "text": "Hm hm"}])],
         ["> Hm hm"], ""),
    ],
)  # fmt: skip
def test_a_rollout_keeps_what_is_new_in_it(
    tmp_path: Path, lines: list[Any], answer: list[str], lost: str
) -> None:
    """Events say again what items say, and words that only they have are counted."""
    pieces = pieces_of(tmp_path, as_lines(ASKED, *lines))
    assert said(pieces) == ["Why?", *answer]
    assert [lost in one for one in problems(pieces)][:1] == [True] * bool(lost)


TOLD = item("message", role="assistant", content=ANSWER)
OWN = item("message", role="user", content=[{"type": "input_text", "text": "<turn_aborted>"}])
BACK = [event("thread_rolled_back", num_turns=turns) for turns in range(4)]


@pytest.mark.parametrize(
    ("lines", "shown", "places"),
    [
        ([BACK[1], ASKED, TOLD], 2, [1]),
        ([BACK[1], ASKED, TOLD, BACK[1], ASKED], 1, [1, 1]),
        ([OWN, ASKED, TOLD, BACK[1], ASKED], 4, [4]),
        ([ASKED, OWN, TOLD, BACK[2], ASKED, TOLD, ASKED, BACK[1]], 2, [1, 8]),
        ([ASKED, TOLD, BACK[1], ASKED, BACK[2], ASKED], 1, [3, 1]),
        ([BACK[3], ASKED], 1, [1]),
        ([BACK[0], {"type": "compacted", "payload": {"message": "Sum"}}, BACK[1], ASKED], 4, []),
    ],
)
def test_what_codex_rolled_back_is_a_version(
    alice: User, tmp_path: Path, lines: list[Any], shown: int, places: list[int]
) -> None:
    """From the user's own message on; what was summed up stays."""
    pieces = pieces_of(tmp_path, as_lines(ASKED, TOLD, *lines))
    seen = [one for one in pieces if isinstance(one, dict) and "rewind_parent" not in one]
    rewinds = [one for one in pieces if isinstance(one, Beside) and one.section == "rewinds"]
    assert (len(seen), [one.item["root_seq"] for one in rewinds]) == (shown, places)
    assert problems(pieces) == []
    assert load_conversation(pieces, owner=alice, source=Source(form="codex"))


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ({"content": None, "audio": {"transcript": "Spoken words"}}, ["Spoken words"]),
        (
            {
                "content": None,
                "tool_calls": [
                    {"type": "custom", "id": "c", "custom": {"name": "look", "input": "at it"}}
                ],
            },
            ["tool_use: {'_unparsed': 'at it'}"],
        ),
        ({"content": "So.", "reasoning_content": "Hm."}, ["thinking: Hm.", "So."]),
        ({"content": None, "refusal": "I won't do it."}, ["I won't do it."]),
        ({"content": None, "function_call": {"name": "f", "arguments": "{}"}}, ["tool_use: {}"]),
        ({"content": [{"type": "novel", "verse": "Roses are red"}]}, ["Roses are red"]),
    ],
)
def test_old_and_new_fields_of_chat_messages_are_read(
    tmp_path: Path, message: dict[str, Any], texts: list[str]
) -> None:
    """As those that name no kind."""
    chat = [{"role": "system", "content": "Be brief."}, {"role": "assistant", **message}]
    pieces = pieces_of(tmp_path, chat)
    assert said(pieces) == texts
    assert problems(pieces) == []


@pytest.mark.parametrize(
    ("message", "lost"),
    [
        ({"content": "So.", "aside": "Roses are red"}, "13 of 16"),
        ({"content": "So.", "aside": "So it is"}, "8 of 11"),
        ({"content": "So.", "summary": "Red"}, "3 of 6"),
        ({"content": "So.", "aside": "So."}, ""),
        ({"content": "So.", "model": "Large One", "created_at": "Monday the 1st"}, ""),
        ({"content": "One, two; three.", "aside": {"as": ["One,  two", "two; three"]}}, ""),
    ],
)
def test_the_characters_that_are_missing_are_counted(
    tmp_path: Path, message: dict[str, Any], lost: str
) -> None:
    """Names, times and what is said twice are no text that is missing."""
    found = problems(pieces_of(tmp_path, [{"role": "user", **message}]))
    assert [one[: len(lost)] for one in found] == [lost] * bool(lost)
