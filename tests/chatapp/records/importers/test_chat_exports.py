"""Exports of other products become conversations, through the page: nothing in them is lost."""

import json
import re
from collections.abc import Callable, Iterator
from io import BytesIO
from os import urandom
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client, override_settings
from django.urls import reverse

from chatapp.conversations import rewind
from chatapp.conversations.conversations import title_of
from chatapp.models import Conversation, Source, errors, message_store
from chatapp.models.versions import read_versions
from chatapp.project.languages import in_words
from chatapp.records.importers import read_file, recognise
from chatapp.records.transfer.archives import MOST_ENTRIES, Archive
from chatapp.records.transfer.record_import import load_conversations
from tests.chatapp.records.importers.exports import CHATGPT, CLAUDE, EXPORTS, node, zipped
from tests.chatapp.web.views.uploads import send

# An import through the page is a background job.
by_page = pytest.mark.django_db(transaction=True)

# What the model sees of the first conversation, how many versions its places have, and its models.
SEEN = {
    "chatgpt": (["word01 \ue206?\n\nword05", "", "word10", "A cat ([word08](https://a.example)).",
                 "word14 newer edit", "browser: word15"], [2, 2], {"gpt-x"}),
    "claude_ai": (["word01", "word11", "word12", "word15"], [2], set()),
    "open_webui": (["word02", "word12"], [2], {"llama", "qwen"}),
    "librechat": (["word02", "word09", "word10"], [2], {"gpt-x"}),
}  # fmt: skip


def first_of(owner: User) -> Conversation:
    """Return the conversation that all exports begin with."""
    return Conversation.objects.get(owner=owner, title__startswith="word00")


def results_and_words(conversation: Conversation) -> Iterator[str]:
    """Yield what the model sees: words of people and models, and results of tools."""
    for one in message_store.read_effective(conversation.pk):
        results = [str(block.content) for block in one.tool_results]
        yield "\n".join(results) or one.words


@by_page
@pytest.mark.parametrize("form", EXPORTS)
def test_an_export_comes_over_whole(browser: Client, alice: User, form: str) -> None:
    """Each word is in a conversation, or in the list of what could not be used.

    Images, files, thinking and tools are what they would be here.
    """
    name, told, data = EXPORTS[form]
    page = browser.get(send(browser, (name, data))["Location"], follow=True).text
    made = first_of(alice)
    page += browser.get(reverse("source", args=[made.pk])).text
    seen, versions, models = SEEN[form]
    assert [*results_and_words(made)] == seen
    assert sorted(one.count for one in read_versions(made.pk).values()) == versions
    stored = [
        block
        for each in Conversation.objects.all()
        for one in each.messages.all()
        for block in one.content
    ]
    kinds = {one["type"] for one in stored} | {
        one["beside"]["kind"] for one in stored if "beside" in one
    }
    images = sum(one["type"] == "image" for one in stored)
    # What comes before two versions is in both.
    assert images == {"chatgpt": 3, "librechat": 0}.get(form, 1)
    thoughts = {one["thinking"] for one in stored if one["type"] == "thinking"}
    assert thoughts <= {"word04", "word05", "word06\n\nword07"}
    assert "&quot;" not in json.dumps(stored)
    assert any("is_error" in one for one in stored) == (form == "claude_ai")
    tools = {"text", "thinking", "tool_use", "tool_result"}
    assert kinds == (tools if form == "librechat" else tools | {"image", "file"})
    assert {call.model for call in made.calls.all()} == models
    assert not made.calls.filter(usage_measured=True)
    problems = [one.problems for one in Source.objects.all()]
    assert "token_budget" not in json.dumps(problems)
    words = {*re.findall(r"word\d\d", json.dumps(told))}
    assert words - {*re.findall(r"word\d\d", json.dumps([stored, problems]) + page)} == set()
    assert Source.objects.filter(conversation=made, form=form).exists()
    assert made.messages.get(seq=1).created_at.year == 2023
    assert (made.created_at.year, made.updated_at.year) == (2023, 2023)


@by_page
@pytest.mark.parametrize("form", EXPORTS)
def test_each_branch_can_be_gone_to_and_back(browser: Client, alice: User, form: str) -> None:
    """As if the versions had been written here."""
    send(browser, EXPORTS[form][::2])
    made = first_of(alice)
    before = [*results_and_words(made)]
    seen = {*before}
    for (cause, root), versions in read_versions(made.pk).items():
        shown = versions.shown
        for number in (*range(1, versions.count + 1), shown):
            now = read_versions(made.pk)[cause, root]
            if aside := now.set_aside(number):
                rewind.switch_version(rewind=aside)
            seen |= {*results_and_words(made)}
        assert [*results_and_words(made)] == before
    asked = made.messages.exclude(rewind_parent=None).filter(role="user", holds_results=None)
    assert {message_store.to_engine(one).words for one in asked} <= seen


