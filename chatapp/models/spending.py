"""Spending: limits and costs of model calls, in a conversation and for its owner.

Warn at 80 % of a limit; refuse calls at 100 %.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_DOWN, Decimal
from enum import StrEnum
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Count, Q
from django.utils import timezone

from chatapp.agent.errors import SpendingLimitReached
from chatapp.models.calls import ModelCall
from chatapp.models.conversations import Conversation
from chatapp.models.database import SqlStatement, StatementFunction
from chatapp.models.fields import UsdSum
from chatapp.models.preferences import Preferences
from chatapp.project.sentences import SIGNIFICANT_DIGITS, money
from condense import noop

# From this share on pages say how much of a spending limit is spent.
NEAR = Decimal("0.8")


class LimitScope(StrEnum):
    """The scope of a spending limit."""

    CONVERSATION = "conversation"
    MONTH = "month"
    # For a month as well, and set by an operator.
    ALLOWANCE = "allowance"


_SUMS: dict[str, models.Aggregate] = {
    "spent": UsdSum("cost"),
    "guesses": Count("pk", filter=Q(usage_measured=False)),
    "unpriced": Count("pk", filter=Q(cost=None)),
}


@dataclass(frozen=True, slots=True)
class Spent:
    """The USD spent, and the numbers of calls that make it uncertain."""

    spent: Decimal = Decimal(0)
    guesses: int = 0  # not all of their usage was measured
    unpriced: int = 0  # their cost is unknown, and not in it

    @property
    def is_measured(self) -> bool:
        """True if no part of the USD is an estimate."""
        return not self.guesses


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending(Spent):
    """The USD spent under a limit.

    A call that is under way counts with its prompt alone, so the last one can go beyond the
    ``limit``.
    """

    scope: LimitScope
    limit: Decimal

    @property
    def percent(self) -> int:
        """The share that is spent, rounded down; all of a limit that is nothing."""
        return int(100 * self.spent / self.limit) if self.limit else 100

    @property
    def shown(self) -> Decimal:
        """``spent``, rounded down if it would read as all of the limit, and is not."""
        digit = Decimal(1).scaleb(min(-2, self.spent.adjusted() - SIGNIFICANT_DIGITS + 1))
        is_all = self.spent.quantize(digit) >= self.limit and not self.is_over
        return self.spent.quantize(digit, ROUND_DOWN) if is_all else self.spent

    @property
    def is_near(self) -> bool:
        """True from 80 % of the limit on."""
        return self.spent >= NEAR * self.limit

    @property
    def is_over(self) -> bool:
        """True once no call may begin any more."""
        return self.spent >= self.limit


class Limits(NamedTuple):
    """The limits of a conversation's cost, and of its owner's month, in USD."""

    owner: int
    is_closing: bool = False  # the owner's account is deactivated, or about to be deleted
    limit: Decimal | None = None
    monthly: Decimal | None = None
    allowance: Decimal | None = None  # set by operators

    @property
    def are_set(self) -> bool:
        """True if anything limits the conversation's cost."""
        return (self.limit, self.monthly, self.allowance) != (None, None, None)


def limits_of(
    conversation: Conversation, preferences: Preferences, *, is_closing: bool = False
) -> Limits:
    """Return the limits that a conversation and its owner's preferences have as they were read."""
    return Limits(
        conversation.owner_id,
        is_closing,
        limit=conversation.budget,
        monthly=preferences.month_budget,
        allowance=preferences.allowance,
    )


def read_spending(pk: uuid.UUID) -> list[Spending]:
    """Return the spending under each limit that holds in a conversation now."""
    return spending_of(pk, read_limits(pk))


@StatementFunction
def read_limits(pk: uuid.UUID) -> SqlStatement:
    """Return the limits of a conversation; each model call asks, and most have none."""
    sql = (
        "SELECT c.owner_id, d.user_id IS NOT NULL OR NOT u.is_active, "
        "c.budget IS NULL AND p.month_budget IS NULL AND p.allowance IS NULL "
        "FROM chatapp_conversation c JOIN auth_user u ON u.id = c.owner_id "
        "LEFT JOIN chatapp_deletion d ON d.user_id = c.owner_id "
        "LEFT JOIN chatapp_preferences p ON p.owner_id = c.owner_id WHERE c.id = %s"
    )

    def take(_columns: tuple[str, ...], rows: list[tuple[int, bool, bool]]) -> Limits:
        ((owner, is_closing, unlimited),) = rows
        if unlimited:
            return Limits(owner, bool(is_closing))
        own = "owner__preferences"
        columns = ("budget", f"{own}__month_budget", f"{own}__allowance")
        found = Conversation.objects.values_list(*columns).get(pk=pk)
        return Limits(owner, bool(is_closing), *found)

    return SqlStatement(sql, [pk], take)


