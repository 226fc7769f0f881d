"""The history of condensations: its lines, its filters, and taking one back."""

import csv
import io
import re
import uuid
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

import condense
from chatapp.conversations import conversations
from chatapp.models import Conversation, Message
from chatapp.page.inspector.day_strip import HEIGHT
from chatapp.page.transcript import originals
from chatapp.project.languages import Reader, in_words
from chatapp.templatetags.figures import NOTHING
from tests.chatapp.browsers import HTMX
from tests.chatapp.conftest import Say, summarise, use_tools
from tests.chatapp.web.views.attempts import attempt
from tests.records import append_many


def test_every_attempt_is_listed_with_its_place(
    browser: Client, conversation: Conversation, bob: User, say: Say
) -> None:
    """Failed ones and their cost too, nobody else's; with one estimate the sum is one."""
    say("user", "Hello.")
    first = attempt(conversation)
    attempt(conversation, status="failed", error="No answer.", tokens_after=None)
    theirs = conversations.start_conversation(owner=bob)
    attempt(theirs, cost=Decimal(100), profile_name="Bob's own")
    page = browser.get(reverse("condensations")).text
    assert f"/c/{conversation.pk}/?at=1#condensation-{first.pk}" in page
    for shown, there in (("No answer.", True), ("Rewound", False), ("Bob&#x27;s own", False)):
        assert (shown in page) is there
    assert "<dd>$0.0080</dd>" in page
    german = browser.get(reverse("condensations"), headers={"Accept-Language": "de"}).text
    assert "<dd>0,0080\xa0$</dd>" in german
    use_tools(conversation, 1)
    counts = browser.get(reverse("counts", args=[conversation.pk])).text
    assert "2 messages and 1 condensation · Last condensed" in counts
    assert len(browser.get(reverse("condensations"), {"as": "json"}).json()) == 2
    attempt(conversation, cost=Decimal("0.002"), cost_measured=False)
    assert "<dd>≈ $0.0100</dd>" in browser.get(reverse("condensations")).text


def test_the_latest_days_are_a_strip_of_what_was_saved_and_spent(
    browser: Client, conversation: Conversation
) -> None:
    """By day, with a table; a day long ago is none of them. Attempts stand under their chat."""
    other = conversations.start_conversation(owner=conversation.owner, title="Sailing")
    today = now()
    attempt(conversation, started_at=today)
    attempt(conversation, started_at=today, status="failed")
    attempt(other, started_at=today - timedelta(days=29), cost=Decimal("0.002"))
    attempt(other, started_at=today - timedelta(days=40))
    answer = browser.get(reverse("condensations"))
    shown = [(one.saved, one.cost, one.up, one.down) for one in answer.context["days"]]
    nothing = (0, 0, 0, 0)
    first = (8_000, Decimal("0.002"), HEIGHT, HEIGHT / 4)
    assert shown == [first, *[nothing] * 28, (8_000, Decimal("0.008"), HEIGHT, HEIGHT)]
    assert "≈ 8,000 tokens saved, $0.008 spent " in answer.text
    assert answer.text.count('<li class="attempt-group">') == 2
    assert "summary · by you" in answer.text
    for chip in ("trigger=manual", "strategy=fresh_start"):
        assert (chip in answer.text) == chip.startswith("trigger")
    unpriced = conversations.start_conversation(owner=conversation.owner, title="Unpriced")
    attempt(unpriced, started_at=today, cost=None)
    told = "8,000 tokens saved, {} spent 1 attempt is not included: its cost is unknown. </title>"
    page = " ".join(browser.get(reverse("condensations"), {"title": "Unpriced"}).text.split())
    assert told.format(NOTHING) in page
    attempt(unpriced, started_at=today, cost=0, cost_measured=False, status="failed")
    page = " ".join(browser.get(reverse("condensations"), {"title": "Unpriced"}).text.split())
    assert told.format(NOTHING) in page
    assert "<dd>free</dd>" not in page
    attempt(unpriced, started_at=today, cost=1, cost_measured=False, status="failed")
    page = " ".join(browser.get(reverse("condensations"), {"title": "Unpriced"}).text.split())
    assert told.format("≈ $1.00") in page
    attempt(conversations.start_conversation(owner=conversation.owner, title="Free"), cost=0)
    free = browser.get(reverse("condensations"), {"title": "Free"}).text
    assert ["Below: cost" in page for page in (answer.text, free)] == [True, False]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, "abc"),
        ({"text": "NORTH"}, "a"),
        ({"title": "sail"}, "c"),
        ({"profile": "Claude"}, "b"),
        ({"strategy": "ledger"}, "ab"),
        ({"trigger": "auto"}, "b"),
        ({"since": "2026-04-04"}, "bc"),
        ({"until": "2026-04-04"}, "ab"),
        ({"since": "2026-04-04", "until": "2026-04-04", "outcome": "failed"}, "b"),
        ({"until": "9999-12-31"}, "abc"),
        ({"profile": "Nobody", "outcome": "x", "since": "soon", "text": "a\0b"}, "abc"),
    ],
)
def test_the_list_its_totals_and_its_downloads_are_narrowed_together(
    browser: Client, conversation: Conversation, query: dict[str, str], found: str
) -> None:
    """By words, conversation, profile, strategy, trigger, day, outcome; nonsense narrows none.

    Days are those of the reader. Here b began in an hour that came twice, at the end of a day.
    """
    browser.cookies["zone"] = "America/Santiago"
    other = conversations.start_conversation(owner=conversation.owner, title="Sailing")
    days = {
        one: datetime(2026, 4, day, 3, 30, tzinfo=UTC)
        for one, day in (("a", 3), ("b", 5), ("c", 6))
    }
    ledger = {"strategy": "ledger"}
    attempt(conversation, **ledger, model="a", summary="To the north.", started_at=days["a"])
    failed = {"status": "failed", "trigger": "auto", "profile_name": "Claude"}
    attempt(conversation, **ledger, **failed, model="b", started_at=days["b"])
    attempt(other, model="c", started_at=days["c"])
    address = reverse("condensations")
    page = browser.get(address, query)
    assert page.text.count('<li class="attempt ') == len(found)
    opens = query.keys() & {"title", "profile", "since", "until"} and found != "abc"
    assert ("<details open>" in page.text) == bool(opens)
    fitting = page.context["totals"]["attempts"]
    assert fitting == len(found) or "outcome" in query
    listed = browser.get(address, {**query, "as": "json"}).json()
    assert "".join(sorted(one["model"] for one in listed)) == found
    table = list(csv.DictReader(io.StringIO(browser.get(address, {**query, "as": "csv"}).text)))
    assert [one["id"] for one in table] == [one["id"] for one in listed]


