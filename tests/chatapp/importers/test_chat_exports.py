"""Exports of other products become conversations, through the page: nothing in them is lost."""

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO
from os import urandom
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.conversations import rewind
from chatapp.models import Conversation, Source, message_store
from chatapp.models.versions import read_versions
from chatapp.transfer.archives import MOST_ENTRIES
from tests.chatapp.pictures import make_png
from tests.chatapp.views.uploads import send

pytestmark = pytest.mark.django_db(transaction=True)

DAY, ISO = 1_700_000_000, "2023-11-14T22:13:20.000000Z"
PNG = make_png()
ROOT = "00000000-0000-4000-8000-000000000000"
IMAGE = "data:image/png;base64," + b64encode(PNG).decode()


def node(
    name: str, parent: str | None, role: str, *parts: Any, kind: str = "text", **more: Any
) -> dict[str, Any]:
    """Return an entry of ChatGPT's mapping."""
    content = {"content_type": kind, "parts": [*parts], **more.pop("content", {})}
    message = {"author": {"role": role}, "content": content, "create_time": DAY + len(name), **more}
    return {name: {"id": name, "parent": parent, "children": [], "message": message}}


def picture(pointer: str) -> dict[str, str]:
    """Return a part of a message that is an image."""
    return {"content_type": "image_asset_pointer", "asset_pointer": pointer}


HIDDEN = {"metadata": {"is_visually_hidden_from_conversation": True}}
CITED = {
    "model_slug": "gpt-x",
    "content_references": [
        {"matched_text": "\ue200cite\ue202turn0\ue201", "alt": "([word08](https://a.example))"}
    ],
}
CAT = {"attachments": [{"id": "file-AbC123", "name": "word02.png"},
                       {"id": "file_00f", "name": "word03.txt"},
                       {"id": "file-Gone", "name": "word04.pdf"}]}  # fmt: skip
