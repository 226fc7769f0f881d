"""The pages beside the chat, over HTTP."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from chatapp.accounts import credentials
from chatapp.conversations import conversations
from chatapp.models import Conversation, Profile, accounts
from condense import INHERIT
from tests.chatapp.browsers import HTMX
from tests.chatapp.profile_form import PROFILE

PAGES = [
    *("conversations", "condensations", "costs", "profiles", "new_profile", "settings", "search"),
    *("mcp_servers", "new_mcp_server", "conversation_list", "palette"),
]


def headers_for(name: str) -> dict[str, str]:
    """Return the headers with which a page is opened, or the part of one that a search is."""
    return HTMX if name in {"search", "palette"} else {}


@pytest.mark.parametrize("name", [*PAGES, "chat", "transcript", "rename"])
def test_every_page_is_read_without_writing_and_kept_by_no_browser(
    browser: Client, conversation: Conversation, name: str
) -> None:
    """No transaction, no row, as on a full disk; and somebody else may use the browser next.

    That somebody was here is noted once in ten minutes.
    """
    browser.get(reverse("manifest"))
    address = reverse(name, args=[] if name in PAGES else [conversation.pk])
    with CaptureQueriesContext(connection) as queries:
        answer = browser.get(address, headers=headers_for(name))
    assert answer.status_code == 200
    # What PostgreSQL hands out in pieces is declared first.
    assert all(query["sql"].startswith(("SELECT", "DECLARE")) for query in queries.captured_queries)
    assert "no-store" in answer["Cache-Control"]


def test_a_search_that_is_opened_by_itself_leads_to_a_page(browser: Client, alice: User) -> None:
    """With what was found on it."""
    conversations.start_conversation(owner=alice, title="Trieste & Rome")
    answer = browser.get("/search/?q=e+%26+r", follow=True)
    assert answer.redirect_chain == [("/conversations/?q=e+%26+r", 302)]
    assert answer.text.startswith("<!DOCTYPE html>")
    assert "Trieste &amp; Rome" in answer.text


def test_a_fragment_moves_the_whole_page_to_signing_in(db: None) -> None:
    """A sign-in form inside a list would be a riddle."""
    answer = Client().get(reverse("search"), headers=HTMX)
    sign_in, first = reverse("account_login"), reverse("conversations")
    assert answer.headers["HX-Redirect"] == f"{sign_in}?next={first}"
    there = {"HX-Current-URL": f"http://testserver{reverse('settings')}"}
    answer = Client().get(reverse("search"), headers=HTMX | there)
    assert answer.headers["HX-Redirect"] == f"{sign_in}?next={reverse('settings')}"


@pytest.fixture
def link(alice: User) -> str:
    """A link that signs Alice in."""
    return reverse("sign_in_with_token", args=[credentials.create_sign_in_token(user=alice)])


def test_a_link_signs_in_once_and_ends_with_the_next(link: str, alice: User) -> None:
    """After that it leads to the form, with an explanation; and so does one that nobody made."""
    client = Client()
    assert client.post(link)["Location"] == reverse("conversations")
    assert client.get(reverse("conversations")).status_code == 200
    assert Client().post(link).status_code == 403
    older = reverse("sign_in_with_token", args=[credentials.create_sign_in_token(user=alice)])
    credentials.create_sign_in_token(user=alice)
    for address in (link, older, reverse("sign_in_with_token", args=["made-up"])):
        for again in (Client().get(address), Client().post(address)):
            assert (again.status_code, "works once" in again.text) == (403, True)


def test_looking_at_a_link_does_not_use_it_up(browser: Client, link: str) -> None:
    """Programs that preview links do nothing else; a person presses the button.

    One who is signed in already needs none, and leaves the link for another browser.
    """
    assert browser.get(link)["Location"] == reverse("conversations")
    client = Client(enforce_csrf_checks=True)
    page = client.get(link)
    assert client.get(reverse("conversations")).status_code == 302
    token = page.text.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    # A form whose session has ended leads to signing in; another site's does not, nor this one.
    here = f"http://testserver{reverse('settings')}"
    home, there = reverse("conversations"), "http://elsewhere.test/"
    for path, page_of_form, status in ((home, here, 302), (home, there, 403), (link, here, 403)):
        answer = client.post(path, headers={"Referer": page_of_form})
        leads_back = reverse("settings") in answer.get("Location", "")
        assert (answer.status_code, leads_back) == (status, status == 302)
    assert client.post(link).status_code == 403
    assert client.post(link, {"csrfmiddlewaretoken": token}).status_code == 302
    assert client.get(reverse("conversations")).status_code == 200


def test_signing_out_ends_the_session(browser: Client, conversation: Conversation) -> None:
    """And needs a POST: an address alone asks first."""
    assert browser.get(reverse("account_logout")).status_code == 200
    browser.post(reverse("account_logout"))
    assert browser.get(reverse("chat", args=[conversation.pk])).status_code == 302
    renamed = browser.post(reverse("rename", args=[conversation.pk]), {"title": "Taken over"})
    assert renamed["Location"].startswith(reverse("account_login"))
    assert Conversation.objects.get().title == ""


def test_a_conversation_can_be_renamed(browser: Client, conversation: Conversation) -> None:
    """A blank title is refused in words."""
    address = reverse("rename", args=[conversation.pk])
    longest = "Trieste" + "!" * 193
    assert browser.post(address, {"title": longest}, headers=HTMX).status_code == 204
    assert longest in browser.get(address, headers={**HTMX, "HX-Target": "title"}).text
    blank = browser.post(address, {"title": " "}, headers=HTMX)
    assert blank.status_code == 422


def settings_form(profile: int = 0, **changes: object) -> dict[str, object]:
    """Return the settings as their page sends them, with a profile's own threshold of 60."""
    form = {"threshold": 75, "step_limit": 20, "condensing_prompt": "Be brief."}
    chosen = {"mode": "own", "own_threshold": 60}
    return {**form, **{f"profile-{profile}-{name}": one for name, one in chosen.items()}, **changes}


