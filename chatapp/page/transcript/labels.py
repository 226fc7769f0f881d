"""Words of the transcript: names and explanations of attempts, turns, rewinds and versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.utils.functional import Promise
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy

import condense
from chatapp.condensing.attempt_log import BROKEN_PROMISE, REFUSED_PROMISE
from chatapp.conversations.context.sizes import CondensingPoint
from chatapp.models import Condensation, ModelCall, Rewind, Turn
from chatapp.models.rewinds import Hiding
from chatapp.page.markdown import render_markdown
from chatapp.page.transcript.receipt_labels import FactGroup, fact_groups, facts_kept
from chatapp.page.transcript.summary_parts import SummaryPart, summary_parts
from chatapp.project.languages import in_words
from chatapp.project.sentences import in_a_row
from chatapp.project.sentences import translate as _
from chatapp.providers.call_errors import is_of_profile

CHOSEN_MESSAGES, CHOSEN_RESULT = "chosen_messages", "chosen_result"
FROM_ORIGINALS = "from_originals"
OF_A_PART = frozenset({CHOSEN_MESSAGES, CHOSEN_RESULT, FROM_ORIGINALS})
KEY_FACTS = "ledger"  # the strategy that asks no model for a summary
LONGEST_REASON = 60  # characters of one in a line
# A validator's refusal of a summary, now and in version 0.1.0.
_REFUSED = (condense.SUMMARY_REFUSED, condense.noop("The summary was rejected: {issue}"))
_ENDS = frozenset(".!?…。！？।؟")


@dataclass(frozen=True, slots=True)
class KindWords:
    """The words for a kind of attempt: its row, its undo, its icon and its meaning."""

    name: str
    undo: str
    icon: str
    hidden: str


def kind_words(kind: str, strategy: str = "") -> KindWords:
    """Return the words for a kind of attempt."""
    match kind:
        case Condensation.Kind.CLEARED if strategy == CHOSEN_RESULT:
            hidden = _("Condensed; the model sees a summary instead of this output.")
            return KindWords(_("Tool output condensed"), _("Undo condensation"), "clear", hidden)
        case Condensation.Kind.TRUNCATED:
            hidden = _("Hidden by a truncation; the model does not see it.")
            return KindWords(_("Context truncated"), _("Undo truncation"), "cut", hidden)
        case Condensation.Kind.CLEARED:
            hidden = _("Cleared; the model sees one line instead of this output.")
            return KindWords(_("Tool output cleared"), _("Undo clearing"), "clear", hidden)
    hidden = _("Hidden by a condensation; the model sees its summary instead.")
    return KindWords(_("Context condensed"), _("Undo condensation"), "fold", hidden)


@dataclass(frozen=True)
class AttemptWords:
    """The words of the page about an attempt, the same at every place."""

    attempt: Condensation

    @property
    def name(self) -> str:
        """The name of its outcome, or of an attempt that runs."""
        return outcome_name(self.attempt.kind, self.attempt.status)

    @property
    def icon(self) -> str:
        """The icon of its kind, or that of a failure."""
        failed = self.attempt.status == Condensation.Status.FAILED
        return "alert" if failed else kind_words(self.attempt.kind).icon

    @property
    def at(self) -> str:
        """The place of its row in the chat, or of the message after which it was made."""
        made = self.attempt.message
        return f"{made.position}.{made.seq}" if made else str(self.attempt.at_seq)

    @property
    def trigger_text(self) -> str:
        """Its trigger, with the number that decided."""
        match self.attempt.trigger:
            case Condensation.Trigger.MANUAL:
                return _("by you")
            case Condensation.Trigger.FORCED:
                return _("the provider said the prompt was too long")
            case Condensation.Trigger.AHEAD:
                return _("automatic, drafted in the background")
            case Condensation.Trigger.IDLE:
                return _("while idle, before the provider's cache expired")
        limit = CondensingPoint.of_attempt(self.attempt).at
        if self.attempt.kind == Condensation.Kind.TRUNCATED:
            return _("limit of {limit:,} tokens reached", limit=limit)
        return _("automatic · limit of {limit:,} tokens reached", limit=limit)

    @property
    def refused_for(self) -> str:
        """The reason of the rule that refused the model's summary, "" without one."""
        return refusal_in(self.attempt.error)

    @cached_property
    def refused_html(self) -> str:
        """The summary that a rule refused, as safe HTML."""
        text = self.attempt.details.partition("\n\n")[2] if self.refused_for else ""
        return render_markdown(text)

    @property
    def reason(self) -> str:
        """The reason of its failure; the record has the exact words."""
        return failure_words(self.attempt.error)

    @property
    def is_of_profile(self) -> bool:
        """The profile is at fault."""
        return is_of_profile(self.attempt.error)

    @cached_property
    def tries(self) -> Sequence["AttemptWords"]:
        """The tries that it replaced, except those without interest for people."""
        tried = self.attempt.tried
        return [AttemptWords(one) for one in tried if not is_unremarkable(one)]

    @property
    def how(self) -> str:
        """The change by a person, the failed try before it, or the lack of a model, if any."""
        if condense.EDITED in self.attempt.notes:
            return _("changed in review")
        if not self.tries:
            made_alone = self.attempt.message_id and self.attempt.strategy == KEY_FACTS
            return _("without a model") if made_alone else ""
        made, refused = self.attempt, next((one for one in self.tries if one.refused_for), None)
        why = _("the first attempt failed")
        if refused:
            short = Truncator(refused.refused_for).chars(LONGEST_REASON)
            why = _("the model's summary was refused: {reason}", reason=short)
            if made.summary and refused.attempt.details.endswith(f"\n\n{made.summary}"):
                return _("the refused summary, as you chose")
        if made.kind == Condensation.Kind.CONDENSED and not made.prompt:
            return _("without a model ({why})", why=why)
        return f"({why})" if made.message_id else ""

    @property
    def briefly(self) -> str:
        """The same without its reason, for a line that has to hold its figures too."""
        if self.attempt.prompt or not self.tries:
            return self.how
        refused = any(one.refused_for for one in self.tries)
        return _("summary refused") if refused else _("without a model")

    @property
    def rated(self) -> str:
        """The rating of the summary, "" without one."""
        if self.attempt.rating is None:
            return ""
        is_good, words = self.attempt.rating == Condensation.Rating.GOOD, self.attempt.rating_words
        if not words:
            return _("You found it good") if is_good else _("You found it bad")
        said = _("You found it good: {words}", words=words)
        return said if is_good else _("You found it bad: {words}", words=words)

    @property
    def broken_promise(self) -> str:
        """The reason that it did not wait, "" unless the user had put it off."""
        return self._noted(BROKEN_PROMISE, REFUSED_PROMISE)

    @property
    def hidden_text(self) -> str:
        """The counts of hidden messages and results, "" without any."""
        if self.attempt.kind == Condensation.Kind.CLEARED:
            count = self.attempt.results_hidden
            return cleared_words(count) if count else ""
        hidden = seen_words(self.attempt)
        return hidden and _("{what} hidden", what=hidden)

    @property
    def also_hidden(self) -> str:
        """The counts of everything hidden, "" if the headline has them."""
        more = self.attempt.results_hidden or self.attempt.condensations_hidden
        return self.hidden_text if more else ""

    @property
    def headline(self) -> str:
        """Its action and the number of messages; its name if it hid none."""
        attempt, count = self.attempt, self.attempt.messages_hidden
        if attempt.kind == Condensation.Kind.CLEARED or not count:
            return kind_words(attempt.kind, attempt.strategy).name
        if attempt.kind == Condensation.Kind.TRUNCATED:
            return _("{count:,} message hidden", "{count:,} messages hidden", count=count)
        return _("Condensed {count:,} message", "Condensed {count:,} messages", count=count)

    @property
    def lacks_summary(self) -> str:
        """A sentence that it left no summary, with the known reason; "" if it left one."""
        if self.attempt.kind != Condensation.Kind.TRUNCATED:
            return ""
        known = self._noted(condense.AUTOMATIC_OFF, condense.WINDOW_SMALL)
        return known or in_words(condense.noop("Without a summary"))

    def _noted(self, *templates: str) -> str:
        """Return its note of one of these templates, "" without one."""
        notes = self.attempt.notes
        found = [one for one in notes if condense.templates_in(one)[0] in templates]
        return in_words(found[0]) if found else ""

    @property
    def pins_kept(self) -> str:
        """The number of pinned messages that it kept word for word, "" without any."""
        count = sum(one.pins for one in self.reads)
        one, several = (
            "{count:,} pinned message kept word for word",
            "{count:,} pinned messages kept word for word",
        )
        return _(one, several, count=count) if count else ""

    @property
    def saved_percent(self) -> float | None:
        """The share of tokens it saved in percent, None if it saved none."""
        if self.attempt.tokens_after is None or not self.attempt.tokens_before:
            return None
        return 100 * (1 - self.attempt.tokens_after / self.attempt.tokens_before)

    @cached_property
    def reads(self) -> Sequence[SummaryPart]:
        """The parts that the model reads in place of the hidden messages."""
        return summary_parts(self.attempt)

    @cached_property
    def analysis_html(self) -> str:
        """The model's scratch work as safe HTML."""
        return render_markdown(self.attempt.analysis)

    @property
    def prompt_html(self) -> str:
        """The instruction that asked for the summary as safe HTML."""
        return render_markdown(self.attempt.prompt)

    @property
    def panels(self) -> list[str]:
        """The names of its large parts, which a page asks for when somebody looks at one."""
        receipt, attempt = self.attempt.receipt, self.attempt
        held = {"facts": receipt.findings, "folded": attempt.folded, "prompt": attempt.prompt}
        return [name for name, value in held.items() if value]

    @cached_property
    def facts(self) -> Sequence[FactGroup]:
        """Its receipt."""
        return fact_groups(self.attempt.receipt)

    @property
    def facts_kept(self) -> str:
        """The count of facts by verdict, in a sentence."""
        return facts_kept(self.attempt.receipt)

    @cached_property
    def folded(self) -> condense.Folded | None:
        """The files that were read, as they were folded."""
        return self.attempt.read_folded()


