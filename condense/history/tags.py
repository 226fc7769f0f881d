"""Tags: hide messages behind a summary or marker, undo, redo, rewind, and come back."""

import math
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from condense.errors import NothingToCondense, RedoRefused, UndoRefused, UnknownMessage
from condense.history.boundaries import safe_cuts, unread_tail
from condense.history.effective_history import InForce, effective_history
from condense.history.signed_blocks import stop_sending_thinking
from condense.messages import Message, Tags, retagged
from condense.sentences import noop, say

TRUNCATION_TEXT = "[Sliding window truncation: {count} messages hidden to reduce context]"


@dataclass(frozen=True, slots=True)
class Truncation:
    """A history after a truncation, its marker, and the ids the marker hides."""

    messages: Sequence[Message]  # the given object if nothing was hidden
    marker: Message | None  # None if nothing was hidden
    hidden: tuple[str, ...]


def hide_behind(
    messages: Sequence[Message], hidden: Collection[str], made: Message
) -> tuple[Message, ...]:
    """Return the history with ``made``, a summary or marker, after the last message it hides.

    Only effective messages are hidden; messages that a clearing changes stay, with less in them.
    Thinking behind the first of them is not sent any more. ``made`` gets the last one's position
    and, if it has no ``seq`` yet, the next one. Raises UnknownMessage for an id that is not here,
    and NothingToCondense when none is effective.
    """
    ids = frozenset(hidden)
    if unknown := ids - {message.id for message in messages}:
        raise UnknownMessage(
            say("No message {message!r} is in this history.", message=min(unknown))
        )
    effective = effective_history(messages)
    there = tuple([message.id for message in effective if message.id in ids])
    if not there:
        raise NothingToCondense(noop("None of the messages to hide is visible to the model."))
    targets, made = frozenset(there), made.with_tags(hides=there)
    summaries = InForce.of(messages).summaries if made.is_summary else frozenset()

    def is_hidden(message: Message) -> bool:
        return message.id in targets and message.tags.condense_parent not in summaries

    first = next(message for message in effective if message.id in targets)
    sent = stop_sending_thinking(messages, lambda m: m.order > first.order and m.id not in targets)
    return _insert_after(retagged(sent, is_hidden, **_parent(made.tags)), targets, made)


def _parent(tags: Tags) -> dict[str, str]:
    """Return the tag that hides a message behind the summary or marker with ``tags``."""
    parents = {"condense_parent": tags.condense_id, "truncation_parent": tags.truncation_id}
    return {name: made_id for name, made_id in parents.items() if made_id is not None}


def plan_truncation(effective: Sequence[Message], fraction: float = 0.5) -> tuple[Message, ...]:
    """Return the messages of an effective history that a truncation would hide.

    The first one always stays. Of the rest an even number is hidden, at most ``fraction`` of them;
    then the cut moves to the nearest place that splits no tool call from its result, but not into
    messages that the model has not read.
    """
    raw = math.floor((len(effective) - 1) * fraction)
    count = min(raw - raw % 2, len(effective) - 1)
    if count <= 0:
        return ()
    cuts = safe_cuts(effective)
    start = next(cut for cut in cuts if cut >= 1)
    high = max(1 + count, unread_tail(effective))
    usable = [cut for cut in cuts if start < cut <= high]
    # The lower of two that are equally near.
    end = min(usable, key=lambda cut: (abs(cut - 1 - count), cut), default=start)
    return tuple(effective[start:end])


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


def undo(messages: Sequence[Message], made_id: str) -> tuple[Message, ...]:
    """Undo the condensation, truncation or clearing ``made_id``; show its messages again.

    Thinking that was written since is not sent any more. Raises UnknownMessage if nothing here has
    that id, and UndoRefused if it was already taken back or if something later that is in force
    hides its summary or marker.
    """
    made = _made(messages, made_id)
    if not made.in_force:
        raise UndoRefused(noop("This has already been taken back."))
    if InForce.of(messages).hide(made):
        raise UndoRefused(
            noop("A later condensation or truncation hides this one: undo that one first.")
        )
    back = retagged(messages, lambda m: m is made, undone=True)
    back = retagged(back, lambda m: m.tags.condense_parent == made_id, condense_parent=None)
    back = retagged(back, lambda m: m.tags.truncation_parent == made_id, truncation_parent=None)
    return stop_sending_thinking(back, lambda one: one.seq > made.seq)


