"""Spending limits: a warning before they are reached, and no call to a model after that."""

import uuid
from collections.abc import Iterable

from chatapp.agent.errors import SpendingLimitReached
from chatapp.context.turn_context import TurnSettings
from chatapp.models import spending
from chatapp.models.spending import Scope, Spending
from chatapp.number_formats import money
from condense import noop


def check_spending(conversation: uuid.UUID) -> None:
    """Raise SpendingLimitReached where no model may be called in a conversation any more."""
    _check(spending.spending_of(conversation, _read_limits(conversation)))


def check_spending_of(terms: TurnSettings) -> None:
    """Raise SpendingLimitReached where no model may be called on these terms any more.

    They take over the limits as they are set now, also where none was set before.
    """
    conversation, preferences = terms.conversation, terms.preferences
    own = _read_limits(conversation.pk)
    conversation.budget, preferences.month_budget = own.limit, own.monthly
    preferences.allowance = own.allowance
    _check(spending_of(terms))


def _read_limits(conversation: uuid.UUID) -> spending.Limits:
    own = spending.read_limits(conversation)
    if own.is_closing:
        said = noop(
            "Your account is deactivated, or about to be deleted. Once it stays, you can go on."
        )
        raise SpendingLimitReached(said)
    return own


def _check(spent: Iterable[Spending]) -> None:
    for one in spent:
        if one.is_over:
            raise SpendingLimitReached(tell(one))


def has_spending_limit(terms: TurnSettings) -> bool:
    """Whether anything limits what a conversation may cost."""
    return any(one is not None for one in _limits_of(terms)[2:])


def spending_of(terms: TurnSettings) -> list[Spending]:
    """Return what was spent of the limits that a conversation's terms have."""
    return spending.spending_of(terms.conversation.pk, _limits_of(terms))


def _limits_of(terms: TurnSettings) -> spending.Limits:
    return spending.Limits(
        terms.conversation.owner_id,
        limit=terms.conversation.budget,
        monthly=terms.preferences.month_budget,
        allowance=terms.preferences.allowance,
    )


def tell(one: Spending) -> str:
    """Say in English what was spent of a limit, and what to do once that is all of it."""
    figures = {"percent": one.percent, "spent": money(one.spent), "limit": money(one.limit)}
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
        case Scope.CONVERSATION, True:
            return noop(
                "The budget of this conversation is spent: {spent} of {limit}. You can "
                "raise it in the conversation’s settings, or go on in another conversation."
            )
        case Scope.CONVERSATION, False:
            return noop("{percent:,} % of this conversation's budget is spent: {spent} of {limit}.")
        case Scope.ALLOWANCE, True:
            return noop(
                "Your budget for this month is spent: {spent} of {limit}. Ask an operator of "
                "this server for more, or wait for the next month."
            )
        case _scope, True:
            return noop(
                "Your budget for this month is spent: {spent} of {limit}. You can raise it "
                "in Settings, or wait for the next month."
            )
    return noop("{percent:,} % of your budget for this month is spent: {spent} of {limit}.")
