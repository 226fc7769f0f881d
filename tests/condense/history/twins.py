"""Truncations and rewinds of a history in memory, as the application makes them of stored rows."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from condense.errors import UndoRefused, UnknownMessage
from condense.history.effective_history import InForce, effective_history
from condense.history.tags import TRUNCATION_TEXT, hide_behind, parent_tags, plan_truncation
from condense.messages import Message, Tags, retagged


@dataclass(frozen=True, slots=True)
class Truncation:
    """A history after a truncation, its marker, and the ids the marker hides.

    Without a marker nothing was hidden, and ``messages`` is the object that was given.
    """

    messages: Sequence[Message]
    marker: Message | None
    hidden: tuple[str, ...]


def truncate(messages: Sequence[Message], fraction: float = 0.5) -> Truncation:
    """Hide part of the effective history behind a marker with the number of messages."""
    effective = effective_history(messages)
    hidden = tuple([message.id for message in plan_truncation(effective, fraction)])
    if not hidden:
        return Truncation(messages, None, ())
    text = TRUNCATION_TEXT.format(count=len(hidden))
    marker = Message(role="user", content=text, tags=Tags(truncation_id=uuid.uuid4().hex))
    result = hide_behind(messages, hidden, marker)
    marker = next(message for message in result if message.id == marker.id)
    return Truncation(result, marker, hidden)


def rewind(
    messages: Sequence[Message], to_id: str, *, rewind_id: str | None = None
) -> tuple[Message, ...]:
    """Return the history as before ``to_id`` was written; that and all later is hidden.

    "Later" goes by ``seq``: a summary written afterwards is rewound although it stands earlier, so
    the messages that it hid are visible again. Raises UnknownMessage when ``to_id`` is not in the
    history.
    """
    target = next((message for message in messages if message.id == to_id), None)
    if target is None:
        raise UnknownMessage(to_id)
    return retagged(
        messages,
        lambda m: m.seq >= target.seq and m.tags.rewind_parent is None,
        rewind_parent=rewind_id or uuid.uuid4().hex,
    )


def undo_rewind(messages: Sequence[Message], rewind_id: str) -> tuple[Message, ...]:
    """Show again the messages that a rewind hid, unless something was written since.

    Raises UnknownMessage when no message is hidden by it, and UndoRefused when a message, summary
    or marker that is not rewound itself is newer than all it hid.
    """
    hidden = {message.seq for message in messages if message.tags.rewind_parent == rewind_id}
    if not hidden:
        raise UnknownMessage(rewind_id)
    newest = max(hidden)
    if any(m.seq > newest and m.tags.rewind_parent is None for m in messages):
        raise UndoRefused("Something new was written after this rewind.")
    back = retagged(messages, lambda m: m.tags.rewind_parent == rewind_id, rewind_parent=None)
    again = [m for m in back if m.seq in hidden and m.in_force and m.tags.clear_id is None]
    for made in sorted(again, key=lambda message: message.seq):
        back = _name_again(back, made)
    return back


def _name_again(messages: tuple[Message, ...], made: Message) -> tuple[Message, ...]:
    """Tag the messages that ``made`` hid with its name again.

    A summary or marker that was written while ``made`` was rewound may have put its name there.
    """
    in_force, hides = InForce.of(messages), frozenset(made.tags.hides)

    def is_hidden(one: Message) -> bool:
        return one.id in hides and not (one.taken_back or in_force.hide(one))

    return retagged(messages, is_hidden, **parent_tags(made.tags))
