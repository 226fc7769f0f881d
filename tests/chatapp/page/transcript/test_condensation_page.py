"""A condensation's own page: what decided, what was tried, called and paid, and what came of it."""

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

import condense
from chatapp.models import Condensation, Conversation, ModelCall, Profile
from chatapp.page.transcript import condensation_page
from chatapp.page.transcript.labels import AttemptWords
from tests.chatapp.claude import answered_by
from tests.chatapp.conftest import Say, summarise, use_tools
from tests.records import put_on_record

pytestmark = pytest.mark.django_db


def attempt_in(conversation: Conversation, **columns: Any) -> Condensation:
    """Put an attempt on record."""
    last = Conversation.objects.get(pk=conversation.pk).last_seq
    sizes = {"tokens_before": 172_340, "tokens_before_measured": True, "tokens_after": 9_120}
    usual = {"trigger": "auto", "at_seq": last, "finished_at": timezone.now(), **sizes}
    return put_on_record(conversation, **usual | columns)


def page_of(browser: Client, attempt: Condensation) -> str:
    """Return an attempt's page."""
    address = reverse("condensation", args=[attempt.conversation_id, attempt.pk])
    return browser.get(address).text


def test_the_decision_is_told_with_its_numbers(
    conversation: Conversation, say: Say, browser: Client
) -> None:
    """How much of what was allowed, and how far it is from the condensation before."""
    say("user", "Begin")
    first = attempt_in(conversation, message=summarise(conversation))
    for number in range(12):
        say("user", f"Message {number}.")
    # Its call is a message, and what the tool answered is none.
    use_tools(conversation, 1)
    second = attempt_in(conversation, tokens_before=23_120)
    assert "172,340 of 171,808 tokens allowed (100%)" in page_of(browser, first)
    assert "since the condensation before" not in page_of(browser, first)
    told = "13 messages since the condensation before, 7% of the window"
    assert told in page_of(browser, second)


@pytest.mark.parametrize(
    ("kind", "hidden", "words"),
    [
        ("condensed", 2, "Condensed 2 messages"),
        ("truncated", 1, "1 message hidden"),
        ("truncated", 0, "Context truncated"),
        ("cleared", 2, "Tool output cleared"),
    ],
)
def test_a_headline_has_the_messages_that_are_hidden(kind: str, hidden: int, words: str) -> None:
    """A clearing hides none, whatever its record counts."""
    made = Condensation(kind=kind, messages_hidden=hidden)
    assert AttemptWords(made).headline == words


def test_every_rung_is_told_with_its_outcome(
    conversation: Conversation, say: Say, browser: Client
) -> None:
    """What failed first, and what was made instead, each leading to its own page."""
    say("user", "Begin")
    failure = {"status": "failed", "tokens_after": None, "error": "The model gave no summary."}
    failed = attempt_in(conversation, **failure, fell_back_to="ledger")
    made = attempt_in(conversation, strategy="ledger", message=summarise(conversation), at_seq=1)
    Condensation.objects.filter(pk=failed.pk).update(made_for=made)
    for one in (failed, made):
        page = page_of(browser, one)
        assert "The model gave no summary." in page
        for other in (failed, made):
            assert reverse("condensation", args=[conversation.pk, other.pk]) in page


def test_its_cost_is_told_by_part(conversation: Conversation, browser: Client) -> None:
    """Where today's prices give what was billed; else only the whole is known."""
    profile = Profile.objects.get(pk=conversation.profile_id)
    profile.price_input, profile.price_output = Decimal(4), Decimal(20)
    profile.save()
    usage = condense.Usage(input=100_000, output=1_000)
    names = {"profile_name": profile.name, "model": profile.model}
    attempt = attempt_in(conversation, cost=profile.cost_of(usage), **names)
    figures = {"tokens_input": usage.input, "tokens_output": usage.output}
    times = {"seconds": 8.4, "seconds_to_first": 1.5}
    ModelCall.objects.create(
        conversation=conversation,
        condensation=attempt,
        purpose="summary",
        **figures,
        **times,
        **names,
    )
    parts = condensation_page.read_record(attempt).spent
    assert [part.cost for part in parts] == [Decimal("0.4"), 0, 0, Decimal("0.02")]
    page = page_of(browser, attempt)
    for said in ("100,000", "$0.40", "$0.02", "1.5 s", "8.4 s"):
        assert said in page
    attempt.cost = Decimal(1)
    assert {part.cost for part in condensation_page.read_record(attempt).spent} == {None}


def test_what_a_profile_saved_keeps_its_price_though_its_path_became_a_short_name(
    alice: User,
) -> None:
    """Its records have the path, which is the model's name."""
    path = "/models/Qwen3-8B-Q4_K_M.gguf"
    answered_by(alice, "openai", path, "http://localhost:9", price_input=2)
    net = condensation_page.net_of(alice, {"saved_by": {path: 1_000_000}, "cost": Decimal(1)})
    assert (net.worth, net.left, net.tokens_unpriced) == (2, 1, 0)
