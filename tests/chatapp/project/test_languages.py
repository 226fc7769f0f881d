"""Readers read in their language; what is stored, and what models are told, is English."""

import argparse
import ast
import inspect
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

import condense
from chatapp.conversations.toolbox.toolbox import workspace_of
from chatapp.models import Condensation, Conversation, ModelCall, Preferences
from chatapp.project.languages import Reader, in_words
from chatapp.project.sentences import in_a_row, number
from chatapp.templatetags.page import locale
from tests.chatapp.claude import converse
from tests.chatapp.other_languages import OTHERS
from tests.chatapp.sockets import open_page
from tests.chatapp.turns.approval_steps import until_asked
from tests.chatapp.web.api.programs import LONG
from tests.chatapp.web.views.attempts import attempt
from tests.standin.behaviours import UNAUTHORIZED, Failure, Gate, Reply, ToolCall
from tests.standin.server import Standin
from tests.tooling import messages

# One that reads from the right and has its own digits, and one with its own signs of numbers: what
# is in a reader's language there is so in any, as each catalogue has the same sentences.
READ = ("ar", "de")


def language_of(browser: Client, accepts: str = "", place: str = "settings") -> str:
    """Return the language that a page says it is in."""
    page = browser.get(reverse(place), headers={"Accept-Language": accepts}).text
    found = re.search(r'<html lang="([\w-]+)"', page)
    assert found
    return found[1]


@pytest.mark.parametrize(
    ("accepts", "language", "written"),
    [
        ("de-AT, en;q=0.5", "de", "de_AT"),
        ("pt, en;q=0.5", "pt-br", "pt"),
        ("zh-TW", "zh-hans", "zh_Hant_TW"),
        ("tlh, fr;q=0.4", "fr", "fr"),
        ("it", "en", "en"),
        ("fa,en", "en", "en"),
        ("nl, de;q=0.5", "de", "de"),
        ("root", "en", "en"),
        ("de-u-ca-buddhist", "de", "de"),
        ("xx," * 9 + "de", "de", "de"),
        ("xx," * 10 + "de", "en", "en"),
        ("", "en", "en"),
        ("\udcff;q=x", "en", "en"),
    ],
)
def test_a_browser_gets_the_first_of_its_languages(
    accepts: str, language: str, written: str
) -> None:
    """With numbers as the first of its locales that fits has them, among the first ten."""
    assert Reader.of("", accepts) == Reader(language, written)


def test_what_was_chosen_comes_before_the_browsers() -> None:
    """The locale is the browser's where that fits; what is no language is not chosen."""
    assert Reader.of("de", "en-GB, de-CH;q=0.5") == Reader("de", "de_CH")
    assert Reader.of("ja", "de-CH") == Reader("ja", "ja")
    assert Reader.of("xx", "de-CH") == Reader("de", "de_CH")


def test_scripts_write_the_servers_digits_and_calendar() -> None:
    """In Arabia and Egypt too, where browsers have others."""
    with Reader("ar", "ar_EG").reading():
        assert locale() == "ar-EG-u-ca-gregory-nu-latn"
        assert number(1_234.5, 1) == "1,234.5"


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


def test_a_record_reads_in_its_readers_language(
    browser: Client, conversation: Conversation
) -> None:
    """Written in English, once; a provider's own words stay as they were said."""
    said = condense.say(
        "The context would not get smaller: {before:,} → {after:,} tokens",
        before=12_000,
        after=13_500,
    )
    attempt(conversation, status="failed", error=said, tokens_after=None)
    attempt(conversation, status="failed", error="Own words.", tokens_after=None)
    place = reverse("condensations")
    assert said in browser.get(place).text
    for language in OTHERS:
        with Reader.of(language, language).reading():
            assert said != in_words(said) != "", language
    for language in READ:
        page = browser.get(place, headers={"Accept-Language": language}).text
        assert "Own words." in page
        with Reader.of(language, language).reading():
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


