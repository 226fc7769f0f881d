"""What is too long for one message is imported in parts, and what is too large is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from chatapp.agent import tool_arguments
from chatapp.agent.tool_arguments import UNPARSED, read_arguments
from chatapp.models import Source, errors
from chatapp.records.importers import read_file
from chatapp.records.transfer import Problem, transcript_files
from chatapp.records.transfer.record_import import load_conversation, load_conversations
from tests.chatapp.records.importers.exports import node

LONG = "".join(map(chr, range(0x4E00, 0x4E00 + 250)))


def tree(text: str, title: str = "talk") -> dict[str, Any]:
    """A conversation of ChatGPT with one question and its answer."""
    nodes = node("a", None, "user", text) | node("b", "a", "assistant", "Yes.")
    return {"title": title, "mapping": nodes, "current_node": "b"}


def libre(text: str) -> dict[str, Any]:
    """The same of LibreChat."""
    asked = {"messageId": "a", "text": text, "isCreatedByUser": True}
    answer = {"messageId": "b", "parentMessageId": "a", "text": "Yes."}
    return {"conversationId": "c", "messages": [asked, answer]}


def pair(text: str) -> list[dict[str, Any]]:
    """The same as a list of messages."""
    return [{"role": "user", "content": text}, {"role": "assistant", "content": "Yes."}]


def task(text: str) -> list[dict[str, Any]]:
    """The same as a task of Roo Code."""
    return [{**one, "ts": 1_700_000_000_000} for one in pair(text)]


@pytest.mark.parametrize(
    ("form", "build"),
    [
        ("chatgpt", lambda text: [tree(text)]),
        ("librechat", libre),
        ("messages", pair),
        ("chat_completions", pair),
        ("roo_code", task),
    ],
)
def test_a_text_that_is_too_long_for_one_message_becomes_several(
    tmp_path: Path, settings: Settings, form: str, build: Any
) -> None:
    """No word is lost, and the report says in how many."""
    settings.LONGEST_MESSAGE = 100
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(build(LONG)))
    pieces = [*read_file(form, path)]
    said = [one for one in pieces if isinstance(one, dict)]
    texts = [block["text"] for one in said if one["role"] == "user" for block in one["content"]]
    assert [len(text) for text in texts] == [100, 100, 50]
    assert "".join(texts) == LONG
    assert [one.reason for one in pieces if isinstance(one, Problem)] == [
        "It is too long for one message, and was imported in parts: 3."
    ]


def test_what_a_tool_was_given_is_kept_as_text_where_reading_it_would_hold_up_all_else() -> None:
    """Millions of values in one string are read in one go."""
    given = f'{{"a": [{"0," * (tool_arguments.LONGEST_ARGUMENTS // 2)}0]}}'
    assert read_arguments(given) == {UNPARSED: given}
    assert read_arguments('{"a": [0]}') == {"a": [0]}


@pytest.mark.django_db
@pytest.mark.parametrize("bound", ["MOST_VALUES", "MOST_TEXT"])
def test_one_conversation_that_is_too_large_is_named_and_the_others_are_imported(
    tmp_path: Path, alice: User, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    """It is not even held in memory."""
    monkeypatch.setattr(transcript_files, bound, {"MOST_VALUES": 400, "MOST_TEXT": 20_000}[bound])
    large = tree("x" * 30_000)
    large["mapping"] |= {f"n{number}": {} for number in range(300)}
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([tree("one", "one"), large, tree("three", "three")]))
    pieces = read_file("chatgpt", path)
    told = [*load_conversations(pieces, owner=alice, source=Source(form="chatgpt"))]
    assert [(one.title, bool(one.refusal)) for one in told] == [
        ("one", False), ("Conversation 2", True), ("three", False),
    ]  # fmt: skip
    assert told[1].source.problems[0]["reason"] == "It has too many parts, or too much text."


@pytest.mark.django_db
@pytest.mark.parametrize("content", ["x" * 201, [{"type": "text", "text": "x" * 99}] * 13])
def test_a_message_with_more_text_than_any_can_have_is_refused_by_its_number(
    alice: User, settings: Settings, content: Any
) -> None:
    """A record may say anything of its messages; images are no text."""
    settings.LONGEST_MESSAGE = 100
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=" * 99}
    image = {"role": "user", "content": [{"type": "image", "source": source}]}
    with pytest.raises(errors.Refused, match="Message 2: It has too many parts, or too much text"):
        load_conversation(
            [image, {"role": "user", "content": content}], owner=alice, source=Source()
        )
