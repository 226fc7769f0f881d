"""A long history against providers that do everything wrong: every run ends, nothing is lost."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from condense import (
    Budget,
    CannotFit,
    CondenseError,
    Condenser,
    Message,
    Reduction,
    Situation,
    TextBlock,
    TokenCount,
    ToolCallChunk,
    ToolResultBlock,
    ToolUseBlock,
    Trigger,
    effective_history,
    hide_behind,
    ladder_from,
    shape_request,
    undo,
)
from condense.summaries.writer import PARALLEL
from condense.testing import EchoSummarizer, RecordingLog, RepeatingSummarizer, WordCounter
from tests.condense.api_rules import assert_valid_request

MILLION = 1_000_000
WORDS = [80_000, pytest.param(MILLION, marks=pytest.mark.soak)]


class PromptTooLong(Exception):
    """What a provider raises whatever it is sent."""

    is_context_overflow = True


PROVIDERS: dict[str, Callable[[], Any]] = {
    "always fails": lambda: RepeatingSummarizer(OSError("no")),
    "returns nothing": lambda: RepeatingSummarizer(""),
    "returns its input": EchoSummarizer,
    "returns more than its input": lambda: EchoSummarizer(times=2),
    "calls tools": lambda: RepeatingSummarizer([ToolCallChunk("read")], caches_prompts=True),
    "claims overflow": lambda: RepeatingSummarizer(PromptTooLong(), caches_prompts=True),
    "says one word": lambda: RepeatingSummarizer("S"),
}
# Window and system prompt in words; in the last two nothing can ever fit.
PLACES = {
    "a usual window": (30_000, 1_000),
    "a narrow window": (12_000, 500),
    "a tiny window": (4_000, 500),
    "a system prompt beyond the window": (20_000, 30_000),
    "tiny, and beyond": (2_000, 3_000),
}
KINDS = st.lists(st.sampled_from(["talk", "tools", "reads"]), min_size=2, max_size=12)
SIZES = st.lists(st.integers(1, 1_000), min_size=12, max_size=12)


def conversation(kinds: list[str], sizes: list[int], words: int) -> tuple[Message, ...]:
    """Return turns that take so many words together, in the given proportions."""
    share = words / sum(size for _, size in zip(kinds, sizes, strict=False))
    made: list[Message] = []
    for number, (kind, size) in enumerate(zip(kinds, sizes, strict=False)):
        half = "word " * int(size * share / 2)
        if kind == "talk":
            made += [Message("user", half), Message("assistant", half)]
        elif kind == "tools":
            made += [Message("user", half), *reading(number, half)]
        else:
            made += [Message("user", "again"), *reading(number, half * 2)]
    made.append(Message("user", "go on"))
    return tuple(stored(message, seq) for seq, message in enumerate(made, start=1))


def reading(number: int, text: str) -> list[Message]:
    """Return a call that reads a file, its result, and a reply."""
    call = ToolUseBlock(f"c{number}", "read", {"path": "a.py"})
    result = ToolResultBlock(f"c{number}", text)
    return [
        Message("assistant", (TextBlock("on it"), call)),
        Message("user", (result,), tokens=len(text.split())),
        Message("assistant", "done"),
    ]


def stored(message: Message, seq: int) -> Message:
    """Return the message as a conversation keeps it: numbered, and counted once."""
    tokens = message.tokens or WordCounter().count(message.content)
    return replace(message, id=f"m{seq}", seq=seq, tokens=tokens)


class Agent:
    """Asks the condenser as the application does: before each call, and after each refusal."""

    def __init__(
        self,
        history: tuple[Message, ...],
        provider: Any,
        place: tuple[int, int],
        *,
        clear: bool = False,
    ) -> None:
        self.history = history
        self.window, self.system = place[0], "word " * place[1]
        self.provider, self.log = provider, RecordingLog()
        ladder = ladder_from("fresh_start", clear=clear)
        self.condenser = Condenser(provider, WordCounter(), ladder, log=self.log)
        self.condensed_at, self.may_ask = 0, True

    def situation(self, trigger: Trigger) -> Situation:
        """Return the conversation as it is now."""
        effective = effective_history(self.history)
        size = sum(m.tokens or WordCounter().count(m.content) for m in effective)
        return Situation(
            effective=effective,
            tokens=TokenCount(size + len(self.system.split())),
            budget=Budget(window=self.window, max_output=min(4_000, self.window // 5)),
            trigger=trigger,
            system=self.system,
            history=self.history,
            condensed_at=self.condensed_at,
            may_ask=self.may_ask,
        )

    async def turn(self) -> None:
        """Make one request, refused three times."""
        self.may_ask = True
        for trigger in (Trigger.AUTO, *[Trigger.FORCED] * 3):
            if not await self.fit(trigger):
                return

    async def fit(self, trigger: Trigger) -> bool:
        """Fit the context once, and check what came of it; false where the turn ends."""
        before, calls = self.situation(trigger), len(self.provider.requests)
        tried, since = len(self.log.of("started")), len(self.log.of("failed"))
        try:
            made = await self.condenser.fit(before)
        except CannotFit:
            made = None
        asked = len(self.provider.requests) - calls
        assert len(self.log.of("started")) - tried <= len(self.condenser.strategies)
        failed = [error for error, _ in self.log.of("failed")[since:] if error.calls]
        assert len(failed) <= 1, "after one failed model call there is no other"
        assert before.may_ask or not asked
        if failed:
            self.may_ask = False
        if asked:
            self.condensed_at = before.effective[-1].seq
        if made:
            self.apply(before, made)
        return made is not None

    def apply(self, before: Situation, made: Reduction) -> None:
        """Go on with the reduction; it is a tenth smaller, valid, and can be taken back."""
        known = {message.id: message.content for message in self.history}
        after = hide_behind(self.history, made.hidden, made.message)
        assert {m.id: m.content for m in after if m.id in known} == known
        seen = effective_history(after)
        was = sum(m.tokens or WordCounter().count(m.content) for m in before.effective)
        size = sum(m.tokens or WordCounter().count(m.content) for m in seen)
        assert size <= was * 0.9
        assert_valid_request([message.to_api() for message in shape_request(seen)])
        tags = made.message.tags
        back = undo(after, tags.condense_id or tags.truncation_id or tags.clear_id or "")
        assert [m.id for m in effective_history(back)] == [m.id for m in before.effective]
        self.history = after

    def say(self, words: int) -> None:
        """Add a reply and the user's next message."""
        numbers = itertools.count(max(message.seq for message in self.history) + 1)
        said = [Message("assistant", "done"), Message("user", "word " * words)]
        new = map(stored, said, numbers)
        self.history = (*self.history, *new)


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.sampled_from(sorted(PLACES)), kinds=KINDS, sizes=SIZES, clear=st.booleans())
async def test_a_long_history_ends_within_the_ladder(
    provider: Callable[[], Any],
    place: str,
    kinds: list[str],
    sizes: list[int],
    *,
    words: int,
    clear: bool,
) -> None:
    """Smaller, valid and undoable, or a reason; and the next turn does not start over."""
    agent = Agent(conversation(kinds, sizes, words), provider(), PLACES[place], clear=clear)
    await agent.turn()
    asked = len(agent.provider.requests)
    agent.say(words=1)
    agent.may_ask = True
    await agent.fit(Trigger.AUTO)
    assert len(agent.provider.requests) == asked, "too little has come to ask again"
    names = agent.log.names
    assert names[::2] == ["started"] * (len(names) // 2)
    assert set(names[1::2]) <= {"succeeded", "failed"}


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)
async def test_a_manual_run_over_a_million_tokens_ends_too(provider: Callable[[], Any]) -> None:
    """With a summary or with the reason; a failure costs a few calls at most."""
    agent = Agent(
        conversation(["talk", "tools"] * 3, [5, 9, 1] * 2, MILLION), provider(), (200_000, 1_000)
    )
    try:
        made = await agent.condenser.fit(agent.situation(Trigger.MANUAL))
    except CondenseError:
        assert len(agent.provider.requests) <= PARALLEL + 1
    else:
        assert made is not None
        agent.apply(agent.situation(Trigger.MANUAL), made)
