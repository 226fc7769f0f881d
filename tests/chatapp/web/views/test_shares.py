"""A link to read a conversation, which can be taken back."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

import condense
from chatapp.conversations import conversations
from chatapp.models import Conversation, Share, errors, hidden_messages, message_store
from chatapp.web.views.shares import MOST_VIEWS
from tests.chatapp.conftest import Say, summarise, use_tools
from tests.records import append_many, put_on_record

pytestmark = pytest.mark.django_db


@pytest.fixture
def link(conversation: Conversation, say: Say) -> str:
    """A link to a conversation of two messages."""
    conversations.rename_conversation(conversation=conversation, title="North")
    say("user", "Where is north?")
    say("assistant", "Up.")
    return reverse("shared", args=[conversations.share_conversation(conversation=conversation)])


def made_link(page: str) -> str:
    """Return the address of the link that a page shows."""
    (made,) = re.findall(r'value="http://testserver(/s/[\w-]+/)"', page)
    return str(made)


def test_a_link_is_made_shown_once_and_taken_back(
    conversation: Conversation, say: Say, browser: Client
) -> None:
    """Only its hash is stored; an empty conversation is not shared."""
    with pytest.raises(errors.Refused, match="nothing to share"):
        conversations.share_conversation(conversation=conversation)
    say("user", "Hello")
    address = reverse("share", args=[conversation.pk])
    made = made_link(browser.post(address).text)
    assert made.split("/")[2] not in (browser.get(address).text, Share.objects.get().digest)
    assert Client().get(made).status_code == 200
    assert "Stop sharing" in browser.get(address).text
    browser.post(reverse("stop_sharing", args=[conversation.pk]))
    nothing = Client().get(made)
    assert (nothing.status_code, "<style>" in nothing.text) == (404, True)
    assert "Stop sharing" not in browser.get(address).text


def test_what_is_newer_is_counted_as_people_see_it(
    conversation: Conversation, say: Say, browser: Client
) -> None:
    """Neither results of tools nor summaries are messages, and nor is what was rewound."""
    for number in range(3):
        say("user" if number % 2 == 0 else "assistant", f"what was said {number}")
    conversations.share_conversation(conversation=conversation)
    address = reverse("share", args=[conversation.pk])
    summarise(conversation, keep=1)
    assert "not included" not in browser.get(address).text
    use_tools(conversation, 2)
    assert "1 newer message is not included" in browser.get(address).text
    hidden_messages.rewind(conversation.pk, first_hidden_seq=5)
    assert "not included" not in browser.get(address).text


def test_strangers_read_the_transcript_and_nothing_of_its_owner(
    conversation: Conversation, link: str
) -> None:
    """Neither a name, nor an id, nor a way back; nor is the page found or kept anywhere."""
    answer = Client().get(link)
    assert "Where is north?" in answer.text
    assert conversation.profile
    for secret in ("alice", str(conversation.pk), "Offline", "/c/", "csrf", "<form"):
        assert secret not in answer.text
    assert answer["X-Robots-Tag"] == "noindex, nofollow, noarchive"
    assert answer["Referrer-Policy"] == "no-referrer"
    assert "no-store" in answer["Cache-Control"]
    assert answer["Content-Security-Policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert not answer.cookies


def test_what_came_after_it_was_shared_and_what_was_rewound_is_not_shown(
    conversation: Conversation, say: Say, link: str
) -> None:
    """A new link shows the rest, and then the old one opens nothing."""
    say("user", "My number is 1234.")
    assert "1234" not in Client().get(link).text
    hidden_messages.rewind(conversation.pk, first_hidden_seq=2)
    assert "Up." not in Client().get(link).text
    token = conversations.share_conversation(conversation=conversation)
    assert Client().get(reverse("shared", args=[token])).status_code == 200
    assert Client().get(link).status_code == 404


def test_what_tools_were_given_and_answered_is_shown_only_if_that_is_asked_for(
    conversation: Conversation, browser: Client
) -> None:
    """Otherwise their names are: a file may hold what nobody else should read."""
    use = condense.ToolUseBlock("call", "read_file", {"path": "secret.txt"})
    result = condense.ToolResultBlock("call", "my password", is_error=True)
    for message in (condense.Message("assistant", (use,)), condense.Message("user", (result,))):
        message_store.append_message(conversation.pk, message, tokens=1)
    address = reverse("share", args=[conversation.pk])

    def shared(**form: str) -> str:
        return Client().get(made_link(browser.post(address, form).text)).text

    page = shared()
    assert "read_file" in page
    assert "failed" in page
    assert "secret.txt" not in page
    assert "my password" not in page
    assert re.search(r'name="tools"\s*>', browser.get(address).text)
    page = shared(tools="on")
    assert "secret.txt" in page
    assert "my password" in page
    assert 'name="tools" checked>' in browser.get(address).text


@pytest.mark.parametrize(("prompt", "is_shown"), [("", False), ("Summarise this.", True)])
def test_what_stands_for_hidden_messages_tells_no_more_of_tools(
    conversation: Conversation, say: Say, prompt: str, is_shown: bool
) -> None:
    """A ledger lists by rule what they were given; a model's summary is part of what is said."""
    say("user", "Read it.")
    use = condense.ToolUseBlock("call", "read_file", {"path": "secret.txt"})
    message_store.append_message(conversation.pk, condense.Message("assistant", (use,)), tokens=1)
    made = summarise(conversation)
    words = "### Files read\nsecret.txt"
    put_on_record(conversation, message=made, at_seq=2, prompt=prompt, summary=words)
    for tools, shown in ((False, is_shown), (True, True)):
        token = conversations.share_conversation(conversation=conversation, tools=tools)
        page = Client().get(reverse("shared", args=[token])).text
        assert ("secret.txt" in page) == shown
        assert "Context condensed" in page