def refusal_in(error: str) -> str:
    """Return the reason of a validator that refused a summary, "" if the error is another."""
    return _value_in(error, "issue", _REFUSED)


def failure_words(error: str) -> str:
    """Return the reason of an attempt's failure for people, as a whole sentence."""
    said = _value_in(error, "error", (condense.CALL_FAILED,)) or in_words(error)
    if refusal := refusal_in(error):
        said = _("The model's summary was refused: {reason}", reason=refusal)
    return said if not said or said[-1] in _ENDS else f"{said}."


def _value_in(sentence: str, name: str, templates: Sequence[str]) -> str:
    """Return a value of a sentence of these templates in the reader's language, else ""."""
    if not isinstance(sentence, condense.Sentence) or sentence.template not in templates:
        return ""
    return in_words(sentence.values.get(name, ""))


def outcome_name(kind: str, status: str) -> str:
    """Return the outcome of an attempt of a ``kind``, in words."""
    clearing = kind == Condensation.Kind.CLEARED
    declined = _("Not enough to clear") if clearing else _("Not condensed")
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
    """Return True for an attempt without a row: it hid nothing, and nobody has to act on it."""
    # There was too little to clear, or to do without being asked: then the row of the next rung, or
    # that of the turn, names the outcome. And a draft in the background was in nobody's way.
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
    names = {one.name: in_words(one.label) for one in condense.known_strategies()}
    names |= {CHOSEN_MESSAGES: _("chosen messages"), CHOSEN_RESULT: _("chosen tool output")}
    names[FROM_ORIGINALS] = _("from all originals")
    return names.get(strategy) or in_words(strategy.rpartition(".")[2])


