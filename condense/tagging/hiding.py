"""Hide messages behind a summary or a truncation marker; undo brings them back."""

import math
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from condense.boundaries import nearest_cut, safe_cuts, unread_tail
from condense.errors import NothingToCondense, UndoRefused, UnknownMessage
from condense.messages import Message, Tags
from condense.tagging.history import InForce, effective_history

TRUNCATION_TEXT = "[Sliding window truncation: {count} messages hidden to reduce context]"


@dataclass(frozen=True, slots=True)
class Truncation:
    """A history after a truncation, its marker, and the ids the marker hides.

    Without a marker nothing was hidden, and ``messages`` is the object that was given.
    """

    messages: Sequence[Message]
    marker: Message | None
    hidden: tuple[str, ...]


def hide_behind(
    messages: Sequence[Message], hidden: Collection[str], summary: Message
) -> tuple[Message, ...]:
    """Return the history with ``summary`` standing after the last message it hides.

    Only effective messages are hidden. The summary gets that last message's position and, where
    it has no ``seq`` yet, the next one. Raises UnknownMessage for an id that is not here, and
    NothingToCondense when none of them is effective.
    """
    ids = frozenset(hidden)
    if unknown := ids - {message.id for message in messages}:
        raise UnknownMessage(f"No message {min(unknown)!r} is in this history.")
    effective = effective_history(messages)
    targets = {message.id for message in effective if message.id in ids}
    if not targets:
        raise NothingToCondense("None of the messages to hide is visible to the model.")
    summaries = InForce.of(messages).summaries

    def tagged(message: Message) -> Message:
        if message.id not in targets or message.tags.condense_parent in summaries:
            return message
        return message.with_tags(condense_parent=summary.tags.condense_id)

    return _insert_after(tuple(map(tagged, messages)), targets, summary, _ids(effective))


def plan_truncation(effective: Sequence[Message], fraction: float = 0.5) -> tuple[Message, ...]:
    """Return which messages of an effective history a truncation would hide.

    The first one always stays. Of the rest an even number is hidden, at most ``fraction`` of
    them; then the cut moves to the nearest place that splits no tool call from its result, but
    not into what the model has not read.
    """
    raw = math.floor((len(effective) - 1) * fraction)
    count = min(raw - raw % 2, len(effective) - 1)
    if count <= 0:
        return ()
    cuts = safe_cuts(effective)
    start = next(cut for cut in cuts if cut >= 1)
    high = max(1 + count, unread_tail(effective))
    end = nearest_cut(cuts, 1 + count, low=start + 1, high=high)
    return () if end is None else tuple(effective[start:end])


def truncate(messages: Sequence[Message], fraction: float = 0.5) -> Truncation:
    """Hide part of the effective history behind a marker that says how many messages."""
    effective = effective_history(messages)
    hidden = tuple(message.id for message in plan_truncation(effective, fraction))
    if not hidden:
        return Truncation(messages, None, ())
    targets, truncation_id = set(hidden), uuid.uuid4().hex
    tagged = tuple(
        message.with_tags(truncation_parent=truncation_id) if message.id in targets else message
        for message in messages
    )
    text = TRUNCATION_TEXT.format(count=len(hidden))
    marker = Message(role="user", content=text, tags=Tags(truncation_id=truncation_id))
    result = _insert_after(tagged, targets, marker, _ids(effective))
    marker = next(message for message in result if message.id == marker.id)
    return Truncation(result, marker, hidden)


def undo(messages: Sequence[Message], made_id: str) -> tuple[Message, ...]:
    """Take back the condensation or truncation ``made_id``; what it hid is visible again.

    Raises UnknownMessage when nothing here has that id, and UndoRefused when it was already
    taken back or when something later that is in force hides its summary or marker.
    """
    made = next(
        (m for m in messages if made_id in (m.tags.condense_id, m.tags.truncation_id)), None
    )
    if made is None:
        raise UnknownMessage(f"No condensation or truncation {made_id!r} is in this history.")
    if not made.in_force:
        raise UndoRefused("This condensation or truncation has already been taken back.")
    if InForce.of(messages).hide(made):
        raise UndoRefused("A later condensation or truncation hides this one: undo that one first.")
    return tuple(_without(message, made_id, undone=message is made) for message in messages)


def _without(message: Message, made_id: str, *, undone: bool) -> Message:
    tags = message.tags
    if undone:
        return message.with_tags(undone=True)
    if tags.condense_parent == made_id:
        message = message.with_tags(condense_parent=None)
    if tags.truncation_parent == made_id:
        message = message.with_tags(truncation_parent=None)
    return message


def _ids(effective: Sequence[Message]) -> frozenset[str]:
    return frozenset(message.id for message in effective)


def _insert_after(
    messages: tuple[Message, ...], targets: Collection[str], made: Message, seen: frozenset[str]
) -> tuple[Message, ...]:
    last = max(index for index, message in enumerate(messages) if message.id in targets)
    seq = made.seq or max(message.seq for message in messages) + 1
    made = replace(made, seq=seq, position=messages[last].order[0])
    index = last + 1
    while index < len(messages) and _stands_before(messages[index], made, seen):
        index += 1
    return (*messages[:index], made, *messages[index:])


def _stands_before(message: Message, made: Message, seen: frozenset[str]) -> bool:
    """Whether an older summary or marker, out of sight, shares the new one's position."""
    engine_made = message.is_summary or message.is_truncation_marker
    return engine_made and message.id not in seen and message.order < made.order