# Of a moment, which differs, all that is not in a language.
MOMENT = re.compile(rb"(?<=[a-z]day, )[0-9-]+ [0-9:]+")
PASSWORD = "The vault in Lisbon opens with heliotrope-42, said Ada on 1,234.5 days."


def call(name: str, **arguments: str) -> ToolCall:
    """Return a tool call that has the same id in each conversation."""
    return ToolCall(name, arguments, id=f"call_{name}_{len(str(arguments))}")


async def asked_in(language: str, alice: User, standin: Standin) -> list[bytes]:
    """Return all requests of a conversation in a language.

    Tools that succeed, fail and may not run; a title; a condensation; what is recalled and found.
    """
    before = len(standin.requests)
    used = [
        call("read_file", path="notes.txt"),
        call("read_file", path="gone.txt"),
        call("list_files", path="."),
        call("write_file", path="a.txt", content="A"),
        call("nothing_like_it"),
    ]
    standin.then(
        *(Reply("I look.", tools=used), Reply("Noted."), Reply("The vault")),
        Reply("<summary>All that was said.</summary>"),
        *(Reply(tools=[call("search_history", query="vault Lisbon")]), Reply("heliotrope-42")),
    )
    conversation = await sync_to_async(converse)(alice, standin)
    await Conversation.objects.filter(pk=conversation.pk).aupdate(
        tool_policies={"write_file": "deny"}
    )
    (workspace_of(conversation) / "notes.txt").write_text("One.\nTwo.\n")
    async with open_page(conversation, alice, language=language) as page:
        await page.ask(f"{PASSWORD} @notes.txt @gone.txt", literal=True)
        if "title.changed" not in {one["type"] for one in page.frames}:
            await page.until("title.changed")
        await page.condense(focus="The vault")
        assert await Condensation.objects.filter(conversation=conversation).aexists()
        await page.ask("How did Ada open the vault in Lisbon?")
    # The ids of earlier answers count on.
    raw = [re.sub(rb"msg_\d+", b"", one.raw) for one in standin.requests[before:]]
    return [MOMENT.sub(b"", one) for one in raw]


@pytest.mark.django_db(transaction=True)
async def test_no_language_changes_what_a_model_is_told(
    alice: User, anthropic_standin: Standin
) -> None:
    """Not a byte of any request: prompts, tools and their results, and what is beside messages."""
    await Preferences.objects.filter(owner=alice).aupdate(
        environment_details=True, name_conversations=True, auto_recall=True
    )
    english = await asked_in("en", alice, anthropic_standin)
    assert len(english) == 6
    assert b"<environment_details>" in english[0]
    assert b"<recalled>" in english[-1]
    for language in READ:
        assert await asked_in(language, alice, anthropic_standin) == english, language


# What differs from one record to the next: ids and hashes, moments, and what numbers are.
UNLIKE = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32,64}|(?:msg|req)_\w+"
    r"|[0-9-]{10}T[0-9:.]+\+00:00|\d+(?:\.\d+)?"
)
# A text of JSON, and what follows where it is a name.
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"(:?)')