CHATGPT = [
    {"title": "word00 cats", "create_time": DAY, "update_time": DAY + 60, "current_node": "g",
     "mapping": {
        "root": {"id": "root", "parent": None, "children": [], "message": None},
        **node("s", "root", "system", ""),
        **node("s1", "s", "user", kind="user_editable_context",
               content={"user_profile": "word19"}, **HIDDEN),
        **node("a", "s1", "user", "word01 \ue206?", picture("file-service://file-AbC123"),
               {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_9"},
               {"content_type": "audio_transcription", "text": "word05"},
               kind="multimodal_text", metadata=CAT),
        **node("b", "a", "assistant", kind="thoughts",
               content={"thoughts": [{"summary": "word06", "content": "word07"}]}, weight=0),
        **node("bb", "b", "assistant", kind="code", recipient="python",
               content={"text": "print('word09')"}, weight=0),
        **node("bbb", "bb", "tool", kind="execution_output", content={"text": "word10"}, weight=0),
        **node("be", "bbb", "tool", picture("sediment://file-AbC123"), kind="multimodal_text"),
        **node("c", "be", "assistant", "A cat \ue200cite\ue202turn0\ue201\ue206.", metadata=CITED),
        **node("cc", "be", "assistant", "word11 tabby."),
        **node("d", "c", "user", "word12 older edit"),
        **node("dd", "d", "assistant", "word13"),
        **node("f", "c", "user", "word14 newer edit"),
        **node("g", "f", "assistant", kind="code", recipient="browser", content={"text": "word15"}),
        **node("gg", "g", "assistant", "word16", weight=0),
    }},
    {"title": None, "mapping": node("x", None, "user", "word17"), "current_node": "lost"},
    {"title": "word18 empty", "mapping": {}},
]  # fmt: skip
CLAUDE = [
    {"uuid": "c", "name": "word00 news", "created_at": ISO, "updated_at": ISO, "chat_messages": [
        {"uuid": "1", "sender": "human", "parent_message_uuid": ROOT, "text": "word01",
         "content": [{"type": "text", "text": "word01"}], "created_at": ISO, "files": [
             {"file_name": "word02.png"}, {"file_name": "cat.png", "file_uuid": "u-1"}],
         "attachments": [{"file_name": "word03.txt", "extracted_content": "word04 <b>"}]},
        {"uuid": "2", "sender": "assistant", "parent_message_uuid": "1", "created_at": ISO,
         "content": [
             {"type": "thinking", "thinking": "word05"},
             {"type": "tool_use", "id": None, "name": "web_search", "input": {"q": "word06"}},
             {"type": "tool_result", "name": "web_search", "is_error": True,
              "content": [{"type": "text", "text": "word07"}]},
             {"type": "tool_use", "id": "t", "name": "artifacts", "input": ["word08"]},
             {"type": "text", "text": "word09"}, {"type": "voice_note", "text": "word10"},
             {"type": "token_budget"}]},
        {"uuid": "3", "sender": "assistant", "parent_message_uuid": "1", "text": "word11",
         "content": [], "created_at": ISO},
        {"uuid": "4", "sender": "human", "parent_message_uuid": "3", "text": "word12"},
        {"uuid": "4", "sender": "human", "parent_message_uuid": "3", "text": "word13"},
        {"uuid": "5", "sender": "robot", "text": "word14", "created_at": ISO, "attachments": [
            {"file_name": "x.txt", "extracted_content": "word16"}]},
        {"uuid": "6", "sender": "human", "text": "word15", "created_at": ISO},
    ]},
    {"uuid": "d", "name": "", "chat_messages": []},
]  # fmt: skip
TOOL = (
    '<details type="reasoning" done="true" duration="3">\n<summary>Thought</summary>\n'
    "&gt; word05\n</details>\nword06\n"
    '<details type="tool_calls" done="true" id="c1" name="look" arguments="{&quot;a&quot;: '
    '&quot;word07&quot;}" result="&quot;word08&quot;"><summary>Done</summary></details>'
    '<details type="tool_calls" name="again" arguments="{}"><summary>Done</summary>\n'
    '&quot;word16&quot;\n</details>word09 <details type="reasoning"> word10'
)
WEBUI = [
    {"id": "c", "title": "word00 chat", "created_at": DAY, "updated_at": DAY + 60, "chat": {
        "system": "word01", "history": {"currentId": "3", "messages": {
            "0": {"id": "0", "parentId": None, "role": "system", "content": "word17"},
            "1": {"id": "1", "parentId": "0", "role": "user", "content": "word02",
                  "timestamp": DAY, "files": [
                      {"type": "image", "url": IMAGE, "name": "cat.png"},
                      {"type": "file", "name": "word03.txt",
                       "file": {"filename": "x", "data": {"content": "word04"}}},
                      {"type": "collection", "name": "word15"}]},
            "2": {"id": "2", "parentId": "1", "role": "assistant", "content": TOOL,
                  "model": "llama", "timestamp": DAY + 1, "merged": {"content": "word11"}},
            "3": {"id": "3", "parentId": "1", "role": "assistant", "content": "word12",
                  "model": "qwen", "timestamp": DAY + 1},
            "4": {"id": "4", "parentId": "2", "role": "user", "content": "word13",
                  "timestamp": DAY + 2},
            "5": {"id": "5", "parentId": "4", "role": "assistant", "content": "",
                  "timestamp": DAY + 3, "error": {"content": "word14"}}}}}},
]  # fmt: skip
LIBRE = {
    "conversationId": "c", "endpoint": "openAI", "title": "word00 talk", "branches": True,
    "recursive": True, "options": {"promptPrefix": "word01"}, "messagesTree": [
        {"messageId": "1", "parentMessageId": ROOT, "isCreatedByUser": True, "text": "word02",
         "createdAt": ISO, "files": [{"filename": "word03.pdf", "file_id": "f"}], "children": [
            {"messageId": "2", "isCreatedByUser": False, "model": "gpt-x", "createdAt": ISO,
             "content": [
                 {"type": "think", "think": "word04"},
                 {"type": "tool_call", "tool_call": {
                     "id": "c1", "name": "look", "args": '{"a": "word05"}', "output": "word06"}},
                 {"type": "text", "text": {"value": "word07"}},
                 {"type": "error", "error": "word08 \ud800"}], "children": []},
            {"messageId": "3", "isCreatedByUser": False, "text": "word09", "createdAt": ISO,
             "children": [{"messageId": "4", "isCreatedByUser": True, "text": "word10",
                           "createdAt": ISO, "children": [
                               {"messageId": "5", "error": True, "text": "word11"}]}]}]}],
}  # fmt: skip


def zipped(**files: Any) -> bytes:
    """Return an archive; a name has its dots and slashes as ``_dot_`` and ``_in_``."""
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        for name, data in files.items():
            told = name.replace("_dot_", ".").replace("_in_", "/")
            archive.writestr(told, data if isinstance(data, bytes) else json.dumps(data))
    return packed.getvalue()


EXPORTS: dict[str, tuple[str, Any, Any]] = {
    "chatgpt": ("export.zip", CHATGPT, zipped(**{
        "x_in_conversations-000_dot_json": CHATGPT[:1], "x_in_conversations-001_dot_json":
        CHATGPT[1:], "user_dot_json": {"id": 1}, "x_in_file-AbC123-cat_dot_png": PNG,
        "file_00f-1_dot_txt": b"word20"})),
    "claude_ai": ("claude.zip", CLAUDE, zipped(**{
        "conversations_dot_json": CLAUDE, "projects_dot_json": [{"name": "x"}],
        "u-1": PNG})),
    "open_webui": ("chat-export.json", WEBUI, WEBUI),
    "librechat": ("talk.json", LIBRE, LIBRE),
}  # fmt: skip
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


def test_several_conversations_are_listed_with_what_is_missing(
    browser: Client, alice: User, bob: User
) -> None:
    """One click from each; a single one opens at once, and says where there is an older one."""
    sent = send(browser, EXPORTS["chatgpt"][::2])
    page = browser.get(sent["Location"], follow=True).text
    assert "2 conversations imported" in page
    for one in Conversation.objects.filter(owner=alice):
        assert f'href="{reverse("chat", args=[one.pk])}"' in page
    assert "word18 empty" in page
    assert "user.json" in page
    assert "This is no conversation." in page
    other = Client()
    other.force_login(bob)
    assert "word18" not in other.get(sent["Location"]).text
    files = [("a.json", CLAUDE[:1]), ("b.json", CLAUDE[:1])]
    assert "2 conversations imported" in browser.get(send(browser, *files)["Location"]).text
    alone = browser.get(send(browser, ("a.json", CLAUDE[:1]))["Location"])
    made = Conversation.objects.latest("source__imported_at")
    assert alone["Location"] == reverse("chat", args=[made.pk])
    assert "this file before" not in browser.get(alone["Location"]).text
    again = browser.get(send(browser, ("b.json", CLAUDE[:1]))["Location"], follow=True).text
    assert "You imported this file before. That conversation is still there." in again


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


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        *((LONG, ""), (SILENT, ""), (CIRCLE, "in a circle"), (COMB, "too many branches")),
        ({"a": 5}, '<li><bdi>x</bdi> <span class="hint"><bdi>It is not built as it should be.'),
    ],
)
def test_a_tree_of_any_shape_comes_over_or_is_refused(
    browser: Client, mapping: dict[str, Any], said: str
) -> None:
    """However deep it is, and however often a part of it would have to be repeated."""
    answer = send(browser, ("a.json", [{"title": "x", "mapping": mapping}, CHATGPT[0]]))
    page = browser.get(answer["Location"], follow=True).text
    assert said in page
    assert Conversation.objects.filter(title="x").exists() == (not said)
    assert first_of(User.objects.get())


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


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("name", "data", "about", "said"),
    [
        ("../up.json", b"[]", {}, "../up.json Its name leads out of the archive."),
        ("/etc/x.json", b"[]", {}, "Its name leads out of the archive."),
        *(("a.json", b"[]", {"flag_bits": bit}, "It is encrypted.") for bit in (1, 0x20, 0x40)),
        ("b.json", b" " * 2**23, {}, "It is suspiciously large when unpacked."),
        ("a.json", b"[]", {"compress_type": 99}, "packed in a way that is not known here"),
        ("a.json", b"[{}]", {"CRC": 1}, "a.json The file is damaged."),
        ("c.json", b"[]", {"file_size": 2**33}, "The archive holds too much."),
        ("u-1", urandom(2**20 + 1), {}, "“cat.png” is too large."),
        ("__MACOSX/._conversations.json", b"\0", {}, ""),
        (
            "conversations.json",
            json.dumps(CLAUDE).encode(),
            {},
            "Nothing in this ZIP can be imported.",
        ),
    ],
)
def test_a_trap_in_an_archive_is_named_and_the_rest_is_read(
    browser: Client, settings: Any, name: str, data: bytes, about: dict[str, int], said: str
) -> None:
    """Nothing is written where its name says, and nothing is unpacked without end."""
    settings.LARGEST_ATTACHMENT = 1
    answer = send(browser, ("x.zip", named(name, data, **about)))
    page = browser.get(answer["Location"], follow=True).text
    for one in Source.objects.all():
        page += browser.get(reverse("source", args=[one.pk])).text
    assert said in " ".join(re.sub(r"<[^>]*>", " ", page).split())
    assert "._conversations" not in page
    assert Conversation.objects.exists() is (name not in {"conversations.json", "c.json"})


@pytest.mark.parametrize(("width", "said"), [(5, "too much"), (250, "too many files")])
def test_an_archive_of_too_many_files_is_refused(browser: Client, width: int, said: str) -> None:
    """By their number, or as soon as the list of them is too long."""
    packed = zipped(**{f"{number:0{width}}": b"" for number in range(MOST_ENTRIES + 1)})
    answer = send(browser, ("x.zip", packed))
    assert said in browser.get(answer["Location"], follow=True).text
