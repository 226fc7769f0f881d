"""Conversations to condense: a few words say how long they are and how they end."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from condense import (
    Budget,
    ImageBlock,
    Kit,
    Message,
    Reduction,
    Situation,
    Strategy,
    Summarizer,
    Tags,
    TextBlock,
    TokenCount,
    ToolResultBlock,
    ToolUseBlock,
    load_strategy,
)
from condense.testing import ScriptedSummarizer, WordCounter

WORDS = 200
IMAGE = ImageBlock({"type": "base64", "media_type": "image/png", "data": "AAAA"})
SUMMARY = Message("user", "## Conversation Summary\nS", tags=Tags(condense_id="c1"))


def numbered(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages as a stored conversation: ids m1, m2, … and seqs from 1."""
    return tuple(
        replace(message, id=f"m{seq}", seq=seq) for seq, message in enumerate(messages, start=1)
    )


def chat(count: int, words: int = WORDS) -> list[Message]:
    """Return ``count`` messages by user and model in turn, of so many words each."""
    roles = ("user", "assistant")
    return [Message(roles[i % 2], f"message{i + 1} " + "word " * (words - 1)) for i in range(count)]


def user(text: str) -> Message:
    """Return what the user says."""
    return Message("user", text)


def call(id_: str = "t1", path: str = "a.py") -> Message:
    """Return a reply that calls a tool."""
    blocks = (TextBlock("Let me look."), ToolUseBlock(id_, "read_file", {"path": path}))
    return Message("assistant", blocks)


def result(id_: str = "t1", text: str = "the file") -> Message:
    """Return what the tool answered."""
    return Message("user", (ToolResultBlock(id_, text),), tokens=len(text.split()) or None)


def situation(messages: Sequence[Message], *, window: int = 10_000, **rest: Any) -> Situation:
    """Return a situation with a window in words, 100 of them reserved for the reply."""
    effective = numbered(messages)
    counter = WordCounter()
    size = sum(message.tokens or counter.count(message.content) for message in effective)
    size += counter.count(rest.get("system", ""))
    budget = Budget(window=window, max_output=100, threshold=rest.pop("threshold", 50))
    known = {"effective": effective, "tokens": TokenCount(size), "budget": budget}
    return Situation(**{**known, **rest})


async def start_afresh(
    messages: Sequence[Message], summarizer: Summarizer | None = None, **rest: Any
) -> Reduction:
    """Return what a fresh start makes of a conversation; "S" is the summary if nobody says more."""
    return await reduce_with(load_strategy("fresh_start"), messages, summarizer, **rest)


async def reduce_with(
    strategy: Strategy,
    messages: Sequence[Message],
    summarizer: Summarizer | None = None,
    *,
    kit: Mapping[str, Any] | None = None,
    **rest: Any,
) -> Reduction:
    """Return what a strategy makes of a conversation; "S" is the summary if nobody says more."""
    model = summarizer or ScriptedSummarizer("S")
    made = Kit(**{"summarizer": model, "counter": WordCounter(), **(kit or {})})
    return await strategy.reduce(situation(messages, **rest), made)


def texts(message: Message) -> list[str]:
    """Return a message's texts, block by block."""
    return [block.text for block in message.blocks if isinstance(block, TextBlock)]


async def truncate(
    messages: Sequence[Message], strategy: Strategy | None = None, **rest: Any
) -> Reduction:
    """Return what a truncation makes of a conversation, with a model that may not be called."""
    budget = situation(messages, **rest).budget
    kit = {"is_enough": lambda made: made.tokens_after.value <= budget.allowed}
    strategy = strategy or load_strategy("sliding_window")
    return await reduce_with(strategy, messages, ScriptedSummarizer(), kit=kit, **rest)
