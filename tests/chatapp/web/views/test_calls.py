"""What calls sent, and what they cost by day, profile and conversation."""

import hashlib
from datetime import timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

import condense
from chatapp.conversations import conversations
from chatapp.models import Conversation, Message, ModelCall, Source, Turn
from chatapp.project.sentences import ZONE_COOKIE
from tests.chatapp.browsers import HTMX
from tests.chatapp.scripted_turns import ask, end, regenerate
from tests.chatapp.storage.recorded_session import Session


def call(conversation: Conversation, **changes: object) -> ModelCall:
    """Store the record of a call."""
    record = {"purpose": "chat", "profile_name": "Claude", "tokens_input": 100, "tokens_output": 5}
    return ModelCall.objects.create(conversation=conversation, **record | changes)


def test_costs_are_exact_and_estimates_and_unknown_ones_told_apart(
    browser: Client, conversation: Conversation
) -> None:
    """By profile, in all, and by conversation, the dearest first."""
    other = conversations.start_conversation(owner=conversation.owner, title="Dear")
    call(conversation, cost=Decimal("0.1"))
    call(conversation, cost=Decimal("0.0002"), usage_measured=False, purpose="summary")
    call(conversation, cost=None, profile_name="Own server")
    call(other, cost=Decimal("0.2"), profile_name="GPT")
    page = browser.get(reverse("costs"))
    totals = page.context["totals"]
    sums = (totals["calls"], totals["measured"], totals["estimated"], totals["unpriced"])
    assert sums == (4, Decimal("0.3"), Decimal("0.0002"), 1)
    claude, gpt, own = page.context["profiles"]
    assert (claude["measured"], claude["estimated"]) == (Decimal("0.1"), Decimal("0.0002"))
    assert (gpt["profile_name"], own["unpriced"], own["measured"]) == ("GPT", 1, None)
    assert [bool(one["is_measured"]) for one in (claude, gpt, own)] == [False, True, True]
    assert "<td>≈ 200</td>" in page.text
    titles = [one["title"] for one in page.context["conversations"]]
    assert titles == ["Dear", conversation.title]
    for words in ("≈ $0.0002", "$0.30", "1 call ", "Own server", "A cost is unknown if"):
        assert words in page.text


# At any moment, one of them has another date than UTC.
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
def test_the_latest_days_are_listed_by_the_reader_s_date(
    browser: Client, conversation: Conversation, zone: str
) -> None:
    """The newest first; what is older counts in the other tables."""
    now = timezone.now().astimezone(ZoneInfo(zone))
    browser.cookies[ZONE_COOKIE] = zone
    for days in (0, 1, 40):
        call(conversation, cost=Decimal(1), created_at=now - timedelta(days=days))
    page = browser.get(reverse("costs"))
    days = [one["day"] for one in page.context["days"]]
    assert days == [(now - timedelta(days=one)).date() for one in (0, 1)]
    assert page.context["totals"]["calls"] == 3


def test_what_was_spent_here_is_told_also_of_what_was_deleted(
    browser: Client, conversation: Conversation, bob: User
) -> None:
    """As budgets count it: without what others spent, and what was paid for before an import."""
    call(conversations.start_conversation(owner=bob), profile_name="Bob's own")
    imported = conversations.start_conversation(owner=conversation.owner)
    call(imported, cost=Decimal(4))
    Source.objects.create(conversation=imported, imported_at=timezone.now())
    assert "No model has been called yet." in browser.get(reverse("costs")).text
    call(imported, cost=Decimal(1))
    call(conversation, cost=Decimal(2))
    conversations.delete_conversation(conversation=conversation)
    page = browser.get(reverse("costs"))
    assert page.context["totals"]["measured"] == 3
    assert [one["conversation"] for one in page.context["conversations"]] == [imported.pk]