@pytest.mark.parametrize("query", [{"text": "ÜBER. BLICK"}, {"title": "größe"}])
def test_capitals_make_no_difference_in_any_language(
    browser: Client, conversation: Conversation, query: dict[str, str]
) -> None:
    """What is looked for is a text, and no expression."""
    Conversation.objects.update(title="Die Größe")
    attempt(conversation, summary="Der über. Blick.")
    attempt(conversations.start_conversation(owner=conversation.owner), summary="Der überxblick.")
    assert len(browser.get(reverse("condensations"), {**query, "as": "json"}).json()) == 1


def test_no_spreadsheet_takes_a_title_for_a_formula(
    browser: Client, conversation: Conversation
) -> None:
    """Which others, or a model, may have written; as JSON it is what it is."""
    Conversation.objects.update(title='=HYPERLINK("http://x")')
    attempt(conversation, error="@SUM(A1)", cost=None)
    address = reverse("condensations")
    (line,) = csv.DictReader(io.StringIO(browser.get(address, {"as": "csv"}).text))
    assert (line["title"][:2], line["error"], line["cost"]) == ("'=", "'@SUM(A1)", "")
    (one,) = browser.get(address, {"as": "json"}).json()
    assert (one["title"], one["cost"]) == ('=HYPERLINK("http://x")', None)


def test_a_download_has_errors_in_the_readers_words_too(
    browser: Client, conversation: Conversation
) -> None:
    """Beside what is stored, in both tables; a provider's words stay as they were said."""
    said = condense.say(
        "The context would not get smaller: {before:,} → {after:,} tokens",
        before=12_000,
        after=13_500,
    )
    attempt(conversation, error=said)
    attempt(conversation, error="Own words.")
    address = reverse("condensations")
    with Reader("de", "de").reading():
        told = {said: in_words(said), "Own words.": "Own words."}
    assert told[said] != said
    for accepted, words in ({"Accept-Language": "de"}, told), ({}, {one: one for one in told}):
        as_json = browser.get(address, {"as": "json"}, headers=accepted).json()
        as_csv = browser.get(address, {"as": "csv"}, headers=accepted).text
        for table in (as_json, csv.DictReader(io.StringIO(as_csv))):
            assert {one["error"]: one["error_words"] for one in table} == words


def lines(browser: Client, **query: str) -> list[str]:
    """Return the page's lines as they are read: without markup, on one line each."""
    page = browser.get(reverse("condensations"), query).text
    found = re.findall(r'(?s)<li class="attempt .*?</li>', page)
    return [" ".join(unescape(re.sub("<[^>]*>", " ", line)).split()) for line in found]


def test_a_line_of_a_failed_attempt_says_what_happened_instead(
    browser: Client, conversation: Conversation, say: Say
) -> None:
    """It is told by the line of what was made; a try that the user makes later is none of that."""
    say("user", "Where is the cut?")
    failed = {"status": "failed", "tokens_after": None, "error": "No answer."}
    summary = summarise(conversation)
    made = attempt(conversation, message=summary, messages_hidden=3, strategy="ledger")
    attempt(conversation, **failed, fell_back_to="ledger", made_for=made)
    attempt(conversation, **failed)
    later, first = lines(browser)
    assert "key facts only · without a model (the first attempt failed)" in first
    assert "No answer. Nothing was changed." in later