def redo(messages: Sequence[Message], made_id: str) -> tuple[Message, ...]:
    """Redo an undone condensation, truncation or clearing; hide its messages again.

    Messages that were written since stay behind it. Raises UnknownMessage if nothing here has that
    id, and RedoRefused unless it was undone, all that it hid is visible again, and nothing else has
    come to stand between.
    """
    made = _made(messages, made_id)
    if not made.tags.undone or made.tags.rewind_parent is not None:
        raise RedoRefused(noop("Only what was undone can be redone."))
    hides, parent = frozenset(made.tags.hides), _parent(made.tags)
    visible = [message.id for message in effective_history(messages)]
    places = [place for place, id_ in enumerate(visible) if id_ in hides]
    span = places[-1] - places[0] + 1 if places and parent else len(places)
    if not places or not len(hides) == len(places) == span:
        raise RedoRefused(
            noop("Not all that it hid is visible, or something else stands there now.")
        )
    first = next(message for message in messages if message.id == visible[places[0]])
    sent = stop_sending_thinking(messages, lambda m: m.order > first.order and m.id not in hides)
    again = retagged(sent, lambda m: m.id == made.id, undone=False)
    return retagged(again, lambda m: m.id in hides, **parent)


def _made(messages: Sequence[Message], made_id: str) -> Message:
    """Return the summary or marker of that name; raise UnknownMessage if there is none."""
    for message in messages:
        tags = message.tags
        if made_id in {tags.condense_id, tags.truncation_id, tags.clear_id}:
            return message
    raise UnknownMessage(say("No condensation, truncation or clearing is {id!r} here.", id=made_id))


def _insert_after(
    messages: tuple[Message, ...], targets: Collection[str], made: Message
) -> tuple[Message, ...]:
    last = max([index for index, message in enumerate(messages) if message.id in targets])
    seq = made.seq or max([message.seq for message in messages]) + 1
    made = replace(made, seq=seq, position=messages[last].order[0])
    index = last + 1
    # An older summary or marker may share the new one's position.
    while index < len(messages) and messages[index].order < made.order:
        if not (messages[index].is_summary or messages[index].is_marker):
            break
        index += 1
    return (*messages[:index], made, *messages[index:])


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
        raise UnknownMessage(say("No message {message!r} is in this history.", message=to_id))
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
        raise UnknownMessage(say("No rewind {id!r} is in this history.", id=rewind_id))
    newest = max(hidden)
    if any(m.seq > newest and m.tags.rewind_parent is None for m in messages):
        raise UndoRefused(noop("Something new was written after this rewind."))
    back = retagged(messages, lambda m: m.tags.rewind_parent == rewind_id, rewind_parent=None)
    again = [m for m in back if m.seq in hidden and m.in_force and m.tags.clear_id is None]
    for made in sorted(again, key=lambda message: message.seq):
        back = _name_again(back, made)
    return back


def _name_again(messages: tuple[Message, ...], made: Message) -> tuple[Message, ...]:
    """Tag the messages that ``made`` hid with its name again.

    A summary or marker that was written while ``made`` was rewound may have put its name there. Of
    one that was undone meanwhile, the originals are among them.
    """
    in_force, hides = InForce.of(messages), {*made.tags.hides}
    # A summary stands after all that it hides.
    for one in reversed(messages):
        if one.id in hides and one.tags.undone and one.tags.clear_id is None:
            hides.update(one.tags.hides)

    def is_hidden(one: Message) -> bool:
        return one.id in hides and not (one.taken_back or in_force.hide(one))

    return retagged(messages, is_hidden, **_parent(made.tags))
