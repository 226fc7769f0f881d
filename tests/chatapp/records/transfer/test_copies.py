"""Copies to be read: what is part of the conversation, safe wherever they are opened."""

import re
from html.parser import HTMLParser
from typing import Any, override

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from markdown_it import MarkdownIt

import condense
from chatapp.agent.annotated_blocks import environment_block, file_block
from chatapp.condensing import undo
from chatapp.conversations import conversations
from chatapp.models import Conversation, hidden_messages, message_store
from chatapp.page.transcript.readable_copy import read_entries, write_html
from tests.chatapp.conftest import Say, summarise, use_tools
from tests.records import put_on_record

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>![x](https://evil.example/x.png)"
    "</style></title><style>*{background:url(https://evil.example)}</style>[l](javascript:alert(1))"
)


class Reader(HTMLParser):
    """Notes what a browser would run, load or apply."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def read(page: str) -> Reader:
    """Return what is in a page."""
    reader = Reader()
    reader.feed(page)
    return reader


def texts(conversation: Conversation) -> list[tuple[str, list[str]]]:
    """Return who says what in a copy."""
    entries = read_entries(conversation)
    return [(entry.label, [part.text for part in entry.parts]) for entry in entries]


def test_a_copy_has_what_is_part_of_the_conversation(conversation: Conversation, say: Say) -> None:
    """Condensed messages and their summary, calls with their results; not what was rewound."""
    say("user", "Hello")
    use_tools(conversation, 1, "Let me look.")
    made = summarise(conversation)
    put_on_record(conversation, at_seq=3, message=made, summary="They said hello.", tokens_after=9)
    say("user", "Go on.")
    say("assistant", "Gone.")
    hidden_messages.rewind(conversation.pk, first_hidden_seq=6)
    assert [(label, said[:1]) for label, said in texts(conversation)] == [
        ("You", ["Hello"]),
        ("Agent", ["Let me look."]),
        ("Context condensed", ["They said hello."]),
        ("You", ["Go on."]),
    ]
    call = read_entries(conversation)[1].parts[1]
    assert (call.name, call.result) == ("read_file a.txt", "its text")
    undone = conversation.condensations.get()
    undo.undo_condensation(condensation=undone)
    assert "Context condensed" not in [label for label, _said in texts(conversation)]


def test_what_the_server_says_of_itself_is_in_no_copy(conversation: Conversation) -> None:
    """Nor what the model thought."""
    thinking = condense.OpaqueBlock({"type": "thinking", "thinking": "Secret.", "signature": "s"})
    around = environment_block("Linux at /home/alice")
    said = condense.TextBlock("Hello")
    message_store.append_message(
        conversation.pk, condense.Message("user", (around, said)), tokens=1
    )
    reply = condense.Message("assistant", (thinking, condense.TextBlock("Hi")))
    message_store.append_message(conversation.pk, reply, tokens=1)
    assert texts(conversation) == [("You", ["Hello"]), ("Agent", ["Hi"])]


def test_a_page_runs_its_own_script_and_loads_nothing(conversation: Conversation, say: Say) -> None:
    """Whatever was said, and whatever files and tools are called."""
    conversations.rename_conversation(conversation=conversation, title=HOSTILE[:190])
    conversation.refresh_from_db()
    say("user", HOSTILE)
    say("assistant", HOSTILE)
    attached = file_block(HOSTILE, HOSTILE)
    picture = condense.ImageBlock({"type": "base64", "media_type": HOSTILE, "data": HOSTILE})
    elsewhere = condense.ImageBlock({"type": "url", "url": "https://evil.example/x.png"})
    content = (attached, picture, elsewhere)
    message_store.append_message(conversation.pk, condense.Message("user", content), tokens=1)
    call = condense.ToolUseBlock("c", HOSTILE, {"path": HOSTILE})
    message_store.append_message(conversation.pk, condense.Message("assistant", (call,)), tokens=1)
    found = read(write_html(conversation))
    assert not {"img", "link", "iframe", "object", "base", "form"} & {*found.tags}
    assert [found.tags.count(name) for name in ("script", "style", "title")] == [1, 1, 1]
    named = dict(found.attributes)
    assert not [name for name in named if name.startswith("on") or name in {"src", "style"}]
    assert not [value for name, value in found.attributes if name == "href" and "script:" in value]
    only = r"default-src 'none'; style-src 'sha256-\S+'; script-src 'sha256-\S+'; img-src data:"
    assert re.fullmatch(only, named["content"] or "")


def test_markdown_keeps_what_tools_said_in_fences_that_nothing_ends(
    conversation: Conversation, browser: Client
) -> None:
    """However many backticks there are in it."""
    call = condense.ToolUseBlock("c", "read_file", {"path": "a.md"})
    message_store.append_message(conversation.pk, condense.Message("assistant", (call,)), tokens=1)
    result = condense.ToolResultBlock("c", "```\n# No heading\n````")
    message_store.append_message(conversation.pk, condense.Message("user", (result,)), tokens=1)
    answer = browser.get(reverse("export_markdown", args=[conversation.pk]))
    assert "\n`````\n```\n# No heading\n````\n`````\n" in answer.text
    assert answer["Content-Disposition"] == 'attachment; filename="new-conversation.md"'


@pytest.mark.parametrize(
    ("said", "end"),
    [
        ("Whole:\n\n```\nx\n```", ""),
        ("- An item\n  ```\n  x", ""),
        ("Cut off:\n\n~~~~py\n~~~\n```", "\n~~~~"),
        ("<!-- x", "\n-->"),
        ("<?php\n\nx", "\n?>"),
        ("<![CDATA[ x", "\n]]>"),
        ("<Script>\n\nx </pre", "\n</Script>"),
        ("\ud800\0\r\n\N{RIGHT-TO-LEFT OVERRIDE}", ""),
    ],
)
def test_markdown_that_was_cut_off_takes_in_nothing_behind_it(
    conversation: Conversation, say: Say, browser: Client, said: str, end: str
) -> None:
    """Readers would take the next message for a part of its code or comment."""
    say("assistant", said)
    say("user", "Next.")
    text = browser.get(reverse("export_markdown", args=[conversation.pk])).text
    read = MarkdownIt("commonmark").parse(text)
    headings = [one.content.partition(",")[0] for one in read if one.content.endswith("UTC")]
    assert headings == ["Agent", "You"]
    assert f"\n\n{condense.well_formed(said)}{end}\n\n## You" in text


@pytest.mark.parametrize("name", ["export_markdown", "export_html"])
def test_a_copy_is_its_owners_to_download(
    conversation: Conversation, say: Say, browser: Client, bob: User, name: str
) -> None:
    """As a file that a browser does not show."""
    say("user", "Hello")
    address = reverse(name, args=[conversation.pk])
    answer: Any = browser.get(address)
    assert "Hello" in answer.text
    assert answer["Content-Disposition"].startswith("attachment")
    other = Client()
    other.force_login(bob)
    assert other.get(address).status_code == 404
    assert Client().get(address).status_code == 302
