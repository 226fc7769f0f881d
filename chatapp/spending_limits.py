"""Budgets in words: a warning before they are spent, and no call to a model after that."""

import uuid
from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatapp.agent.errors import BudgetSpent
from chatapp.context.turn_context import TurnSettings
from chatapp.models import budgets as spending
from chatapp.models.budgets import Scope, Spending
from chatapp.number_formats import money, number


def check_budget(conversation: uuid.UUID) -> None:
    """Raise BudgetSpent where no model may be called in a conversation any more."""
    _check(spending.read_spending(conversation))


def keep_to_budget(terms: TurnSettings) -> None:
    """Raise BudgetSpent where no model may be called on these terms any more.

    They take over the budgets as they are set now, also where none was set before.
    """
    _owner, *budgets = spending.read_budgets(terms.conversation.pk)
    terms.conversation.budget, terms.preferences.month_budget = budgets
    _check(spending_of(terms))


def _check(spent: Iterable[Spending]) -> None:
    for one in spent:
        if one.is_over:
            raise BudgetSpent(say(one))


def has_budget(terms: TurnSettings) -> bool:
    """Whether anything limits what a conversation may cost."""
    return terms.conversation.budget is not None or terms.preferences.month_budget is not None


def spending_of(terms: TurnSettings) -> list[Spending]:
    """Return what was spent of the budgets that a conversation's terms have."""
    return spending.spending_of(
        terms.conversation.pk,
        owner=terms.conversation.owner_id,
        budget=terms.conversation.budget,
        monthly=terms.preferences.month_budget,
    )


def say(one: Spending) -> str:
    """Say what was spent of a budget, and what to do once that is all of it."""
    return " ".join(filter(None, (_said(one) % _figures(one), _unknown(one))))


def _said(one: Spending) -> str:
    match one.scope, one.is_over:
        case Scope.CONVERSATION, True:
            return _(
                "The budget of this conversation is spent: %(spent)s of %(limit)s. No model is "
                "called until you raise it under “Tools and prompt”; or go on in another "
                "conversation."
            )
        case Scope.CONVERSATION, False:
            return _(
                "%(percent)s %% of this conversation's budget is spent: %(spent)s of %(limit)s."
            )
        case _scope, True:
            return _(
                "Your budget for this month is spent: %(spent)s of %(limit)s. No model is called "
                "until you raise it in Settings, or the next month begins."
            )
    return _("%(percent)s %% of your budget for this month is spent: %(spent)s of %(limit)s.")


def _figures(one: Spending) -> dict[str, str]:
    spent, limit = money(one.spent), money(one.limit)
    return {"percent": number(one.percent), "spent": spent, "limit": limit}


def _unknown(one: Spending) -> str:
    if not one.unpriced:
        return ""
    said = ngettext(
        "The cost of %(count)s call is unknown, and not in it.",
        "The cost of %(count)s calls is unknown, and not in it.",
        one.unpriced,
    )
    return said % {"count": number(one.unpriced)}