def test_without_the_conversation_or_its_owner_there_is_nothing(
    conversation: Conversation, alice: User, link: str
) -> None:
    """As for a token that nobody made."""
    conversations.delete_conversation(conversation=conversation)
    assert Client().get(link).status_code == 404
    conversations.restore_conversation(conversation=conversation)
    assert Client().get(link).status_code == 200
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert Client().get(link).status_code == 404
    assert Client().get(reverse("shared", args=["x" * 43])).status_code == 404


def test_a_page_takes_two_queries_none_for_its_text_again_and_opens_only_so_often(
    link: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """However long the conversation is; too often, it says when to come again."""
    with django_assert_num_queries(2):
        Client().get(link)
    with django_assert_num_queries(1):
        Client().get(link)
    assert {Client().get(link).status_code for _ in range(MOST_VIEWS - 2)} == {200}
    answer = Client().get(link)
    assert (answer.status_code, answer["Retry-After"]) == (429, "60")


def test_tools_that_were_called_one_after_the_other_are_one_line(
    conversation: Conversation, say: Say
) -> None:
    """It opens to each of them, with what it was called with where that is shared."""
    say("user", "Look at them.")
    for name, path in (("read_file", "a.md"), ("read_file", "b.md"), ("theirs", "c")):
        call = condense.ToolUseBlock(path, name, {"path": path})
        said = ("assistant", (call,)), ("user", (condense.ToolResultBlock(path, "words"),))
        append_many(conversation.pk, [(condense.Message(*one), 1) for one in said])
    say("assistant", "Seen.")
    token = conversations.share_conversation(conversation=conversation, tools=True)
    page = Client().get(reverse("shared", args=[token])).text
    assert "<summary>Read 2 files · 1 \N{MULTIPLICATION SIGN} theirs</summary>" in page
    assert re.search(r"<summary>read_file\s+b.md\s*</summary>", page)
    assert page.count("<h2>Agent") == 2
