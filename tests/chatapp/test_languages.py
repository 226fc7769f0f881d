"""Readers read in their language; what is stored, and what models are told, is English."""

import re
from pathlib import Path

import allauth
import django
import pytest
from asgiref.sync import sync_to_async
from babel.messages.pofile import read_po
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import translation
from pytest_django import Settings

from chatapp import languages
from chatapp.languages import Reader, in_words
from chatapp.models import Condensation, Conversation, ModelCall
from chatapp.number_formats import in_a_row
from tests.chatapp.claude import converse
from tests.chatapp.sockets import open_page
from tests.chatapp.views.test_condensations import attempt
from tests.standin.behaviours import Failure, Reply
from tests.standin.server import Standin
from tests.tooling import messages

OTHERS = sorted(set(languages.NAMES) - {"en"})


def language_of(browser: Client, accepts: str = "", place: str = "settings") -> str:
    """Return the language that a page says it is in."""
    page = browser.get(reverse(place), headers={"Accept-Language": accepts}).text
    found = re.search(r'<html lang="([\w-]+)"', page)
    assert found
    return found[1]


@pytest.mark.parametrize(
    ("accepts", "language", "locale"),
    [
        ("de-AT, en;q=0.5", "de", "de_AT"),
        ("pt, en;q=0.5", "pt-br", "pt"),
        ("zh-TW", "zh-hans", "zh_Hant_TW"),
        ("tlh, fr;q=0.4", "fr", "fr"),
        ("it", "en", "it"),
        ("", "en", "en"),
        ("\udcff;q=x", "en", "en"),
    ],
)
def test_a_browser_gets_the_first_of_its_languages(
    accepts: str, language: str, locale: str
) -> None:
    """With numbers as the first of its locales has them."""
    assert Reader.of("", accepts) == Reader(language, locale)


def test_what_was_chosen_comes_before_the_browsers() -> None:
    """The locale is the browser's where that fits; what is no language is not chosen."""
    assert Reader.of("de", "en-GB, de-CH;q=0.5") == Reader("de", "de_CH")
    assert Reader.of("ja", "de-CH") == Reader("ja", "ja")
    assert Reader.of("xx", "de-CH") == Reader("de", "de_CH")


def test_the_account_is_asked_first_then_the_sign_in_page_then_the_browser(
    browser: Client, alice: User
) -> None:
    """What is saved in the settings holds for the sign-in page too, until it is taken back."""
    guest = Client()
    assert language_of(guest, "fr", "account_login") == "fr"
    guest.post(reverse("set_language"), {"language": "ko"})
    assert language_of(guest, "fr", "account_login") == "ko"
    browser.post(reverse("set_language"), {"language": "ko"})
    alice.preferences.language = "de"
    alice.preferences.save()
    assert language_of(browser, "fr") == "de"
    alice.preferences.language = ""
    alice.preferences.save()
    assert language_of(browser, "fr") == "ko"


@pytest.mark.parametrize("language", OTHERS)
def test_a_record_reads_in_its_readers_language(
    browser: Client, conversation: Conversation, language: str
) -> None:
    """Written in English, once; a provider's own words stay as they were said."""
    said = "The context would not get smaller: 12,000 → 13,500 tokens"
    attempt(conversation, status="failed", error=said, tokens_after=None)
    attempt(conversation, status="failed", error="Own words.", tokens_after=None)
    english = browser.get(reverse("condensations")).text
    assert said in english
    page = browser.get(reverse("condensations"), headers={"Accept-Language": language}).text
    assert said not in page
    assert "Own words." in page
    Reader.of(language, language).enter()
    assert in_words(said) in page.replace("&#x27;", "'")


@pytest.mark.django_db(transaction=True)
async def test_a_page_is_told_in_its_language_and_the_record_is_english(
    alice: User, conversation: Conversation, anthropic_standin: Standin
) -> None:
    """What goes on, and how it ended."""
    anthropic_standin.then(Failure(401, "authentication_error", "invalid x-api-key"))
    async with open_page(conversation, alice, language="de") as page:
        ended = await page.ask("Hi")
        assert ended["text"] == "Fehlgeschlagen."
        assert not {"Thinking…", "Failed."} & {one.get("text") for one in page.frames}
    call = await ModelCall.objects.aget()
    with translation.override("de"):
        assert await sync_to_async(in_words)(call.error) != call.error


