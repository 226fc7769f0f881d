"""Triggers, reasons and outcomes in words."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

import condense
from chatapp.models import Condensation
from chatapp.rendering.numbers import number


def trigger_text(attempt: Condensation) -> str:
    """Say who or what asked for an attempt, with the numbers that decided."""
    match attempt.trigger:
        case Condensation.Trigger.MANUAL:
            return _("by you")
        case Condensation.Trigger.FORCED:
            return _("the provider said the prompt was too long")
    before = number(attempt.tokens_before)
    if attempt.tokens_before > attempt.allowed:
        return _("automatic: %(before)s > %(allowed)s allowed") % {
            "before": before,
            "allowed": number(attempt.allowed),
        }
    return _("automatic at %(threshold)s %%: %(before)s of %(window)s") % {
        "threshold": number(attempt.threshold),
        "before": before,
        "window": number(attempt.context_window),
    }


def saved_percent(attempt: Condensation) -> int | None:
    """Return the share of tokens an attempt saved, None where nothing was saved."""
    if attempt.tokens_after is None or not attempt.tokens_before:
        return None
    return round(100 * (1 - attempt.tokens_after / attempt.tokens_before))


@dataclass(frozen=True, slots=True)
class KindWords:
    """What a kind of attempt is called: its row, its undo, its icon, and what it means."""

    name: str
    undo: str
    icon: str
    hidden: str


def kind_words(kind: str) -> KindWords:
    """Return the words for a kind of attempt."""
    match kind:
        case Condensation.Kind.TRUNCATED:
            hidden = _("Hidden by a truncation; the model does not see it.")
            return KindWords(_("Context truncated"), _("Undo truncation"), "cut", hidden)
        case Condensation.Kind.CLEARED:
            hidden = _("Cleared; the model sees one line instead of this output.")
            return KindWords(_("Tool output cleared"), _("Undo clearing"), "clear", hidden)
    hidden = _("Hidden by a condensation; the model sees its summary instead.")
    return KindWords(_("Context condensed"), _("Undo condensation"), "fold", hidden)


def outcome_name(kind: str, status: str) -> str:
    """Return what an attempt of a ``kind`` came to, or that it runs."""
    match Condensation.Outcome.of(kind, status):
        case Condensation.Outcome.RUNNING:
            return _("Condensing context…")
        case Condensation.Outcome.CANCELLED:
            return _("Condensation cancelled")
        case Condensation.Outcome.INSUFFICIENT:
            return _("Not enough to clear")
        case Condensation.Outcome.FAILED:
            return _("Condensation failed")
    return kind_words(kind).name


def strategy_name(strategy: str) -> str:
    """Return a strategy in words; one of the server's own by the end of its dotted path."""
    names = {one.name: _(one.label) for one in condense.built_in_strategies()}
    return names.get(strategy, strategy.rpartition(".")[2])


def hidden_text(attempt: Condensation) -> str:
    """Say how much an attempt hid."""
    if attempt.kind == Condensation.Kind.CLEARED:
        text = ngettext(
            "%(count)s result cleared", "%(count)s results cleared", attempt.messages_hidden
        )
    else:
        text = ngettext(
            "%(count)s message hidden", "%(count)s messages hidden", attempt.messages_hidden
        )
    return text % {"count": number(attempt.messages_hidden)}


def _instead(other: Condensation) -> str:
    if other.kind == Condensation.Kind.TRUNCATED:
        return ngettext(
            "Truncated instead: %(count)s message hidden.",
            "Truncated instead: %(count)s messages hidden.",
            other.messages_hidden,
        )
    return ngettext(
        "Condensed instead (%(strategy)s): %(count)s message hidden.",
        "Condensed instead (%(strategy)s): %(count)s messages hidden.",
        other.messages_hidden,
    )


def made_instead(attempt: Condensation, followers: Iterable[Condensation]) -> Condensation | None:
    """Return what was made in place of a failed attempt, of what its conversation has."""
    for other in followers if attempt.fell_back_to else ():
        same_moment = other.at_seq == attempt.at_seq and other.started_at > attempt.started_at
        if same_moment and other.message_id:
            return other
    return None


def instead_text(other: Condensation | None) -> str:
    """Say what was made in place of a failed attempt, None being nothing."""
    if other is None:
        return _("Nothing was changed.")
    return _instead(other) % {
        "count": number(other.messages_hidden),
        "strategy": strategy_name(other.strategy),
    }