def seen_words(counted: Hiding) -> str:
    """Return the hidden counts in words: "7 messages, 6 tool results"."""
    words = []
    if count := counted.messages_hidden:
        words.append(_("{count:,} message", "{count:,} messages", count=count))
    if count := counted.results_hidden:
        words.append(_("{count:,} tool result", "{count:,} tool results", count=count))
    if count := counted.condensations_hidden:
        words.append(_("{count:,} condensation", "{count:,} condensations", count=count))
    return in_a_row(words)


def cleared_words(count: int) -> str:
    """Return the number of cleared results in words."""
    return _("{count:,} result cleared", "{count:,} results cleared", count=count)


def instead_text(other: Condensation | None) -> str:
    """Return a sentence on the attempt that replaced a failed one, None being none."""
    if other is None:
        return _("Nothing was changed.")
    hidden, how = AttemptWords(other).hidden_text, strategy_name(other.strategy)
    if other.kind == Condensation.Kind.TRUNCATED:
        return _("Truncated instead: {hidden}.", hidden=hidden)
    return _("Condensed instead ({strategy}): {hidden}.", strategy=how, hidden=hidden)


def turn_name(turn: Turn) -> str:
    """Return the end of a turn without a complete answer, in words."""
    names = {Turn.Status.FAILED: _("Turn failed"), Turn.Status.INTERRUPTED: _("Interrupted")}
    return names.get(Turn.Status(turn.status), _("Stopped"))


# The end of an answer, by the reason why it stopped; "" where there is nothing to say.
_CUT_TEXTS: Mapping[str, str | Promise] = {
    **dict.fromkeys(("", "end_turn", "tool_use", "stop_sequence", "pause_turn", "compaction"), ""),
    # The row of its turn says so.
    "declined": "",
    "max_tokens": gettext_lazy("The answer reached its longest allowed length here."),
    "model_context_window_exceeded": gettext_lazy("The context window was full here."),
    "stopped": gettext_lazy("Stopped here."),
    "error": gettext_lazy("The answer broke off here."),
    "interrupted": gettext_lazy("The answer was interrupted here."),
}


def cut_text(reason: str) -> str:
    """Return the sentence for a stop reason of an answer that is not whole, else ""."""
    if (known := _CUT_TEXTS.get(reason)) is None:
        return _("The provider ended the answer here: {reason}", reason=reason)
    return str(known)


def cache_miss(call: ModelCall) -> str:
    """Return the reason of a cache miss with its tokens, "" if none is known."""
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
    return _("{tokens:,}: {why}", tokens=call.tokens_missed, why=said)


def rewind_name(rewind: Rewind, versions: int = 0) -> str:
    """Return a rewind's name; for a version, its number among all versions."""
    if rewind.cause == Rewind.Cause.REPLACED:
        return _("The client replaced its history")
    if rewind.version is not None and versions:
        return _("Version {number:,} of {count:,}", number=rewind.version, count=versions)
    retried = rewind.cause == Rewind.Cause.RETRIED
    return _("Set aside to try again") if retried else _("Rewound")
