"""Sizes of a context, and at which one it is condensed.

They are measured by the provider, or estimated from earlier measurements.
"""

import functools
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from django.utils.translation import gettext_lazy as _

import condense
from chatapp.agent.events import ContextChanged
from chatapp.agent.ports import ToolSpec
from chatapp.conversations.context.turn_context import TurnSettings, budget_for, terms_with
from chatapp.models import Condensation, Conversation, Preferences, Profile, message_store
from chatapp.models.calls import measured_prompts
from chatapp.project.sentences import number, percent

# One for all: how far a model's own tokenizer is from it is learned from its reports.
COUNTER: condense.TokenCounter = condense.PromptCounter()


def warm_up() -> None:
    """Load the words that counting and condensing need in a thread, so that no turn waits for it.

    They take some 0.3 s.
    """
    threading.Thread(target=_load_words, name="vocabulary", daemon=True).start()


def _load_words() -> None:
    COUNTER.count("")
    condense.receipt([condense.Message("user", "always")], "")


class Overhead(NamedTuple):
    """Estimated tokens of the parts that every request repeats."""

    system: int
    tools: int


def overhead_of(terms: TurnSettings) -> Overhead:
    """Return the overhead of every request, as estimated for a provider's model."""
    tool_prompt = terms.profile.spec.tool_prompt_tokens
    return Overhead(_size_of(terms.system), _size_of(terms.tools) + tool_prompt)


@functools.lru_cache(maxsize=200)
def _size_of(repeated: str | tuple[ToolSpec, ...]) -> int:
    if isinstance(repeated, str):
        return COUNTER.count(repeated)
    return condense.count_tools([spec.to_api() for spec in repeated], COUNTER)


def sum_tokens(history: Sequence[condense.Message]) -> int:
    """Return the messages' estimates, as stored; only cleared results are counted here."""
    return condense.count_messages(history, COUNTER)


def room_in(conversation: Conversation) -> float:
    """Return the tokens that still fit into a request; infinite without a profile."""
    if (profile := conversation.answering) is None:
        return math.inf
    terms = terms_with(conversation, profile)
    size = Scale.read(terms).weigh(message_store.read_outline(conversation.pk)[0])
    return terms.budget().capacity - size.value


@dataclass(slots=True)
class Scale:
    """Weighs one conversation's context, from the provider's latest measurement."""

    overhead: int  # estimate of system prompt and tools, used if nothing was measured
    calibration: condense.Calibration = field(default_factory=condense.Calibration)
    measured_tokens: int | None = None  # of prompt, tools and messages to ``measured_seq``
    measured_seq: int = 0
    reply: str = ""  # the provider's name for the last one that its model wrote

    @classmethod
    def read(
        cls, terms: TurnSettings, prompts: Sequence[tuple[int, int, int, str]] | None = None
    ) -> "Scale":
        """Return the scale for a conversation as it is stored; ``prompts`` may be read before."""
        own, model = terms.conversation, terms.profile.model
        if prompts is None:
            prompts = measured_prompts(own.pk, model, condense.Calibration.MEMORY)
        calibration = condense.Calibration()
        for estimated, measured, media, _reply in reversed(prompts):
            calibration = calibration.observe(estimated, measured, media=media)
        return cls(
            sum(overhead_of(terms)),
            calibration,
            own.measured_tokens,
            own.measured_seq or 0,
            prompts[0][-1] if prompts else "",
        )

    def weigh(self, history: Sequence[condense.Message]) -> condense.TokenCount:
        """Return the context's size: the measured part plus estimates of the messages since."""
        if self.measured_tokens is None:
            media = condense.count_media(history)
            return self.calibration.apply(self.overhead + sum_tokens(history), media=media)
        newer = [message for message in history if message.seq > self.measured_seq]
        media = condense.count_media(newer)
        return self.calibration.extend(self.measured_tokens, sum_tokens(newer), media=media)

    def measure(self, tokens: int, seq: int) -> None:
        """Take the provider's word for the size up to message ``seq``."""
        self.measured_tokens, self.measured_seq = tokens, seq

    def observe(self, estimated: int, prompt: int, *, media: int) -> None:
        """Learn the difference between an estimate and the prompt that the provider measured."""
        self.calibration = self.calibration.observe(estimated, prompt, media=media)

    def forget(self) -> None:
        """Drop the measurement: the effective history has changed."""
        self.measured_tokens, self.measured_seq = None, 0


