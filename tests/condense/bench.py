"""A condenser to try things on, with a scripted model and a log to look into."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from condense import (
    CompactionChunk,
    Condenser,
    Message,
    Plan,
    Reduction,
    TextChunk,
    Trigger,
    Usage,
    UsageChunk,
    Veto,
)
from condense.testing import RecordingLog, ScriptedSummarizer, WordCounter
from tests.condense.dialogues import chat, situation

# What a call reports that it used.
PAID = UsageChunk(Usage(input=7), Decimal("0.25"))
# What a provider answers that compacts a history itself.
SAID = "What was said."
COMPACTION = {"type": "compaction", "content": SAID, "signature": "sig", "tool_changes": []}
COMPACTED = (TextChunk(SAID), CompactionChunk(COMPACTION))
# A window of 26,000 words allows 23,300; talk(11) has 22,000 and talk(12) has 24,000.
WINDOW = 26_000


def talk(count: int, words: int = 2_000) -> list[Message]:
    """Return ``count`` messages by user and model in turn, of so many words each."""
    return chat(count, words)


async def veto(plan: Plan) -> Veto:
    """Stop every run."""
    return Veto(f"Not now, with {len(plan.situation.effective)} messages.")


class Bench:
    """A condenser with a scripted model and a log to look into."""

    def __init__(self, *replies: Any, **rest: Any) -> None:
        """Script the model's replies."""
        self.summarizer = ScriptedSummarizer(*replies)
        self.log = RecordingLog()
        summarizer = rest.pop("summarizer", self.summarizer)
        self.condenser = Condenser(summarizer, WordCounter(), log=self.log, **rest)

    async def fit(self, messages: Sequence[Message], **rest: Any) -> Reduction | None:
        """Fit a conversation, in a window of 26,000 words unless the test says otherwise."""
        return await self.condenser.fit(situation(messages, **{"window": WINDOW, **rest}))

    async def condense(self, messages: Sequence[Message], **rest: Any) -> Reduction:
        """Condense a conversation because somebody asked for it; fail where that made nothing."""
        made = await self.fit(messages, **{"trigger": Trigger.MANUAL, **rest})
        assert made is not None
        return made

    @property
    def calls(self) -> int:
        """How often the model was asked."""
        return len(self.summarizer.requests)

    @property
    def failures(self) -> list[tuple[type, str | None]]:
        """The failed attempts: what was raised, and what was tried next."""
        return [(type(error), following) for error, following in self.log.of("failed")]