@pytest.mark.parametrize(
    ("so", "history", "record"),
    [
        ({"status": "undone", "undone_at": now()}, "Undone · summary", r"<strong>Undone <time"),
        (
            {"notes": ["A person changed the summary before it was applied."]},
            "summary · changed in review · by you",
            r"By you · changed in review",
        ),
        (
            {"kind": "truncated", "notes": ["Without a summary: automatic condensing is off"]},
            "Without a summary: automatic condensing is off",
            r"By you · Without a summary: automatic condensing is off",
        ),
    ],
)
def test_how_it_came_about_and_stands_is_said_first(
    browser: Client,
    conversation: Conversation,
    say: Say,
    so: dict[str, object],
    history: str,
    record: str,
) -> None:
    """On its line of the history and at the top of its record."""
    say("user", "Hello.")
    made = attempt(conversation, message=summarise(conversation), trigger="manual", **so)
    assert history in lines(browser)[0]
    address = reverse("condensation", args=[conversation.pk, made.pk])
    top = browser.get(address).text.partition('class="seen-part')[0]
    assert re.search(record, " ".join(top.split()))


def test_too_little_to_clear_is_no_failure(
    browser: Client, conversation: Conversation, say: Say
) -> None:
    """Neither in its line nor in the totals; that nothing was changed goes without saying.

    Where something was made instead, it is part of that.
    """
    attempt(conversation, status="declined", kind="cleared", strategy="clear", error="Too little.")
    (line,) = lines(browser)
    assert line.startswith("Not enough to clear")
    said = [words in line for words in ("Too little.", "Nothing was changed", "ailed", "0 result")]
    assert said == [True, False, False, False]
    assert not lines(browser, outcome="failed")
    assert lines(browser, outcome="declined") == [line]
    assert "<dt>Failed</dt><dd>0</dd>" in browser.get(reverse("condensations")).text
    say("user", "Where is the cut?")
    say("assistant", "At the colon.")
    too_little = {"status": "failed", "kind": "cleared", "fell_back_to": "fresh_start"}
    made = attempt(conversation, message=summarise(conversation, keep=1), at_seq=2)
    attempt(conversation, **too_little, at_seq=2, made_for=made)
    page = browser.get(reverse("condensations")).text
    assert page.count(f"/c/{conversation.pk}/?at=1#condensation-{made.pk}") == 1
    assert len(lines(browser)) == 2


@pytest.mark.parametrize(
    ("outcome", "fields"),
    [
        ("condensed", {}),
        ("cleared", {"kind": "cleared"}),
        ("undone", {"status": "undone", "kind": "cleared"}),
    ],
)
def test_each_outcome_is_a_link_that_shows_its_attempts_only(
    browser: Client, conversation: Conversation, outcome: str, fields: dict[str, str]
) -> None:
    """With their number; outcomes that never happened are left out."""
    attempt(conversation, **fields)
    attempt(conversation, status="failed", error="No answer.")
    page = browser.get(reverse("condensations")).text
    links = re.findall(r'<a href="/condensations/\?outcome=(\w+)"', page)
    assert sorted(links) == sorted([outcome, "failed"])
    assert len(lines(browser, outcome=outcome)) == 1
    none = browser.get(reverse("condensations"), {"outcome": "declined"}).text
    assert "None with this outcome" in none


def test_of_thousands_that_a_condensation_hid_a_page_is_listed(
    browser: Client, conversation: Conversation
) -> None:
    """And how many more there are, which come when they are asked for."""
    message = condense.Message("user", "Where is the **cut**?")
    append_many(conversation.pk, [(message, 1)] * (originals.ORIGINALS_PER_PAGE + 2))
    record = attempt(conversation, message=summarise(conversation))
    address = reverse("hidden", args=[conversation.pk, record.pk])
    part = browser.get(address).text
    assert part.count("<article") == originals.ORIGINALS_PER_PAGE
    assert re.search(r'dir="auto">Where is the cut\?\s*</span>', part)
    assert "<strong>cut</strong>" in part
    assert f"/c/{conversation.pk}/?at=1#message-1" in part
    assert "2 more<svg" in part
    (more,) = re.findall(rf'hx-get="{address}(\?from=\d+)"', part)
    rest = browser.get(address + more).text
    assert (rest.count("<article"), "more<" in rest, "Nothing is lost" in rest) == (2, False, False)


def test_a_rewind_goes_to_before_a_condensation(
    browser: Client, conversation: Conversation, say: Say, bob: User
) -> None:
    """One that left nothing is refused in words, and another conversation's is not found."""
    say("user", "Where is the cut?")
    record = attempt(conversation, message=summarise(conversation))
    browser.post(reverse("rewind_condensation", args=[conversation.pk, record.pk]))
    assert not Message.objects.get(seq=1).hidden
    failed = attempt(conversation, status="failed")
    address = reverse("rewind_condensation", args=[conversation.pk, failed.pk])
    assert browser.post(address, headers=HTMX).status_code == 422
    foreign = attempt(conversations.start_conversation(owner=bob))
    for pk in (foreign.pk, uuid.uuid4()):
        address = reverse("undo_condensation", args=[conversation.pk, pk])
        assert browser.post(address).status_code == 404
