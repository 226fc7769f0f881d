"""What a user wants to spend is not gone beyond: a warning first, and then no call to a model."""

import asyncio
import uuid
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatapp.agent.errors import SpendingLimitReached
from chatapp.conversations import conversations
from chatapp.conversations.context import sizes
from chatapp.models import Condensation, Conversation, ModelCall, Preferences, Source, Turn, errors
from chatapp.models.spending import (
    LimitScope,
    Spending,
    Spent,
    check_spending,
    month_start,
    read_spending,
    spent_this_month,
    tell,
)
from tests.chatapp.scripted_turns import ask, end, regenerate, retry
from tests.chatapp.sockets import Page, open_page
from tests.chatapp.web.views.attempts import attempt
from tests.long_texts import filler
from tests.standin.behaviours import Gate, Reply, ToolCall
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

LONG = filler(3_750)
SUMMARY = "<analysis>Short.</analysis><summary>What was said.</summary>"


def spend(conversation: Conversation, cost: str | None, **columns: Any) -> ModelCall:
    """Store the record of a call that cost so much."""
    money = None if cost is None else Decimal(cost)
    return ModelCall.objects.create(
        conversation=conversation, purpose="chat", status="succeeded", cost=money, **columns
    )


def limit(conversation: Conversation, budget: str | None = None, month: str | None = None) -> None:
    """Let a conversation cost so much, or all of its owner's in a month."""
    Conversation.objects.filter(pk=conversation.pk).update(budget=budget)
    Preferences.objects.filter(owner=conversation.owner).update(month_budget=month)


limit_later = sync_to_async(limit)


def test_a_month_begins_at_midnight_of_its_first_day() -> None:
    """By UTC, wherever anybody is."""
    start = month_start()
    assert (start.day, start.hour, start.minute, start.second, start.microsecond) == (1, 0, 0, 0, 0)
    assert start.utcoffset() == timedelta(0)
    assert timedelta(0) <= timezone.now() - start < timedelta(days=31)


def test_a_conversation_and_a_month_are_summed_to_the_last_digit(
    conversation: Conversation, bob: User
) -> None:
    """Deleted ones count, other months and people do not; without a limit nothing is limited."""
    other = conversations.start_conversation(owner=conversation.owner)
    for cost in ("0.1", "0.2", "0.0000000001", None):
        spend(conversation, cost)
    spend(conversation, "5", created_at=month_start() - timedelta(seconds=1))
    spend(other, "7")
    conversations.delete_conversation(conversation=other)
    spend(conversations.start_conversation(owner=bob), "100")
    limit(conversation, "10", "20")
    here, month = read_spending(conversation.pk)
    assert here == Spending(
        scope=LimitScope.CONVERSATION, limit=Decimal(10), spent=Decimal("5.3000000001"), unpriced=1
    )
    assert month == Spending(
        scope=LimitScope.MONTH, limit=Decimal(20), spent=Decimal("7.3000000001"), unpriced=1
    )
    assert "The cost of 1 call is unknown" in tell(here)
    limit(conversation)
    spend(conversation, "1000000")
    check_spending(conversation.pk)
    assert read_spending(conversation.pk) == []


def test_what_came_with_an_import_was_not_spent_here(conversation: Conversation) -> None:
    """Not in this month; what was spent since is."""
    spend(conversation, "5")
    source = Source.objects.create(conversation=conversation, imported_at=timezone.now())
    spend(conversation, "3")
    limit(conversation, month="20")
    assert [one.spent for one in read_spending(conversation.pk)] == [3]
    assert spent_this_month([conversation.owner_id]) == {conversation.owner_id: Spent(Decimal(3))}
    source.delete()
    assert spent_this_month([conversation.owner_id]) == {conversation.owner_id: Spent(Decimal(8))}


def test_what_is_measured_estimated_and_unknown_is_told_apart(conversation: Conversation) -> None:
    """A sum with an unknown part is unknown; tokens are those of the whole prompt."""
    sizes = {"tokens_input": 1, "tokens_cache_read": 2, "tokens_cache_write": 4}
    spend(conversation, "1", tokens_output=8, seconds=3, seconds_to_first=1, **sizes)
    spend(conversation, "2", usage_measured=False)
    assert ModelCall.objects.spent() == {"cost": 3, "cost_measured": False}
    spend(conversation, None)
    (row,) = ModelCall.objects.costs_by("conversation")
    assert (row["calls"], row["tokens_in"], row["per_second"]) == (3, 7, 4)
    assert (row["measured"], row["estimated"], row["unpriced"]) == (1, 2, 1)
    assert ModelCall.objects.spent()["cost"] is None