@by_page
def test_several_conversations_are_listed_with_what_is_missing(
    browser: Client, alice: User, bob: User
) -> None:
    """One click from each; a single one opens at once, and says where there is an older one."""
    sent = send(browser, EXPORTS["chatgpt"][::2])
    page = browser.get(sent["Location"], follow=True).text
    assert "2 conversations imported" in page
    for one in Conversation.objects.filter(owner=alice):
        assert f'href="{reverse("chat", args=[one.pk])}"' in page
    # Both are others' words, whatever way these are written.
    assert '<li><bdi>word18 empty</bdi> <span class="hint"><bdi>' in page
    # Services put it beside their conversations.
    assert "user.json" not in page
    other = Client()
    other.force_login(bob)
    assert "word18" not in other.get(sent["Location"]).text
    files = [("a.json", CLAUDE[:1]), ("b.json", CLAUDE[:1])]
    assert "2 conversations imported" in browser.get(send(browser, *files)["Location"]).text
    alone = browser.get(send(browser, ("a.json", CLAUDE[:1]))["Location"])
    made = Conversation.objects.latest("source__imported_at")
    assert alone["Location"] == reverse("chat", args=[made.pk])
    assert "this file before" not in browser.get(alone["Location"]).text
    assert "a.json" in browser.get(reverse("audit", args=[made.pk])).text
    again = browser.get(send(browser, ("b.json", CLAUDE[:1]))["Location"], follow=True).text
    assert "You imported this file before. That conversation is still there." in again


