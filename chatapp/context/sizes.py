"""Sizes of a context: measured by the provider, or estimated from earlier measurements."""

import functools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import condense
from chatapp.agent.events import ContextChanged
from chatapp.agent.ports import ToolSpec
from chatapp.context.turn_context import TurnSettings, system_of
from chatapp.models import Conversation, Profile, message_store
from chatapp.models.calls import measured_prompts
from chatapp.providers import provider_spec
from chatapp.toolbox import toolbox

# One for all: how far a model's own tokenizer is from it is learned from its reports.
COUNTER: condense.TokenCounter = condense.PromptCounter()


def warm_up() -> None:
    """Begin to load the vocabulary, in a thread, so that no page and no turn waits for it."""
    threading.Thread(target=COUNTER.count, args=("",), name="vocabulary", daemon=True).start()


class Overhead(NamedTuple):
    """Estimated tokens of what every request repeats."""

    system: int
    tools: int


def overhead_of(conversation: Conversation, profile: Profile, system: str) -> Overhead:
    """Return the estimate of what every request repeats for a provider's model."""
    tools = toolbox.offered(conversation, profile)
    tool_prompt = provider_spec(profile.provider).tool_prompt_tokens
    return Overhead(_size_of(system), _size_of_tools(tools) + tool_prompt)


@functools.lru_cache(maxsize=100)
def _size_of(system: str) -> int:
    return COUNTER.count(system)


@functools.lru_cache(maxsize=100)
def _size_of_tools(tools: tuple[ToolSpec, ...]) -> int:
    return condense.count_tools([spec.to_api() for spec in tools], COUNTER)


def sum_tokens(history: Sequence[condense.Message]) -> int:
    """Return the messages' estimates, as stored; only what was cleared is counted here."""
    return condense.count_messages(history, COUNTER)


def context_size(
    conversation: Conversation, profile: Profile, history: Sequence[condense.Message]
) -> condense.TokenCount:
    """Return the size of ``history``, with system prompt and tools, for ``profile``."""
    return Scale.read(conversation, profile, system_of(conversation, profile)).weigh(history)


@dataclass(slots=True)
class Scale:
    """Weighs one conversation's context, from what the provider last measured of it.

    ``overhead`` is the estimate of system prompt and tools, used where nothing was measured;
    ``measured_tokens`` covers them and all messages up to ``measured_seq``; ``reply`` is the
    provider's name for the last reply that its model wrote.
    """

    overhead: int
    calibration: condense.Calibration = field(default_factory=condense.Calibration)
    measured_tokens: int | None = None
    measured_seq: int = 0
    reply: str = ""

    @classmethod
    def read(cls, conversation: Conversation, profile: Profile, system: str) -> "Scale":
        """Return the scale for what ``profile`` answers in a conversation as it is stored."""
        prompts = measured_prompts(conversation.pk, profile.model, condense.Calibration.MEMORY)
        calibration = condense.Calibration()
        for estimated, measured, media, _reply in reversed(prompts):
            calibration = calibration.observe(estimated, measured, media=media)
        return cls(
            sum(overhead_of(conversation, profile, system)),
            calibration,
            conversation.measured_tokens,
            conversation.measured_seq or 0,
            prompts[0][-1] if prompts else "",
        )

    def weigh(self, history: Sequence[condense.Message]) -> condense.TokenCount:
        """Return the context's size: what was measured plus estimates of what came since."""
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
        """Learn how far an estimate was from the prompt that the provider measured."""
        self.calibration = self.calibration.observe(estimated, prompt, media=media)

    def forget(self) -> None:
        """Drop what was measured: the model sees something else now."""
        self.measured_tokens, self.measured_seq = None, 0


def hideable(history: Sequence[condense.Message]) -> tuple[Mapping[str, int] | None, bool]:
    """Count what a condensation may hide of an effective history: what the model has read of it.

    None where that is too little, and then whether the model has not said anything yet.
    """
    read = history[: condense.unread_tail(history)]
    try:
        condense.require_enough(history, read)
    except condense.NothingToCondense:
        return None, not any(one.is_summary for one in history)
    return message_store.count_seen(read), False


def figures_of(
    terms: TurnSettings, history: Sequence[condense.Message], size: condense.TokenCount
) -> ContextChanged:
    """Return a context that is known, as figures; it takes ``size``."""
    budget, (hides, said_nothing) = terms.budget(history), hideable(history)
    system, tools = overhead_of(terms.conversation, terms.profile, terms.system)
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
