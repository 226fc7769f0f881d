"""What was spent, and since when it counts."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from chatapp.conversations import conversations
from chatapp.models import Conversation, ModelCall
from chatapp.models.budgets import Scope, month_start, spending_of

pytestmark = pytest.mark.django_db


def test_a_month_begins_at_midnight_of_its_first_day() -> None:
    """By UTC, wherever anybody is."""
    start = month_start()
    assert (start.day, start.hour, start.minute, start.second, start.microsecond) == (1, 0, 0, 0, 0)
    assert start.utcoffset() == timedelta(0)
    assert timedelta(0) <= timezone.now() - start < timedelta(days=31)


def test_a_month_has_what_its_owner_spent_since_it_began(
    conversation: Conversation, alice: User, bob: User
) -> None:
    """In all conversations, and not before, nor what somebody else spent."""
    others = [conversations.start_conversation(owner=owner) for owner in (alice, bob)]
    start = month_start()
    for where, at, cost in (
        (conversation, start, 1),
        (conversation, start - timedelta(microseconds=1), 10),
        (others[0], start, 100),
        (others[1], start, 1_000),
    ):
        call = ModelCall.objects.create(
            conversation=where, purpose="chat", model="m", cost=Decimal(cost)
        )
        ModelCall.objects.filter(pk=call.pk).update(created_at=at)
    budgets = {"budget": Decimal(20), "monthly": Decimal(200)}
    found = spending_of(conversation.pk, owner=alice.pk, **budgets)
    assert [(one.scope, one.spent, one.percent) for one in found] == [
        (Scope.CONVERSATION, 11, 55),
        (Scope.MONTH, 101, 50),
    ]