def spending_of(pk: uuid.UUID, limits: Limits) -> list[Spending]:
    """Return the spending under each of a conversation's limits that is set.

    Calls of deleted content count, too.
    """
    if not limits.are_set:
        return []
    here, month = ModelCall.objects.filter(conversation=pk), _calls_this_month([limits.owner])
    all_ = (
        (LimitScope.CONVERSATION, limits.limit, here),
        (LimitScope.MONTH, limits.monthly, month),
        (LimitScope.ALLOWANCE, limits.allowance, month),
    )
    return [
        Spending(**calls.aggregate(**_SUMS), scope=scope, limit=limit)
        for scope, limit, calls in all_
        if limit is not None
    ]


def spent_this_month(owners: Sequence[int]) -> dict[int, Spent]:
    """Return the spending of each of these users this month, if they have called a model."""
    calls = _calls_this_month(owners).values("conversation__owner").order_by().annotate(**_SUMS)
    return {owner: Spent(*own) for owner, *own in calls.values_list("conversation__owner", *_SUMS)}


def _calls_this_month(owners: Sequence[int]) -> "models.QuerySet[ModelCall]":
    return ModelCall.objects.paid_by(owners).filter(created_at__gte=month_start())


def month_start() -> datetime:
    """Return when this month began, by UTC."""
    return timezone.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def check_spending_of(
    conversation: Conversation, preferences: Preferences, own: Limits | None = None
) -> None:
    """Raise SpendingLimitReached if no model may be called on these terms any more.

    The terms take over the limits as they are set now, also if none was set before.
    """
    own = own or read_limits(conversation.pk)
    conversation.budget, preferences.month_budget = own.limit, own.monthly
    preferences.allowance = own.allowance
    check_spending(conversation.pk, own)


def check_spending_by(owner: User) -> None:
    """Raise SpendingLimitReached if a user may call no model in any conversation any more."""
    own = getattr(owner, "preferences", None) or Preferences()
    limits = Limits(owner.pk, monthly=own.month_budget, allowance=own.allowance)
    check_spending(uuid.UUID(int=0), limits)


def check_spending(pk: uuid.UUID, limits: Limits | None = None) -> None:
    """Raise SpendingLimitReached if no model may be called in a conversation any more.

    It uses the given ``limits``, or reads them.
    """
    limits = limits or read_limits(pk)
    if limits.is_closing:
        said = noop(
            "Your account is deactivated, or about to be deleted. Once it stays, you can go on."
        )
        raise SpendingLimitReached(said)
    for one in spending_of(pk, limits):
        if one.is_over:
            raise SpendingLimitReached(tell(one))


def tell(one: Spending) -> str:
    """Return an English sentence on the spending under a limit, and on the way out at 100 %."""
    spent, limit = money(one.shown), money(one.limit)
    figures = {"percent": one.percent / 100, "spent": spent, "limit": limit}
    said = _words(one).format(**figures)
    if not one.unpriced:
        return said
    unknown = (
        noop("{reason} The cost of {count:,} call is unknown and not included.")
        if one.unpriced == 1
        else noop("{reason} The cost of {count:,} calls is unknown and not included.")
    )
    return unknown.format(reason=said, count=one.unpriced)


def _words(one: Spending) -> str:
    match one.scope, one.is_over:
        case LimitScope.CONVERSATION, True:
            return noop(
                "The budget of this conversation is spent: {spent} of {limit}. You can "
                "raise it in the conversation’s settings, or go on in another conversation."
            )
        case LimitScope.CONVERSATION, False:
            return noop("{percent:.0%} of this conversation's budget is spent: {spent} of {limit}.")
        case LimitScope.ALLOWANCE, True:
            return noop(
                "Your budget for this month is spent: {spent} of {limit}. Ask an operator of "
                "this server for more, or wait for the next month."
            )
        case _scope, True:
            return noop(
                "Your budget for this month is spent: {spent} of {limit}. You can raise it "
                "in Settings, or wait for the next month."
            )
    return noop("{percent:.0%} of your budget for this month is spent: {spent} of {limit}.")
