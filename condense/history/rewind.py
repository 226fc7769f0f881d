"""Go back to before a message was written, and forward again."""

import uuid
from collections.abc import Sequence

from condense.errors import UndoRefused, UnknownMessage
from condense.history.effective import InForce
from condense.messages import Message


def rewind(
    messages: Sequence[Message], to_id: str, *, rewind_id: str | None = None
) -> tuple[Message, ...]:
    """Return the history as before ``to_id`` was written; that and all later is hidden.

    "Later" goes by ``seq``: a summary written afterwards is rewound although it stands earlier,
    so what it hid is visible again. Raises UnknownMessage when ``to_id`` is not in the history.
    """
    target = next((message for message in messages if message.id == to_id), None)
    if target is None:
        raise UnknownMessage(f"No message {to_id!r} is in this history.")
    rewind_id = rewind_id or uuid.uuid4().hex

    def rewound(message: Message) -> Message:
        later = message.seq >= target.seq and message.tags.rewind_parent is None
        return message.with_tags(rewind_parent=rewind_id) if later else message

    return tuple(map(rewound, messages))


def undo_rewind(messages: Sequence[Message], rewind_id: str) -> tuple[Message, ...]:
    """Bring back what a rewind hid, as long as nothing has been written since.

    Raises UnknownMessage when no message is hidden by it, and UndoRefused when a message, summary
    or marker that is not rewound itself is newer than all it hid.
    """
    hidden = {message.seq for message in messages if message.tags.rewind_parent == rewind_id}
    if not hidden:
        raise UnknownMessage(f"No rewind {rewind_id!r} is in this history.")
    newest = max(hidden)
    if any(m.seq > newest and m.tags.rewind_parent is None for m in messages):
        raise UndoRefused("Something new was written after this rewind.")
    back = tuple(
        message.with_tags(rewind_parent=None)
        if message.tags.rewind_parent == rewind_id
        else message
        for message in messages
    )
    again = [m for m in back if m.seq in hidden and m.in_force and m.tags.clear_id is None]
    for made in sorted(again, key=lambda message: message.seq):
        back = _name_again(back, made)
    return back


def _name_again(messages: tuple[Message, ...], made: Message) -> tuple[Message, ...]:
    """Have ``made`` named by what it hid, where a summary or marker out of force took its place.

    That one was written while ``made`` was rewound.
    """
    name = "condense" if made.is_summary else "truncation"
    made_id = getattr(made.tags, f"{name}_id")
    in_force, hides = InForce.of(messages), frozenset(made.tags.hides)

    def named(message: Message) -> Message:
        is_shown = not (message.taken_back or in_force.hide(message))
        if is_shown and message.id in hides:
            return message.with_tags(**{f"{name}_parent": made_id})
        return message

    return tuple(map(named, messages))
