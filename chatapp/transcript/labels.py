"""Triggers, reasons and outcomes in words."""

from dataclasses import dataclass

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatapp.models import Condensation


def number(value: float) -> str:
    """Return a whole number with the reader's separators."""
    return str(number_format(round(value), use_l10n=True, force_grouping=True))


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
    match status:
        case Condensation.Status.RUNNING:
            return _("Condensing context…")
        case Condensation.Status.CANCELLED:
            return _("Condensation cancelled")
        case Condensation.Status.FAILED if kind == Condensation.Kind.CLEARED:
            return _("Not enough to clear")
        case Condensation.Status.FAILED:
            return _("Condensation failed")
    return kind_words(kind).name


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
        "Condensed in another way instead: %(count)s message hidden.",
        "Condensed in another way instead: %(count)s messages hidden.",
        other.messages_hidden,
    )


def instead_text(attempt: Condensation, followers: list[Condensation]) -> str:
    """Say what happened in place of a failed attempt."""
    for other in followers:
        same_moment = other.at_seq == attempt.at_seq and other.started_at > attempt.started_at
        if same_moment and other.message_id:
            return _instead(other) % {"count": number(other.messages_hidden)}
    return _("Nothing was changed.")