async def recorded_in(language: str, browser: Client, alice: User, standin: Standin) -> list[str]:
    """Return all words of the record of a conversation whose reader reads a language.

    Of answers to questions, failures, a condensation that is undone, pins, and a rewind.
    """
    conversation = await sync_to_async(converse)(alice, standin)
    await Preferences.objects.filter(owner=alice).aupdate(language=language)

    async def post(name: str, *args: object, **sent: object) -> None:
        place = reverse(name, args=[conversation.pk, *args])
        answer = await sync_to_async(browser.post)(place, sent)
        assert answer.status_code < 400, answer.text

    gate, summary = Gate(), Reply("<summary>All that was said.</summary>")
    standin.then(
        *(Reply(tools=[call("write_file", path="a.txt", content="A")]), Reply("I see.")),
        *(Reply(f"<summary>{LONG}</summary>"), UNAUTHORIZED, Reply("It is", gate=gate)),
        *(Reply(""), Reply(""), summary),
    )
    async with open_page(conversation, alice, language=language) as page:
        await page.say(PASSWORD)
        question = await until_asked(page)
        await post("answer_question", question.pk, decision="deny", words="Not that.")
        await page.until_idle()
        # It would not get smaller.
        await page.condense()
        await page.ask(LONG)
        await page.begin("And again.")
        await page.stop()
        gate.open()
        await post("pin_message", 1)
        await page.condense()
        await page.condense(focus="All")
        attempts = Condensation.objects.filter(conversation=conversation, status="succeeded")
        await post("undo_condensation", (await attempts.aget()).pk)
        await post("rewind", to_seq=5)
        await post("rename", title="A vault")
    answer = await sync_to_async(browser.get)(reverse("export", args=[conversation.pk]))
    assert answer["Content-Language"] == language
    stored = [one for one in answer.text.splitlines() if not one.startswith('"words":')]
    words = [UNLIKE.sub("", one) for one, name in TEXT.findall("\n".join(stored)) if not name]
    # Numbers of what was used are only in some.
    return [*filter(None, words)]


@pytest.mark.django_db(transaction=True)
async def test_a_record_is_english_whoever_reads_meanwhile(
    browser: Client, alice: User, anthropic_standin: Standin
) -> None:
    """Messages, failures, attempts and the entries of the audit chain."""
    english = await recorded_in("en", browser, alice, anthropic_standin)
    for said in (
        "The provider did not accept the API key. Check it in Profiles.",
        "The context would not get smaller: , → , tokens",
    ):
        assert said in english
    for language in READ:
        record = await recorded_in(language, browser, alice, anthropic_standin)
        assert record == english, language


def test_every_language_is_offered_in_its_own_name(db: None) -> None:
    """On the sign-in page, without a script."""
    page = Client().get(reverse("account_login")).text
    for code, _name in settings.LANGUAGES:
        assert f'value="{code}" lang="{code}"' in page
    for name in ("Deutsch", "日本語", "العربية", "हिन्दी", "português (Brasil)"):
        assert name.lower() in page.lower()


# What is no text: scripts, the choice of a language, tags without what they show.
NO_TEXT = re.compile(r"<(script|style|select).*?</\1>|<(?!input|img|button)[^>]*>", re.DOTALL)
SHOWN = re.compile(r'<[^>]*?(?:(?:placeholder|title|aria-label|alt)="([^"]*)"[^>]*)?>')
ENGLISH = re.compile(r"[A-Za-z]{2,}(?: [A-Za-z]{2,})+")


@pytest.mark.parametrize(
    "place",
    [
        *("account_login", "account_signup", "account_reset_password", "account_change_password"),
        *("account_email", "account_logout", "mfa_index", "mfa_list_webauthn", "mfa_add_webauthn"),
        *("mfa_activate_totp", "socialaccount_connections", "socialaccount_login_error"),
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
    said = re.findall(r"_\(('.*?')\)", inspect.getsource(argparse))
    known |= {(None, ast.literal_eval(one)) for one in said}
    with (messages.LOCALES / "borrowed.pot").open("rb") as file:
        listed = {(one.context, one.id) for one in read_po(file) if one.id}
    assert listed
    assert not listed - known


@pytest.mark.parametrize(
    ("language", "listed"),
    [
        *(("en", "a, b, and c"), ("de", "a, b und c"), ("pt-br", "a, b e c")),
        *(("ar", "a وb وc"), ("ja", "a、b、c"), ("zh-hans", "a、b和c")),
    ],
)
def test_things_are_listed_as_the_language_lists_them(language: str, listed: str) -> None:
    """Of two and of one too."""
    with translation.override(language):
        assert in_a_row("abc") == listed
        assert in_a_row(["a"]) == "a"
        assert not in_a_row([])