def test_a_profile_that_was_removed_in_another_tab_is_said(browser: Client, alice: User) -> None:
    """All else is saved, and holds on every page; a profile made meanwhile keeps what it has."""
    accounts.preferences_of(alice)
    page = browser.post(reverse("settings"), settings_form(4711), follow=True).text
    assert "Settings saved." in page
    assert "A profile was removed in another tab." in page
    alice.preferences.refresh_from_db()
    assert alice.preferences.threshold == 75
    assert 'data-shortcuts="off"' in browser.get(reverse("costs")).text
    assert [*Profile.objects.values_list("threshold", flat=True)] == [INHERIT]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("threshold", 3, "Enter a number from 5 to 100."),
        ("profile-{}-own_threshold", 3, "Enter a number from 5 to 100."),
        ("condensing_prompt", "x" * 2_000_000, "at most 200000 characters (it has 2000000)"),
    ],
)
def test_a_wrong_setting_is_said_where_it_was_entered(
    browser: Client, alice: User, field: str, value: object, said: str
) -> None:
    """And nothing of the rest is lost or saved."""
    profile = accounts.preferences_of(alice).default_profile
    assert profile
    form = settings_form(profile.pk, step_limit=21) | {field.format(profile.pk): value}
    answer = browser.post(reverse("settings"), form)
    assert answer.status_code == 422
    assert said in answer.text
    assert 'value="21"' in answer.text
    assert answer.context["section"] == ("prompts" if "prompt" in field else "context")
    fresh = accounts.preferences_of(alice)
    assert (fresh.condensing_prompt, fresh.step_limit) == ("", 50)


def test_profiles_are_made_changed_and_removed(browser: Client, alice: User) -> None:
    """And one of them is the default."""
    browser.post(reverse("new_profile"), PROFILE)
    profile = Profile.objects.get(name="Claude")
    browser.post(reverse("default_profile", args=[profile.pk]))
    assert accounts.preferences_of(alice).default_profile == profile
    assert "Keep it" in browser.get(reverse("delete_profile", args=[profile.pk])).text
    browser.post(reverse("delete_profile", args=[profile.pk]))
    assert not Profile.objects.filter(pk=profile.pk).exists()