def test_a_conversation_s_costs_are_told_by_turn_and_by_branch(
    browser: Client, conversation: Conversation
) -> None:
    """What was set aside has cost what it has cost; what belongs to no turn is told apart.

    Each turn leads to its message, a condensation by hand to the one that was the newest then.
    """
    first = end(ask(conversation), "Blue.")
    answer = conversation.messages.get(seq=2)
    call(conversation, turn=first, message=answer, cost=Decimal("0.25"))
    again = regenerate(conversation, 2)
    call(conversation, turn=end(again, "Red."), cost=Decimal("0.5"))
    call(conversation, turn=again, cost=Decimal("0.125"), purpose="summary")
    call(conversation, cost=None, purpose="summary")
    by_hand = Turn.objects.create(conversation=conversation, origin="condensed", at_seq=3)
    call(conversation, turn=by_hand, cost=Decimal(0), purpose="summary")
    page = browser.get(reverse("conversation_costs", args=[conversation.pk]))
    turns = [(one["turn"], one["calls"], one["measured"]) for one in page.context["turns"]]
    told = [(again.pk, 2, Decimal("0.625")), (first.pk, 1, Decimal("0.25"))]
    assert turns == [(by_hand.pk, 1, 0), *told]
    assert [one["seq"] for one in page.context["turns"]] == [3, 1, 1]
    [now, aside, outside] = page.context["branches"]
    assert [one["measured"] for one in (now, aside)] == [Decimal("0.625"), Decimal("0.25")]
    assert (outside["outside"], outside["unpriced"]) == (True, 1)
    assert "$0<" not in page.text
    for words in ("Active", "Hidden: answered again", "Outside turns", "$0.62", "1 call "):
        assert words in page.text


def test_how_fast_models_wrote_is_told_where_calls_tell_it(
    browser: Client, conversation: Conversation
) -> None:
    """All that was written by all the time from the first word on; a call that broke off is in."""
    call(conversation, tokens_output=100, seconds=3, seconds_to_first=1)
    call(conversation, tokens_output=20, seconds=2, seconds_to_first=0)
    call(conversation, tokens_output=999, seconds=5)
    call(conversation, tokens_output=9, seconds=5, profile_name="Silent")
    shown = browser.get(reverse("costs")).context["profiles"]
    assert [one["per_second"] for one in shown] == [30, None]


def test_a_call_is_what_was_sent_byte_for_byte(conversation: Conversation, browser: Client) -> None:
    """The page says so and shows the hash; the file has the bytes.

    Whoever changed a message in the database is found out. No other conversation has the call.
    """
    session = Session(conversation)
    session.say("user", condense.TextBlock("Begin at the beginning"))
    sent = session.send()
    call = ModelCall.objects.latest("pk")
    address = reverse("call", args=[conversation.pk, call.pk])
    page = browser.get(address).text
    assert "Matches its hash" in page
    assert hashlib.sha256(sent.body).hexdigest() in page
    answer = browser.get(f"{address}request/")
    assert answer.content == sent.body
    assert answer["Content-Type"] == "application/json"
    assert answer["Content-Disposition"].startswith("attachment")
    rows = Message.objects.filter(conversation=conversation)
    content = rows.get().content
    rows.update(content=[{"type": "text", "text": "Begin at the end, please"}])
    page = browser.get(address).text
    rows.update(content=content)
    own = Conversation.objects.create(owner=conversation.owner)
    assert browser.get(reverse("call", args=[own.pk, call.pk])).status_code == 404
    assert "Does not match its hash" in page
    assert "Matches its hash" not in page


@pytest.mark.parametrize("name", ["inspector", "condensations", "audits"])
def test_a_link_that_htmx_follows_leads_to_a_whole_page(
    conversation: Conversation, browser: Client, name: str
) -> None:
    """It takes the place of the one before; the panel gets what the page has without the page."""
    address = reverse(name, args=[conversation.pk] if name == "inspector" else [])
    boosted = {"HX-Request": "true", "HX-Boosted": "true"}
    assert "<html" in browser.get(address, headers=boosted).text
    if name == "inspector":
        Session(conversation).say("user", condense.TextBlock("Begin"))
        part = browser.get(address, headers=HTMX).text
        assert "<html" not in part
        assert "The next request" in part
