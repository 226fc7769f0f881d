"""What a model sees of a session at its end, and what is hidden behind what."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from condense.evaluation.recordings import Cut, Recording
from condense.evaluation.replay import Contender, Replay
from condense.history import effective_history, hide_behind
from condense.messages import Message, Tags, TextBlock, ToolResultBlock, ToolUseBlock
from condense.tokens import TokenCounter, count_messages

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
LINE = 100  # characters of a message in the list


def recorded_history(recording: Recording, counter: TokenCounter) -> tuple[Message, ...]:
    """Return the session with each recorded summary in place of what it hid."""
    history: tuple[Message, ...] = recording.messages
    for number, cut in enumerate(recording.cuts, start=1):
        text = cut.summary or "(The summary is not on record.)"
        summary = Message(
            role="user",
            content=text,
            id=f"S{number}",
            seq=cut.at,
            tags=Tags(condense_id=f"S{number}"),
            tokens=counter.count(text),
        )
        hidden = [message.id for message in effective_history(history) if message.seq <= cut.at]
        history = hide_behind(history, hidden, summary)
    return history


async def replayed_history(
    recording: Recording, cuts: Sequence[Cut], contender: Contender, counter: TokenCounter
) -> tuple[Message, ...]:
    """Return the session with what a strategy puts in place of what it hides."""
    history: tuple[Message, ...] = recording.messages
    async for step in Replay(contender, counter).run(recording, cuts):
        if made := step.reduction:
            placed = replace(made.message, seq=step.cut.at)
            # What only stood for the end of the session is in no history.
            hidden = {message.id for message in history}.intersection(made.hidden)
            history = hide_behind(history, hidden, placed)
    return history


def describe(history: Sequence[Message], counter: TokenCounter, *, full: bool) -> Iterator[str]:
    """Yield lines for a terminal: what is seen, then what is hidden and why."""
    seen = effective_history(history)
    visible = {message.id for message in seen}
    hidden = [message for message in history if message.id not in visible]
    labels = _labels(history)
    yield f"What a model sees: {len(seen)} messages, {count_messages(seen, counter):,} tokens"
    for message in seen:
        yield f"{labels[message.id]:>6}  {message.role:9}  {_told(message, full=full)}"
    yield ""
    yield f"Hidden: {len(hidden)} messages"
    for reason, group in groupby(hidden, lambda message: _reason(message, labels)):
        yield _stretch(list(group), reason, labels, counter)


def _labels(history: Sequence[Message]) -> dict[str, str]:
    """Return what to call each message and, by its tags, each summary (S1) and marker (T1, C1)."""
    labels: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for message in history:
        label, tags = str(message.seq), message.tags
        for letter, made in (
            ("S", tags.condense_id),
            ("T", tags.truncation_id),
            ("C", tags.clear_id),
        ):
            if made is not None:
                counts[letter] += 1
                label = labels[made] = f"{letter}{counts[letter]}"
        labels[message.id] = label
    return labels


def _told(message: Message, *, full: bool) -> str:
    # What a session holds may not steer the terminal.
    text = _CONTROL.sub("\ufffd", "\n".join(filter(None, map(_block, message.blocks))))
    if full:
        return text.replace("\n", f"\n{'':19}")
    flat = " ".join(text[: 4 * LINE].split())
    return flat if len(flat) <= LINE else f"{flat[:LINE]}…"


def _block(block: object) -> str:
    match block:
        case TextBlock(text):
            return text
        case ToolUseBlock(_, name, input_):
            return f"[calls {name}] {input_}"
        case ToolResultBlock(_, content, is_error):
            return f"[{'error' if is_error else 'result'}] {content or ''}"
        case _:
            return f"[{type(block).__name__}]"


def _reason(message: Message, labels: dict[str, str]) -> str:
    if parent := message.tags.condense_parent or message.tags.truncation_parent:
        return f"behind {labels.get(parent, parent)}"
    return "before the last summary"


def _stretch(
    messages: list[Message], reason: str, labels: dict[str, str], counter: TokenCounter
) -> str:
    first, last = labels[messages[0].id], labels[messages[-1].id]
    place = first if len(messages) == 1 else f"{first}-{last}"
    tokens = count_messages(messages, counter)
    return f"{place:>11}  {len(messages):5} messages  {tokens:9,} tokens  {reason}"
