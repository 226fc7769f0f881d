"""A conversation that is stored, and the same one as a history in memory."""

import uuid
from contextlib import nullcontext
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import strategies as st

import condense
from chatapp.conversations import conversations, rewind
from chatapp.models import Message, Rewind, errors, hidden_messages, message_store
from chatapp.models.rewinds import RewindQuerySet
from tests.chatapp.conftest import reduction_of

NEAR = ("condense", "truncate", "clear", "undo_rewind", "undo", "redo")
ANYWHERE = ("condense_part", "rewind", "edit", "regenerate", "switch")
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(1, 4)),
        st.tuples(st.just("use_tool"), st.booleans()),
        st.tuples(st.sampled_from(NEAR), st.integers(0, 3)),
        st.tuples(st.sampled_from(ANYWHERE), st.integers(0, 30)),
    ),
    max_size=25,
)
THINKING = condense.OpaqueBlock({"type": "thinking", "thinking": "Hm.", "signature": "s"})


class Twin:
    """Does the same to a stored conversation and to a history in memory."""

    def __init__(self, owner: User) -> None:
        """Begin with nothing on either side."""
        self.conversation = conversations.start_conversation(owner=owner)
        self.history: tuple[condense.Message, ...] = ()
        self.counter = 0

    def do(self, operation: str, argument: Any) -> None:
        """Carry out one operation on both sides."""
        getattr(self, operation)(argument)

    def say(self, count: int) -> None:
        """Append a few messages, the roles in turn."""
        for _ in range(count):
            self.counter += 1
            role: condense.Role = "user" if self.counter % 2 else "assistant"
            said = condense.TextBlock(f"message {self.counter}")
            content = (THINKING, said) if role == "assistant" else (said,)
            self.append(condense.Message(role=role, content=content))

    def use_tool(self, answered: bool) -> None:
        """Append a tool call and, if it was answered, its result."""
        self.counter += 1
        name = f"call_{self.counter}"
        call = condense.ToolUseBlock(name, "read_file", {"path": "a"})
        self.append(condense.Message(role="assistant", content=(call,)))
        if answered:
            result = condense.ToolResultBlock(name, "text")
            self.append(condense.Message(role="user", content=(result,)))

    def append(self, message: condense.Message) -> None:
        """Append to both."""
        row = message_store.append_message(self.conversation.pk, message, tokens=1)
        self.history = (*self.history, message_store.to_engine(row))

    def condense(self, keep: int) -> None:
        """Hide all but the last visible messages, cut where it is safe."""
        effective = condense.effective_history(self.history)
        cut = max(
            (cut for cut in condense.safe_cuts(effective) if cut <= len(effective) - keep),
            default=0,
        )
        if cut < 2:
            return
        hidden = tuple(message.id for message in effective[:cut])
        tags = condense.Tags(condense_id=uuid.uuid4().hex)
        summary = condense.Message(role="user", content="summary", tags=tags)
        row = hidden_messages.apply_reduction(self.conversation.pk, reduction_of(summary, hidden))
        stored = message_store.to_engine(row)
        self.history = condense.hide_behind(self.history, hidden, stored)

    def condense_part(self, place: int) -> None:
        """Hide some visible messages in a row, and none before them, behind a marker."""
        effective = condense.effective_history(self.history)
        cuts = condense.safe_cuts(effective)
        start = cuts[place % len(cuts)]
        end = next((cut for cut in cuts if cut > start + place % 3), start)
        if start == end:
            return
        hidden = tuple(message.id for message in effective[start:end])
        tags = condense.Tags(truncation_id=uuid.uuid4().hex)
        made = condense.Message(role="user", content="a part", tags=tags)
        row = hidden_messages.apply_reduction(self.conversation.pk, reduction_of(made, hidden))
        self.history = condense.hide_behind(self.history, hidden, message_store.to_engine(row))

    def truncate(self, _argument: int) -> None:
        """Hide half of what is visible."""
        truncation = condense.truncate(self.history)
        if truncation.marker is None:
            return
        row = hidden_messages.apply_reduction(
            self.conversation.pk, reduction_of(truncation.marker, truncation.hidden)
        )
        self.history = tuple(
            message_store.to_engine(row).with_tags(hides=truncation.hidden)
            if message is truncation.marker
            else message
            for message in truncation.messages
        )

    def clear(self, place: int) -> None:
        """Put a line in place of what one visible call returned."""
        effective = condense.effective_history(self.history)
        carrying = [message for message in effective if message.tool_results]
        if not carrying:
            return
        target = carrying[place % len(carrying)]
        lines = {result.tool_use_id: "cleared" for result in target.tool_results}
        tags = condense.Tags(clear_id=uuid.uuid4().hex, cleared={target.id: lines})
        marker = condense.Message(role="user", content="some were cleared", tags=tags)
        row = hidden_messages.apply_reduction(
            self.conversation.pk, reduction_of(marker, (target.id,))
        )
        self.history = condense.hide_behind(
            self.history, (target.id,), message_store.to_engine(row)
        )

    def rewind(self, place: int) -> None:
        """Go back to one of the messages that were not rewound."""
        there = [message for message in self.history if message.tags.rewind_parent is None]
        if not there:
            return
        target = there[place % len(there)]
        record = hidden_messages.rewind(self.conversation.pk, first_hidden_seq=target.seq)
        self.history = condense.rewind(self.history, target.id, rewind_id=record.pk.hex)

    def undo_rewind(self, _argument: int) -> None:
        """Take the last rewind back where nothing was written since."""
        record = self.rewinds.undoable().first()
        if record:
            rewind.undo_rewind(rewind=record)
            self.history = condense.undo_rewind(self.history, record.pk.hex)

    def edit(self, place: int) -> None:
        """Write a message of the user anew, with what followed set aside as a version."""
        there = self.conversation.messages.in_force().questions()
        if seqs := [row.seq for row in there]:
            rewind.set_message_aside(self.conversation, seqs[place % len(seqs)])
            self.rewind_as_stored()
            self.append(condense.Message(role="user", content="edited"))
            self.say(place % 3)

    def regenerate(self, place: int) -> None:
        """Answer anew, or fail to, with the answer before set aside as a version."""
        there = self.conversation.messages.in_force().written().filter(role="assistant")
        seqs = [row.seq for row in there]
        try:
            rewind.set_answer_aside(self.conversation, seqs[place % len(seqs)] if seqs else 0)
        except errors.Refused:
            return
        self.rewind_as_stored()
        if place % 4:
            self.append(condense.Message(role="assistant", content="another answer"))

    def switch(self, place: int) -> None:
        """Go to a version that was set aside."""
        aside = self.rewinds.filter(undone_at=None, rewind_parent=None, root_seq__isnull=False)
        if not (there := list(aside.order_by("created_at"))):
            return
        wanted = there[place % len(there)]
        rewind.switch_version(rewind=wanted)
        self.rewind_as_stored()
        if wanted.messages_hidden or wanted.condensations_hidden:
            self.history = condense.undo_rewind(self.history, wanted.pk.hex)

    @property
    def rewinds(self) -> RewindQuerySet:
        """What was rewound in the stored conversation."""
        return Rewind.objects.filter(conversation=self.conversation)

    def rewind_as_stored(self) -> None:
        """Do in memory what the last rewind did to what is stored."""
        record = self.rewinds.latest("created_at")
        there = [message for message in self.history if message.tags.rewind_parent is None]
        gone = [message for message in there if message.seq >= record.to_seq]
        if gone:
            first = min(gone, key=lambda message: message.seq)
            self.history = condense.rewind(self.history, first.id, rewind_id=record.pk.hex)

    def undo(self, place: int) -> None:
        """Take back a summary or marker that the model sees."""
        made = Message.objects.filter(conversation=self.conversation).effective()
        if there := [*made.made_by_engine()]:
            row = there[-1 - place % len(there)]
            hidden_messages.undo_reduction(row)
            self.history = condense.undo(self.history, name_of(row))

    def redo(self, place: int) -> None:
        """Take an undo back, where that is possible."""
        made = Message.objects.filter(conversation=self.conversation).made_by_engine()
        if there := [*made.order_by("seq")]:
            row = there[-1 - place % len(there)]
            done = row.undone and not row.rewind_parent and hidden_messages.redo_reduction(row)
            with nullcontext() if done else pytest.raises(condense.RedoRefused):
                self.history = condense.redo(self.history, name_of(row))

    def agree(self) -> bool:
        """Whether the model sees the same on both sides, and pages hide all that it does not."""
        stored = message_store.read_effective(self.conversation.pk)
        shown = self.conversation.messages.filter(hidden=False, holds_results=False)
        if {*shown.values_list("seq", flat=True)} - {message.seq for message in stored}:
            return False
        return seen(stored) == seen(condense.effective_history(self.history))


def name_of(made: Message) -> str:
    """Return what a summary or marker is called by the engine."""
    name = made.condense_id or made.truncation_id or made.clear_id
    assert name is not None
    return name.hex


def seen(history: tuple[condense.Message, ...]) -> list[tuple[int, bool, Any]]:
    """Return what can be compared of a history."""
    return [(message.seq, message.tags.unbound, message.to_api()) for message in history]