def test_only_what_is_in_force_has_saved_tokens(conversation: Conversation) -> None:
    """All attempts are paid, and a sum of unknown costs is unknown.

    The list begins with what saved, or cost, most.
    """
    for cost, columns in ((1, {}), (2, {"status": "failed"}), (None, {"tokens_after": 1})):
        attempt(conversation, cost=cost, **columns)
    unknown = Condensation.objects.filter(cost=None)
    assert (unknown.totals()["cost"], unknown.totals()["cost_unknown"]) == (None, 1)
    totals = Condensation.objects.all().totals()
    assert (totals["attempts"], totals["in_force"], totals["tokens_saved"]) == (3, 2, 16_999)
    assert (totals["cost"], totals["cost_unknown"]) == (3, 1)
    for name, costs in (("saved", [None, 2, 1]), ("cost", [2, 1, None])):
        assert [one.cost for one in Condensation.objects.all().sorted_by(name)] == costs


@pytest.mark.parametrize(
    ("limit", "spent", "near", "over", "percent"),
    [(10, "7.99", 0, 0, 79), (10, "8", 1, 0, 80), (10, "10", 1, 1, 100), (0, "0", 1, 1, 100)],
)
def test_a_limit_is_near_from_80_percent_and_spent_at_100(
    limit: int, spent: str, near: bool, over: bool, percent: int
) -> None:
    """To the cent, and at once where it is nothing."""
    one = Spending(scope=LimitScope.MONTH, limit=Decimal(limit), spent=Decimal(spent))
    assert (one.is_near, one.is_over, one.percent) == (near, over, percent)


@pytest.mark.parametrize(
    ("limit", "spent", "said"),
    [
        ("10", "9.996", "$9.99 of $10.00"),
        ("10", "10.004", "$10.00 of $10.00"),
        ("0.05", "0.04996", "$0.0499 of $0.05"),
        ("0.05", "0.0496", "$0.0496 of $0.05"),
    ],
)
def test_what_is_left_of_a_limit_is_not_rounded_away(limit: str, spent: str, said: str) -> None:
    """Nobody is told that all is spent while turns go on."""
    one = Spending(scope=LimitScope.MONTH, limit=Decimal(limit), spent=Decimal(spent))
    assert said in tell(one)


Start = Callable[[Conversation], object]
STARTS: dict[str, Start] = {
    "send": ask,
    "retry": retry,
    "regenerate": lambda one: regenerate(one, 2),
}


@pytest.mark.parametrize(
    ("how", "budget", "month", "where"),
    [
        ("send", "1", None, "settings"),
        ("retry", None, "1", "Setti"),
        ("regenerate", "1", None, "settings"),
    ],
)
def test_no_turn_begins_once_a_limit_is_reached(
    conversation: Conversation, how: str, budget: str, month: str, where: str
) -> None:
    """It is refused with what to do, and nothing of it is stored."""
    end(ask(conversation), "Half an ans", stop_reason="error", status=Turn.Status.FAILED)
    spend(conversation, "1")
    limit(conversation, budget, month)
    with pytest.raises(errors.Refused, match=f"spent: .*1.00 of .*1.00.* raise it .*{where}"):
        STARTS[how](conversation)
    assert (conversation.turns.count(), conversation.messages.count()) == (1, 2)
    assert not conversation.rewinds.exists()
    limit(conversation, "2", "2")
    assert STARTS[how](conversation)


