"""The chat page over HTTP: its rows, its parts, and going back."""

import uuid
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

import condense
from chatapp.conversations.toolbox.toolbox import SAMPLES
from chatapp.models import Conversation, Profile, accounts, message_store
from tests.chatapp.browsers import HTMX
from tests.chatapp.claude import answered_by
from tests.chatapp.conftest import Say
from tests.chatapp.scripted_turns import send
from tests.records import append_many

pytestmark = pytest.mark.django_db


def test_a_link_to_an_old_place_opens_there(browser: Client, conversation: Conversation) -> None:
    """However far up it is; what was said before and after it is fetched on demand."""
    rows = [(condense.Message("user", f"Number {number}."), 1) for number in range(200)]
    append_many(conversation.pk, rows)
    page = browser.get(f"/c/{conversation.pk}/?at=100").text
    assert "Number 99." in page
    assert "Number 199." not in page
    after = page.partition("?after=")[2].partition('"')[0]
    later = browser.get(f"/c/{conversation.pk}/transcript/?after={after}").text
    assert int(after.partition(".")[0]) == later.count("<article") + 84
    assert "Show later messages" in later
    assert "Show earlier messages" not in later
    assert f'data-revision="{Conversation.objects.get().revision}"' in page
    earlier = browser.get(f"/c/{conversation.pk}/transcript/?before=3.3").text
    assert earlier.count("<article") == 2
    # What a page shows can be fetched again, between the same two cuts.
    part = browser.get(f"/c/{conversation.pk}/transcript/?after=3.3&before=153.153").text
    assert part.count("<article") == 150
    assert "<html" not in part


def test_a_refusal_is_a_sentence(browser: Client, conversation: Conversation) -> None:
    """For scripts as text, for everyone else as a notice on the next page."""
    address = f"/c/{conversation.pk}/rewind/"
    answer = browser.post(address, {"to_seq": 9}, headers=HTMX)
    assert (answer.status_code, answer["Content-Type"]) == (422, "text/plain; charset=utf-8")
    assert "rewound already" in answer.text
    page = browser.post(address, {"to_seq": 9}, follow=True).text
    assert "rewound already" in page


def test_a_prompt_from_the_first_page_stays_until_it_is_stored(browser: Client) -> None:
    """A page that is read again before sends it again, under the same nonce; one after does not."""
    address = browser.post(reverse("new_conversation"), {"prompt": "Read <this>."})["Location"]
    pages = [browser.get(address).text for _ in range(2)]
    for page in pages:
        assert "Read &lt;this&gt;." in page
        assert " data-send" in page
    nonces = {page.partition('data-nonce="')[2].partition('"')[0] for page in pages}
    assert len(nonces) == 1
    conversation = Conversation.objects.get()
    send(conversation, "Read <this>.", uuid.UUID(nonces.pop()))
    assert " data-send" not in browser.get(address).text
    for number, more in enumerate(({}, {"samples": "1"})):
        browser.post(reverse("new_conversation"), {"prompt": f"Prompt {number}."} | more)
    waiting = [one["prompt"] for one in browser.session["first"].values()]
    assert sorted(waiting) == ["Prompt 0.", "Prompt 1."]
    # Only an example that is about them has the samples.
    assert Conversation.objects.filter(workspace=SAMPLES).count() == 1


def test_another_profile_can_be_chosen(
    browser: Client, conversation: Conversation, alice: User, bob: User
) -> None:
    """Only one of the user's own, also for a new conversation."""
    profile = answered_by(alice, "offline", "offline", "")
    browser.post(f"/c/{conversation.pk}/profile/", {"profile": profile.pk})
    conversation.refresh_from_db()
    assert conversation.profile == profile
    mine, his = (accounts.preferences_of(one).default_profile for one in (alice, bob))
    assert his
    for named in ("x", his.pk):
        missing = browser.post(f"/c/{conversation.pk}/profile/", {"profile": named})
        assert missing.status_code == 404
        begun = browser.post(reverse("new_conversation"), {"profile": named}, follow=True)
        assert begun.context["conversation"].profile == mine
    refused = browser.post(reverse("new_conversation"), {"profile": profile.pk, "prompt": " "})
    assert (refused.status_code, refused.context["chosen"]) == (422, profile.pk)


def test_a_change_needs_a_post(browser: Client, conversation: Conversation) -> None:
    """A link never changes anything."""
    for address in ("rewind/", "delete/", "restore/", "profile/"):
        assert browser.get(f"/c/{conversation.pk}/{address}").status_code == 405


def test_the_workspace_is_chosen_in_the_conversation_s_settings(
    browser: Client, conversation: Conversation, alice: User
) -> None:
    """A folder that is not there is refused: nothing changes, and nothing typed is lost."""
    own = f"users/{alice.pk}/project"
    (Path(settings.WORKSPACES_ROOT) / own).mkdir(parents=True)
    address = reverse("tool_policies", args=[conversation.pk])
    Profile.objects.update(tool_policies={"read_file": "deny"})
    page = browser.get(address)
    assert "Deny (inherited)" in page.text
    assert "Allow (default)" in page.text
    page = browser.post(address, {"workspace": "project/"}, follow=True)
    assert "It takes effect with the next turn." in page.text
    page = browser.post(address, {"workspace": "../etc", "system_prompt": "Typed."})
    assert page.status_code == 422
    for kept in ("You have no workspace folder ../etc", 'value="../etc"', "Typed."):
        assert kept in page.text
    browser.post(address, {"workspace": "", "system_prompt": "Told alone.", "kept": "workspace"})
    conversation.refresh_from_db()
    assert (conversation.workspace, conversation.system_prompt) == (own, "Told alone.")


def test_a_message_s_words_are_sent_once_and_fetched_for_copying(
    browser: Client, conversation: Conversation, say: Say
) -> None:
    """As they were written."""
    words = "Say <b>this</b>.\n\n* as it is"
    say("user", words)
    page = browser.get(reverse("chat", args=[conversation.pk])).text
    address = reverse("message_text", args=[conversation.pk, 1])
    assert f'data-text="{address}"' in page
    assert page.count("as it is") == 1
    answer = browser.get(address)
    assert (answer.text, answer["Content-Type"]) == (words, "text/plain; charset=utf-8")
    assert "no-store" in answer["Cache-Control"]
    assert browser.get(reverse("message_text", args=[conversation.pk, 9])).status_code == 404


def test_a_call_without_a_result_has_nothing_to_show(
    browser: Client, conversation: Conversation
) -> None:
    """It may still run."""
    call = condense.ToolUseBlock("c", "read_file", {"path": "x" * 20_000})
    message = condense.Message(role="assistant", content=(call,))
    message_store.append_message(conversation.pk, message, tokens=1)
    address = reverse("call_text", args=[conversation.pk, 1])
    page = browser.get(reverse("chat", args=[conversation.pk])).text
    assert f"{address}?part=input&amp;call=c" in page
    assert len(page) < 60_000
    assert "x" * 20_000 in browser.get(address, {"call": "c", "part": "input"}).text
    for part, other in (("result", "c"), ("input", "d"), ("", "")):
        assert browser.get(address, {"call": other, "part": part}).status_code == 404