@by_page
def test_what_is_missing_is_said_on_the_page_and_by_the_command(
    browser: Client, alice: User, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a note of the conversation, not of an item."""
    export = [{**CLAUDE[1], "chat_messages": [
        {"uuid": "1", "sender": "human", "text": "word01"},
        {"uuid": "2", "sender": "nobody", "text": "Nobody said it"}]}]  # fmt: skip
    note = "14 of 20 characters were not imported, such as “Nobody said it”."
    send(browser, ("talk.json", export))
    page = browser.get(reverse("source", args=[Conversation.objects.get().pk])).text
    assert note in page
    assert "Item 0" not in page
    (tmp_path / "talk.json").write_text(json.dumps(export))
    call_command("import_transcript", tmp_path / "talk.json", user=alice.username)
    assert note in capsys.readouterr().err.splitlines()


LONG, COMB = dict[str, Any](), node("0", None, "user", "q")
for place in range(1_200):
    role = "user" if place < 600 else ("user", "assistant")[place % 2]
    LONG |= node(f"{place}", f"{place - 1}", role, "x")
for place in range(1, 200):
    COMB |= node(f"{place}", f"{place - 1}", "assistant", "a")
    COMB |= node(f"u{place}", f"{place}", "user", "u")
SILENT = node("0", None, "user") | node("1", None, "user") | node("a", "0", "user", "x")
SILENT |= node("b", "0", "user", "x") | node("c", "1", "user", "x") | node("d", "a", "user", "x")
CIRCLE = node("a", "b", "user", "x") | node("b", "a", "assistant", "y")


def import_file(owner: User, path: Path, data: bytes) -> Iterator[str]:
    """Import a file as the page does; yield what is said of each conversation, after its title."""
    path.write_bytes(data)
    form = recognise(path)
    assert form
    for one in load_conversations(read_file(form, path), owner=owner, source=Source(form=form)):
        reasons = [one.refusal, *[problem["reason"] for problem in one.source.problems]]
        yield "\n".join(f"{one.title} {in_words(reason)}" for reason in reasons)


def test_a_chat_without_a_title_is_named_after_its_question(alice: User, tmp_path: Path) -> None:
    """As a conversation here is: a long one is cut, and says so."""
    question = {"title": None, "mapping": node("a", None, "user", "Where is north? " * 9)}
    assert [*import_file(alice, tmp_path / "a.json", json.dumps([question]).encode())]
    (made,) = Conversation.objects.all()
    assert made.title == title_of("Where is north? " * 9)
    assert made.title.endswith("…")


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        *((LONG, ""), (SILENT, ""), (CIRCLE, ""), (COMB, "too many branches")),
        ({"a": 5}, "It is not built as it should be."),
    ],
)
def test_a_tree_of_any_shape_comes_over_or_is_refused(
    alice: User, tmp_path: Path, mapping: dict[str, Any], said: str
) -> None:
    """However deep it is, and however often a part of it would have to be repeated."""
    data = json.dumps([{"title": "x", "mapping": mapping}, CHATGPT[0]]).encode()
    about, _other = import_file(alice, tmp_path / "a.json", data)
    assert about.startswith("x ")
    assert said in about
    assert Conversation.objects.filter(title="x").exists() == (not said)
    assert first_of(alice)


def named(name: str, data: bytes, **about: Any) -> bytes:
    """Return an archive of a conversation and one more file, of which its list says more."""
    # Files that are no conversations may come first, and be many.
    others: dict[str, Any] = {f"a{number}_dot_json": 1 for number in range(9)}
    packed = BytesIO(zipped(**others, conversations_dot_json=CLAUDE[:1]))
    with ZipFile(packed, "a", ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
        for key, value in about.items():
            setattr(archive.getinfo(name), key, value)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "about", "said"),
    [
        ("../up.json", b"[]", {}, "../up.json Its name leads out of the archive."),
        ("/etc/x.json", b"[]", {}, "Its name leads out of the archive."),
        *(("a.json", b"[]", {"flag_bits": bit}, "It is encrypted.") for bit in (1, 0x20, 0x40)),
        ("b.json", b" " * 2**23, {}, "It is suspiciously large when unpacked."),
        ("a.json", b"[]", {"compress_type": 99}, "packed in a way that is not known here"),
        ("a.json", b"[{}]", {"CRC": 1}, "a.json The file is damaged."),
        ("u-1", urandom(2**20 + 1), {}, "“cat.png” is too large."),
        ("__MACOSX/._conversations.json", b"\0", {}, ""),
    ],
)
def test_a_trap_in_an_archive_is_named_and_the_rest_is_read(
    alice: User, tmp_path: Path, name: str, data: bytes, about: dict[str, int], said: str
) -> None:
    """Nothing is written where its name says, and nothing is unpacked without end."""
    packed = named(name, data, **about)
    with override_settings(LARGEST_ATTACHMENT=1):
        told = "\n".join(import_file(alice, tmp_path / "x.zip", packed))
    assert said in told
    assert "._conversations" not in told
    assert first_of(alice)


@by_page
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_with_two_of_one_name_is_refused(browser: Client) -> None:
    """Which of them is meant is not said."""
    packed = named("conversations.json", json.dumps(CLAUDE).encode())
    page = browser.get(send(browser, ("x.zip", packed))["Location"], follow=True).text
    assert "Nothing in this ZIP can be imported." in page
    assert not Conversation.objects.exists()


def test_an_archive_whose_names_are_in_capitals_is_imported(alice: User, tmp_path: Path) -> None:
    """As some programs pack them."""
    packed = zipped(CONVERSATIONS_dot_JSON=CLAUDE[:1], NOTES_dot_TXT=b"-")
    assert [*import_file(alice, tmp_path / "x.zip", packed)]
    assert first_of(alice)


def test_a_file_that_has_no_room_left_in_an_archive_is_not_said_to_be_large(tmp_path: Path) -> None:
    """The others took it."""
    (tmp_path / "x.zip").write_bytes(zipped(a_dot_txt=b"12345", b_dot_txt=b"12345"))
    with Archive(tmp_path / "x.zip", most=9) as archive:
        assert archive.block("a", "a.txt")
        with pytest.raises(errors.Refused, match="The archive holds too much"):
            archive.block("b", "b.txt")


MANY = range(MOST_ENTRIES + 1)


@pytest.mark.parametrize(
    ("packed", "said"),
    [
        (lambda: named("c.json", b"[]", file_size=2**33), "too much"),
        (lambda: zipped(**{f"{number:05}": b"" for number in MANY}), "too much"),
        (lambda: zipped(**{f"{number:0250}": b"" for number in MANY}), "too many files"),
    ],
)
def test_an_archive_of_too_much_is_refused(
    alice: User, tmp_path: Path, packed: Callable[[], bytes], said: str
) -> None:
    """By the size and number of its files, or as soon as the list of them is too long."""
    with pytest.raises(errors.Refused, match=said):
        [*import_file(alice, tmp_path / "x.zip", packed())]
    assert not Conversation.objects.exists()