async def test_a_turn_stops_between_its_steps(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """What it has is kept, the row says what to do, and it goes on once there is more."""
    anthropic_standin.then(Reply("Look.", tools=[ToolCall("list_files")]), Reply("Done."))
    await limit_later(conversation, "0.01")
    await sync_to_async(spend)(conversation, "0.0099")
    await page.ask(LONG)
    assert len(anthropic_standin.requests) == 1
    turn = await Turn.objects.aget()
    assert turn.status == Turn.Status.STOPPED
    assert "The budget of this conversation is spent" in turn.error
    assert "is spent: $0.0" in page.frames[-1]["notice"]
    await page.send("turn.continue", nonce=str(uuid.uuid4()), seq=0)
    assert "raise it" in (await page.until("refused"))["reason"]
    await limit_later(conversation, "9")
    await page.send("turn.continue", nonce=str(uuid.uuid4()), seq=0)
    await page.until_idle()
    assert page.frames[-1]["notice"] == ""
    roles = [one.role async for one in conversation.messages.order_by("seq")]
    assert roles == ["user", "assistant", "user", "assistant"]
    assert len(anthropic_standin.requests) == 2


async def test_a_limit_where_none_was_holds_from_the_next_step(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """The turn that runs knows of it before it calls the model again, and its page shows it."""
    gate = Gate()
    first = Reply("Look.", tools=[ToolCall("list_files")], gate=gate)
    anthropic_standin.then(first, Reply("Done."))
    await sync_to_async(spend)(conversation, "1")
    await page.say("Hello.")
    assert await asyncio.to_thread(gate.wait_until_reached)
    await limit_later(conversation, None, "0.5")
    gate.open()
    await page.until_idle()
    assert "spent" in page.frames[-1]["notice"]
    turn = await Turn.objects.aget()
    assert (turn.status, "is spent" in turn.error) == ("stopped", True)
    assert len(anthropic_standin.requests) == 1


async def test_a_call_that_is_under_way_counts_with_its_prompt(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """Others begin none beyond the limit meanwhile; in the end it counts as it was billed."""
    gate = Gate()
    anthropic_standin.then(Reply("Done.", hold=gate))
    await limit_later(conversation, "0.01")
    await page.say(LONG)
    assert await asyncio.to_thread(gate.wait_until_reached)
    running = await ModelCall.objects.aget()
    with pytest.raises(SpendingLimitReached):
        await sync_to_async(check_spending)(conversation.pk)
    gate.open()
    await page.until_idle()
    call = await ModelCall.objects.aget()
    assert (running.status, running.usage_measured, call.usage_measured) == ("running", False, True)
    assert 0 < (running.cost or 0) != call.cost


async def test_no_summary_is_asked_for_once_a_limit_is_reached(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """A condensation by hand says so and leaves nothing on record; without a model it goes on."""
    for text in ("The first answer.", "The second answer."):
        await sync_to_async(lambda text=text: end(ask(conversation, LONG), text))()
    await conversation.messages.filter(role="user").aupdate(tokens=3_750)
    await sync_to_async(spend)(conversation, "1")
    await limit_later(conversation, None, "1")
    await page.condense()
    assert "Your budget for this month is spent" in page.frames[-1]["notice"]
    assert not await Condensation.objects.aexists()
    await Preferences.objects.aupdate(strategy="ledger")
    await page.condense()
    assert (await Condensation.objects.aget()).status == "succeeded"
    assert anthropic_standin.requests == []


async def test_a_summary_in_parts_ends_where_the_limit_does(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """Nothing stands in for it: nothing is hidden, and the record says why."""
    await sync_to_async(conversation.profile.__class__.objects.update)(context_window=20_000)
    for number in range(12):
        await sync_to_async(lambda n=number: end(ask(conversation, f"{n} {LONG}"), "Yes."))()
    tokens = sizes.COUNTER.count(LONG)
    await conversation.messages.filter(role="user").aupdate(tokens=tokens)
    await limit_later(conversation, "0.01")
    anthropic_standin.then(*[Reply(SUMMARY)] * 9)
    await page.condense()
    attempt = await Condensation.objects.aget()
    assert (attempt.status, attempt.fell_back_to) == ("failed", "")
    assert "is spent" in attempt.error
    assert not await conversation.messages.filter(hidden=True).aexists()
    assert 0 < len(anthropic_standin.requests) < 9


async def test_no_title_is_asked_for_once_a_limit_is_reached(
    conversation: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """The answer took what was left, and the first words stay."""
    await Preferences.objects.aupdate(name_conversations=True)
    await limit_later(conversation, "0.01")
    await sync_to_async(spend)(conversation, "0.0099")
    anthropic_standin.then(Reply("Blue."), Reply("Colours"))
    async with open_page(conversation, alice) as page:
        await page.ask(LONG)
    async with open_page(conversation, alice):
        assert len(anthropic_standin.requests) == 1
    with pytest.raises(SpendingLimitReached):
        await sync_to_async(check_spending)(conversation.pk)


def test_limits_are_set_where_they_hold(
    conversation: Conversation, browser: Client, bob: User
) -> None:
    """In Settings and in a conversation's own; what is no amount is not taken."""
    page = reverse("tool_policies", args=[conversation.pk])
    for amount, stored in (("2.50", "2.50"), ("", None)):
        browser.post(page, {"budget": amount, "system_prompt": ""})
        budget = Conversation.objects.get(pk=conversation.pk).budget
        assert budget == (stored and Decimal(stored))
    for nonsense in ("0", "-1", "NaN", "1e30", "x"):
        browser.post(page, {"budget": nonsense, "system_prompt": ""})
        assert Conversation.objects.get(pk=conversation.pk).budget is None
    other = Client()
    other.force_login(bob)
    assert other.post(page, {"budget": "3"}).status_code == 404
    settings = {"threshold": 90, "step_limit": 5, "month_budget": "12"}
    assert browser.post(reverse("settings"), settings).status_code == 302
    assert Preferences.objects.get(owner=conversation.owner).month_budget == 12
    wrong = browser.post(reverse("settings"), settings | {"month_budget": "0"})
    assert wrong.status_code == 422
    assert "month_budget" in wrong.context["form"].errors