async def asked_in(language: str, alice: User, standin: Standin) -> list[bytes]:
    """Return the requests of a conversation in a language: an answer, a tool, a condensation."""
    before = len(standin.requests)
    standin.then(Reply("One."), Reply("Two."), Reply("<summary>All that was said.</summary>"))
    conversation = await sync_to_async(converse)(alice, standin)
    async with open_page(conversation, alice, language=language) as page:
        await page.ask("Say one.")
        await page.ask("Say two, with numbers: 1,234.5")
        await page.condense()
        assert await Condensation.objects.filter(conversation=conversation).aexists()
    # The ids of earlier answers count on.
    return [re.sub(rb"msg_\d+", b"", one.raw) for one in standin.requests[before:]]


@pytest.mark.django_db(transaction=True)
async def test_no_language_changes_what_a_model_is_told(
    alice: User, anthropic_standin: Standin
) -> None:
    """Not a byte of any request: system prompt, tools, messages, and what asks for a summary."""
    alice.preferences.environment_details = False
    await alice.preferences.asave()
    english = await asked_in("en", alice, anthropic_standin)
    assert len(english) == 3
    for language in OTHERS:
        assert await asked_in(language, alice, anthropic_standin) == english, language


def test_every_language_is_offered_in_its_own_name(db: None) -> None:
    """On the sign-in page, without a script."""
    page = Client().get(reverse("account_login")).text
    for code, _name in settings.LANGUAGES:
        assert f'value="{code}" lang="{code}"' in page
    for name in ("Deutsch", "日本語", "العربيّة", "हिंदी", "Português Brasileiro"):
        assert name.lower() in page.lower()


# What is no text: scripts, the choice of a language, tags without what they show.
NO_TEXT = re.compile(r"<(script|style|select).*?</\1>|<(?!input|img|button)[^>]*>", re.DOTALL)
SHOWN = re.compile(r'<[^>]*?(?:(?:placeholder|title|aria-label|alt)="([^"]*)"[^>]*)?>')
ENGLISH = re.compile(r"[A-Za-z]{2,}(?: [A-Za-z]{2,})+")


@pytest.mark.parametrize(
    "place",
    [
        "account_login",
        "account_signup",
        "account_reset_password",
        "account_change_password",
        "account_email",
        "account_logout",
        "mfa_index",
        "mfa_list_webauthn",
        "mfa_add_webauthn",
        "mfa_activate_totp",
        "socialaccount_connections",
        "socialaccount_login_error",
        "socialaccount_login_cancelled",
    ],
)
def test_borrowed_pages_are_hindi_from_top_to_bottom(
    browser: Client, place: str, settings: Settings
) -> None:
    """Which those that they are borrowed from are not."""
    settings.ALLOW_REGISTRATION = True
    if "login" in place or place in {"account_signup", "account_reset_password"}:
        browser = Client()
    page = browser.get(reverse(place), headers={"Accept-Language": "hi"}, follow=True).text
    body = page.partition("<main")[2].partition("</main>")[0]
    assert body
    text = SHOWN.sub(r" \1 ", NO_TEXT.sub(" ", body))
    assert not ENGLISH.findall(text)


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("password", ["", "wrong"])
def test_a_sign_in_is_refused_in_the_readers_words(db: None, language: str, password: str) -> None:
    """Where a field is empty, and where the password is wrong."""
    page = Client().post(
        reverse("account_login"),
        {"login": "nobody", "password": password},
        headers={"Accept-Language": language},
    )
    assert "errorlist" in page.text
    assert "This field" not in page.text
    assert "password you specified" not in page.text


def test_what_is_borrowed_is_still_said_there() -> None:
    """A sentence that changed in a package would be said in its words, which nobody notices."""
    roots = [Path(one.__file__).parent for one in (allauth, django)]
    known = set()
    for path in (found for root in roots for found in root.rglob("locale/en/**/django.po")):
        with path.open("rb") as file:
            known |= {(one.context, one.id) for one in read_po(file)}
    borrowed = "chatapp/locale/borrowed.pot"
    listed = {
        (one.context, one.id)
        for one in messages.collect()
        if any(place == borrowed for place, _line in one.locations)
    }
    assert listed
    assert not listed - known


@pytest.mark.parametrize(
    ("language", "listed"),
    [
        ("en", "a, b, and c"),
        ("de", "a, b und c"),
        ("ar", "a وb وc"),
        ("ja", "a、b、c"),
        ("zh-hans", "a、b和c"),
        ("pt-br", "a, b e c"),
    ],
)
def test_things_are_listed_as_the_language_lists_them(language: str, listed: str) -> None:
    """Of two and of one too."""
    with translation.override(language):
        assert in_a_row("abc") == listed
        assert in_a_row(["a"]) == "a"
        assert not in_a_row([])
