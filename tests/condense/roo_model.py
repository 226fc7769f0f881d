"""The recordings' stub model and token counter, as what the engine asks of its caller."""

import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import condense
from condense.testing import RecordingLog, ScriptedSummarizer
from tests.condense.roo import Case

PREFACE = f"{condense.load_prompt('summary_preface')}\n\n"
# Roo Code knows no ledger between summary and truncation.
ROOS_LADDER = ("fresh_start", "sliding_window")


class Recorded(Exception):
    """An error that the recorded model raised, with the attributes it had."""

    def __init__(self, descriptor: dict[str, Any]) -> None:
        """Read ``{"kind": "Error" | "string" | "object", …}``."""
        kind = descriptor.get("kind", "Error")
        texts = {"string": descriptor.get("value"), "object": "[object Object]"}
        super().__init__(texts.get(kind, descriptor.get("message")))
        for name in ("status", "code", "response", "body"):
            value = object() if descriptor.get(f"circular{name.title()}") else descriptor.get(name)
            setattr(self, name, value)


class RecordedModel(ScriptedSummarizer):
    """Plays a case's ``handler``, one stream per call, the last one again and again."""

    def __init__(self, handler: dict[str, Any] | None, *more: list[dict[str, Any]]) -> None:
        """Take the handler; ``more`` are the streams of further calls."""
        self.handler = handler or {"noCreateMessage": True}
        streams = [self.handler.get("stream", []), *more]
        replies = [[_chunk(one) for one in stream] for stream in streams]
        if "throwSync" in self.handler:
            replies = [[Recorded(self.handler["throwSync"])]]
        sees = bool(self.handler.get("supportsImages"))
        super().__init__(*replies, *replies[-1:] * 99, supports_images=sees)

    def stream(self, request: condense.SummaryRequest) -> AsyncIterator[condense.Chunk]:
        """Raise at once or yield the recorded chunks."""
        if self.handler.get("noCreateMessage"):
            raise AttributeError("createMessage")
        return super().stream(request)


def _chunk(data: dict[str, Any]) -> condense.Chunk | Exception:
    if data["type"] == "text":
        return condense.TextChunk(data["text"])
    if data["type"] == "error":
        return Recorded(data.get("error", data))
    used = condense.Usage(data.get("inputTokens", 0), data.get("outputTokens", 0))
    return condense.UsageChunk(used, Decimal(str(data.get("totalCost") or 0)))


class RecordedCounter:
    """Counts as the recordings do: a quarter of a text's characters, ten for other blocks.

    The engine's own words before a summary count nothing, since Roo has none there.
    """

    def count(self, content: condense.Content) -> int:
        """Return the tokens of all blocks."""
        blocks = condense.Message("user", content).blocks
        texts = [block.text for block in blocks if isinstance(block, condense.TextBlock)]
        bare = [text.replace(PREFACE, "").replace(PREFACE.strip(), "") for text in texts]
        return sum(math.ceil(len(text) / 4) for text in bare) + 10 * (len(blocks) - len(texts))


def share_tokens(effective: Sequence[condense.Message], total: int) -> tuple[condense.Message, ...]:
    """Return the messages with the sizes that the case says they have together.

    The recordings name a context's size freely; their messages are a few words each.
    """
    each = math.ceil(total / max(1, len(effective)))
    return tuple(replace(message, tokens=each) for message in effective)


def budget_of(
    window: int, max_output: int | None, threshold: float, own: dict[str, float], profile: str
) -> condense.Budget:
    """Return the budget of a case, whose profiles may have thresholds of their own."""
    everywhere = condense.Budget(window, max_output, threshold)
    return condense.with_threshold(everywhere, [condense.PerProfile(own)], profile=profile)


def condenser_of(model: ScriptedSummarizer, log: RecordingLog) -> condense.Condenser:
    """Return what condenses as Roo does, in windows that are smaller than any real one."""
    policy = condense.Policy(small_window=0)
    return condense.Condenser(model, RecordedCounter(), ROOS_LADDER, policy=policy, log=log)


def tools_of(case: Case) -> tuple[Any, ...]:
    """Return the tool specs that Roo would send along."""
    metadata = case["input"]["options"].get("metadata") or {}
    return tuple(metadata.get("tools") or ())


def said_by(message: condense.Message) -> list[str]:
    """Return a message's texts without the engine's own words, for comparison with Roo."""
    texts = [block.text.replace(PREFACE, "") for block in message.blocks if hasattr(block, "text")]
    return [text for text in texts if not text.startswith("## Newest Request")]
