"""The chart of a conversation's context over its turns, on its list of condensations."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.conversations import conversations
from chatapp.models import Conversation, ModelCall, Turn
from chatapp.page.inspector.size_history import STEPS, SizeHistory, draw_size_history
from tests.chatapp.web.views.attempts import attempt

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def call(
    turn: Turn, minute: int, tokens: int, *, purpose: str = "chat", measured: bool = True
) -> ModelCall:
    """Store the record of a call."""
    return ModelCall.objects.create(
        conversation=turn.conversation,
        usage_measured=measured,
        turn=turn,
        purpose=purpose,
        tokens_input=tokens - 100 if tokens else 0,
        tokens_cache_read=100 if tokens else 0,
        created_at=NOON + timedelta(minutes=minute),
    )


def turn_of(conversation: Conversation) -> Turn:
    """Store the record of a turn that is over."""
    return Turn.objects.create(conversation=conversation, finished_at=NOON)


def course_of(conversation: Conversation) -> SizeHistory:
    """Return the chart that there is."""
    course = draw_size_history(conversation)
    assert course
    return course


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("after", [True, False])
def test_a_drop_is_measured_where_both_its_sizes_are(
    conversation: Conversation, before: bool, after: bool
) -> None:
    """Otherwise an estimate is in it."""
    call(turn_of(conversation), 0, 9_000)
    figures = {"tokens_before_measured": before, "tokens_after_measured": after}
    attempt(conversation, started_at=NOON + timedelta(minutes=1), **figures)
    assert course_of(conversation).drops[0].moment.measured is (before and after)


def test_each_turn_is_a_step_and_each_condensation_a_drop(conversation: Conversation) -> None:
    """Also within a turn; calls that no provider measured, titles and summaries are none."""
    first, second = turn_of(conversation), turn_of(conversation)
    call(first, 0, 1_000)
    call(first, 1, 6_000)
    call(first, 2, 0)
    call(first, 2, 9_999, purpose="summary")
    call(second, 3, 9_000)
    attempt(conversation, started_at=NOON + timedelta(minutes=4))
    attempt(conversation, status="failed", tokens_after=None)
    call(second, 5, 2_000, measured=False)
    course = course_of(conversation)
    assert [one.moment.measured for one in course.turns] == [True, True, False]
    sizes = [(one.number, one.moment.before, one.moment.tokens) for one in course.steps]
    assert sizes == [(1, 6_000, 6_000), (2, 9_000, 9_000), (1, 9_000, 1_000), (2, 2_000, 2_000)]
    assert (course.most, course.drops) == (9_000, [course.steps[2]])
    assert course.drops[0].moment.saved == 8_000
    # Its limit was higher than all that was read.
    assert (course.limit, course.limit_y) == (10_400, 0)
    assert (round(course.drops[0].top), round(course.drops[0].y)) == (16, 108)


def test_a_long_conversation_shows_its_latest_steps(conversation: Conversation) -> None:
    """And says so; numbers that would lie on each other are left to the table."""
    for minute in range(STEPS + 5):
        attempt(conversation, started_at=NOON + timedelta(minutes=minute))
    course = course_of(conversation)
    assert (len(course.steps), course.cut, course.steps[-1].number) == (STEPS, True, STEPS + 5)
    assert 10 < sum(one.shown for one in course.steps) < 40


def test_the_chart_stands_over_the_list_of_one_conversation(
    browser: Client, conversation: Conversation, bob: User
) -> None:
    """With cost and saving of each drop in a table.

    Over that of all there is none, nor one of another person's, whoever knows its number.
    """
    address, query = reverse("condensations"), {"conversation": str(conversation.pk)}
    other = conversations.start_conversation(owner=conversation.owner)
    attempt(other)
    attempt(conversation, cost=Decimal("0.0123"))
    call(turn_of(conversation), 0, 5_000)
    page = browser.get(address, query).text
    assert page.count('<li class="attempt ') == 1
    assert page.count('class="size-history-drop"') == 1
    for cell in ("≈ 8,000", "$0.0123", "5,000"):
        assert f"<td>{cell}</td>" in page
    foreign = conversations.start_conversation(owner=bob, title="Bob's plans")
    attempt(foreign)
    for query in ({}, {"conversation": str(foreign.pk)}):
        page = browser.get(address, query).text
        assert "plans" not in page
        assert 'class="size-history"' not in page