def hideable(
    history: Sequence[condense.Message], beyond: Mapping[str, int] | None = None
) -> tuple[Mapping[str, int] | None, bool]:
    """Count the messages that a condensation may hide, those ``beyond`` included.

    None if they are too few; the second value is True if the model has not said anything yet.
    """
    read = history[: condense.unread_tail(history)]
    try:
        condense.require_enough(history, read)
    except condense.NothingToCondense:
        return None, not any(one.is_summary for one in history)
    seen = message_store.count_seen(read)
    return {name: count + (beyond or {}).get(name, 0) for name, count in seen.items()}, False


def figures_of(
    terms: TurnSettings,
    history: Sequence[condense.Message],
    size: condense.TokenCount,
    beyond: Mapping[str, int] | None = None,
) -> ContextChanged:
    """Return the figures of a known context; it takes ``size``, with the messages ``beyond``."""
    budget, (hides, said_nothing) = terms.budget(history), hideable(history, beyond)
    system, tools = overhead_of(terms)
    return ContextChanged(
        tokens=size.value,
        measured=size.measured,
        system=system,
        tools=tools,
        messages=sum_tokens(history),
        summaries=sum_tokens([one for one in history if one.is_summary]),
        window=budget.window,
        max_output=budget.max_output,
        threshold=budget.threshold,
        threshold_source=budget.threshold_source,
        buffer=budget.buffer,
        hides=hides,
        said_nothing=said_nothing,
    )


# With the same names in braces a script fills them in; see templatetags/page.py.
CONDENSES = _("Condenses at {at} tokens ({percent})")
LATEST = _("Condenses at {at} tokens ({percent}): {reserved} reserved, {spare} for wrong estimates")
TRUNCATES = _("Truncates at {at} tokens ({percent}): automatic condensing is off")
# The owner of a threshold, by its resolver's source; an operator's resolver may give any.
SOURCES = {"profile": _("Profile"), "global": _("Settings"), "adaptive": _("Adapted")}


def source_label(source: str) -> str:
    """Return the source of a threshold, in words."""
    return str(SOURCES.get(source, _("Operator")))


@dataclass(frozen=True, slots=True)
class CondensingPoint:
    """The tokens ``at`` which a window is condensed, or truncated if nothing is automatic."""

    at: int
    window: int
    percent: float  # of the whole window
    automatic: bool = True
    reserved: int = 0  # for the reply, if no later point is possible
    spare: int = 0  # for estimates that are too low

    @classmethod
    def of_budget(cls, budget: condense.Budget, *, automatic: bool) -> Self:
        """Return the point for a budget: the user's percentage, or the longest possible request."""
        allowed = max(0, math.floor(budget.allowed))
        at = min(budget.condenses_at, allowed) if automatic else allowed
        kept = (budget.reserved, budget.capacity - allowed) if at == allowed else (0, 0)
        return cls(at, budget.window, budget.percent(at), automatic, *kept)

    @classmethod
    def of(cls, profile: Profile, preferences: Preferences) -> Self:
        """Return the point for a profile in a new conversation."""
        budget = budget_for(profile, preferences)
        return cls.of_budget(budget, automatic=preferences.auto_condense)

    @classmethod
    def of_attempt(cls, attempt: Condensation) -> Self:
        """Return the point that was in force for an attempt."""
        # The figures of an imported record may be anything.
        window, threshold = attempt.context_window or 1, min(max(0.0, attempt.threshold), 100.0)
        reserved = max(1, window - attempt.allowed)
        budget = condense.Budget(window, max_output=reserved, threshold=threshold, buffer=0)
        point = cls.of_budget(budget, automatic=True)
        # The parts of its buffer are not on record.
        return cls(point.at, window, point.percent)

    def __str__(self) -> str:
        """Return the point as a sentence, with numbers as the reader writes them."""
        said = str((LATEST if self.reserved else CONDENSES) if self.automatic else TRUNCATES)
        sizes = {name: number(getattr(self, name)) for name in ("at", "reserved", "spare")}
        return said.format(percent=percent(self.percent), **sizes)


def is_draft_near(terms: TurnSettings, tokens: int, budget: condense.Budget) -> bool:
    """Return True if a draft is wanted for a context of this size."""
    share = terms.preferences.draft_share / 100
    return tokens >= share * budget.condenses_at and wants_drafts(terms)


def wants_drafts(terms: TurnSettings) -> bool:
    """Return True if summaries are drafted: by the user's choice, or if that is free."""
    wanted, writer = terms.preferences, terms.writer
    if not wanted.auto_condense or wanted.clear_tool_output:
        return False
    if wanted.draft_ahead == Preferences.Drafting.FREE:
        is_free = writer.cost_of(condense.Usage(input=1, output=1)) == 0
        return is_free and not writer.spec.writes_at_once
    return wanted.draft_ahead == Preferences.Drafting.ALWAYS
