"""Triggers, reasons and outcomes in words."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

import condense
from chatapp.conversations.rewind import Preview
from chatapp.formats import number
from chatapp.models import Condensation, ModelCall, Rewind, Turn
from chatapp.models.turns import Hiding

CHOSEN_MESSAGES, CHOSEN_RESULT = "chosen_messages", "chosen_result"
FROM_ORIGINALS = "from_originals"
OF_A_PART = frozenset({CHOSEN_MESSAGES, CHOSEN_RESULT, FROM_ORIGINALS})


def trigger_text(attempt: Condensation) -> str:
    """Say who or what asked for an attempt, with the numbers that decided."""
    words = {
        Condensation.Trigger.MANUAL: _("by you"),
        Condensation.Trigger.FORCED: _("the provider said the prompt was too long"),
        Condensation.Trigger.AHEAD: _("automatic, drafted in the background"),
        Condensation.Trigger.IDLE: _("while idle, before the provider's cache expired"),
    }
    if told := words.get(Condensation.Trigger(attempt.trigger)):
        return told
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


def kind_words(kind: str, strategy: str = "") -> KindWords:
    """Return the words for a kind of attempt."""
    match kind:
        case Condensation.Kind.CLEARED if strategy == CHOSEN_RESULT:
            hidden = _("Condensed; the model sees a summary instead of this output.")
            name = _("Tool output condensed")
            return KindWords(name, _("Undo condensation"), "clear", hidden)
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
    clearing = kind == Condensation.Kind.CLEARED
    declined = _("Not enough to clear") if clearing else _("Nothing to condense")
    names = {
        Condensation.Outcome.RUNNING: _("Condensing context…"),
        Condensation.Outcome.CANCELLED: _("Condensation cancelled"),
        Condensation.Outcome.DECLINED: declined,
        Condensation.Outcome.FAILED: _("Condensation failed"),
        Condensation.Outcome.DRAFTED: _("Summary drafted"),
        Condensation.Outcome.UNUSED: _("Draft not used"),
    }
    return names.get(Condensation.Outcome.of(kind, status), kind_words(kind).name)


def is_unremarkable(attempt: Condensation) -> bool:
    """Whether an attempt has no row: it came to nothing, and nobody has to act on it.

    There was too little to clear, or to do without being asked: then the row of the next rung, or
    that of the turn, says what came of it. And a draft in the background was in nobody's way.
    """
    if attempt.message_id or attempt.status == Condensation.Status.SUCCEEDED:
        return False
    if attempt.trigger == Condensation.Trigger.AHEAD and attempt.turn_id is None:
        return True
    unasked = attempt.trigger != Condensation.Trigger.MANUAL
    declined = attempt.status == Condensation.Status.DECLINED
    clears = attempt.kind == Condensation.Kind.CLEARED and attempt.scope is None
    return clears or (declined and unasked)


def strategy_name(strategy: str) -> str:
    """Return a strategy in words; one of the server's own by the end of its dotted path."""
    names = {one.name: _(one.label) for one in condense.known_strategies()}
    names |= {CHOSEN_MESSAGES: _("chosen messages"), CHOSEN_RESULT: _("chosen tool output")}
    names[FROM_ORIGINALS] = _("from all originals")
    return names.get(strategy, strategy.rpartition(".")[2])


def seen_words(counted: Hiding | Preview) -> str:
    """Say how much was hidden, as people see it: "7 messages, 6 tool results"."""
    messages, results = counted.messages_hidden, counted.results_hidden
    condensations = counted.condensations_hidden
    parts = [
        (messages, ngettext("%s message", "%s messages", messages)),
        (results, ngettext("%s tool result", "%s tool results", results)),
        (condensations, ngettext("%s condensation", "%s condensations", condensations)),
    ]
    return ", ".join(words % number(count) for count, words in parts if count)


def cleared_words(count: int) -> str:
    """Say how many results were cleared."""
    return ngettext("%s result cleared", "%s results cleared", count) % number(count)


def hidden_text(attempt: Condensation) -> str:
    """Say how much an attempt hid."""
    if attempt.kind == Condensation.Kind.CLEARED:
        return cleared_words(attempt.results_hidden) if attempt.results_hidden else ""
    hidden = seen_words(attempt)
    return hidden and _("%s hidden") % hidden


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
    if other.kind == Condensation.Kind.TRUNCATED:
        text = _("Truncated instead: %(hidden)s.")
    else:
        text = _("Condensed instead (%(strategy)s): %(hidden)s.")
    return text % {"hidden": hidden_text(other), "strategy": strategy_name(other.strategy)}


def turn_name(turn: Turn) -> str:
    """Return how a turn ended that has no answer, or none that says so."""
    match turn.status:
        case Turn.Status.FAILED:
            return _("Turn failed")
        case Turn.Status.INTERRUPTED:
            return _("Interrupted")
    return _("Stopped")


def turn_reason(turn: Turn) -> str:
    """Say why a turn has no answer."""
    return turn.error or _("You stopped it here.")


def cut_text(stop_reason: str) -> str:
    """Say at the end of an answer that it is not whole, "" where it is."""
    match stop_reason:
        case "max_tokens":
            return _("The answer reached its longest allowed length here.")
        case "model_context_window_exceeded":
            return _("The context window was full here.")
        case "stopped":
            return _("Stopped here.")
        case "error":
            return _("The answer broke off here.")
        case "interrupted":
            return _("The answer was interrupted here.")
    return ""


def cache_miss(call: ModelCall) -> str:
    """Say why a prompt could not be read from the provider's cache, "" where nothing is known."""
    why = {
        "model_changed": _("the model changed"),
        "system_changed": _("the system prompt changed"),
        "tools_changed": _("the tools changed"),
        "messages_changed": _("earlier messages changed"),
        "previous_message_not_found": _("the provider has forgotten the call before"),
        "unavailable": _("the provider does not say why"),
    }
    said: str = why.get(call.cache_miss) or call.cache_miss
    if not said or call.tokens_missed is None:
        return said
    return _("%(tokens)s: %(why)s") % {"tokens": number(call.tokens_missed), "why": said}


def version_name(shown: int, count: int) -> str:
    """Name a version of a message or an answer by its number."""
    return _("Version %(number)s of %(count)s") % {"number": number(shown), "count": number(count)}


def rewind_name(rewind: Rewind) -> str:
    """Name a rewind that set no version aside."""
    if rewind.cause == Rewind.Cause.RETRIED:
        return _("Set aside to try again")
    return _("Rewound")
