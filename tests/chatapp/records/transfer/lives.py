"""Conversations in which anything may have happened, to be written and read again."""

import json
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

import condense
from chatapp.condensing import undo
from chatapp.conversations import forks, pins
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    ModelCall,
    Question,
    Source,
    ToolRun,
    Turn,
    errors,
    hidden_messages,
)
from chatapp.records.importers import load_importer
from chatapp.records.transfer.record_export import write_record
from chatapp.records.transfer.record_import import load_conversation
from chatapp.storage import approvals
from chatapp.turns import lifecycle
from tests.chatapp.condensing.findings import finding
from tests.chatapp.models.twin import Twin
from tests.chatapp.scripted_turns import send
from tests.records import put_on_record

TEXTS = ("Hello.", "“\U0001f600” \u202e<b>\t\r\n", "{}[]\\\"'", "x" * 500)
HUGE = 2**80
PICTURE = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}


class Life(Twin):
    """Does what a twin does, and all else that goes on record."""

    def do(self, operation: str, argument: Any) -> None:
        """Do one thing, or have it refused."""
        with suppress(errors.Refused):
            super().do(operation, argument)

    def talk(self, place: int) -> None:
        """Take a turn, with its call, from a message to which something is attached."""
        text = TEXTS[place % len(TEXTS)]
        started = send(self.conversation, text, tokens=5)
        assert started
        assert started.question
        turn = started.turn
        self.history = (*self.history, started.question)
        beside = {"kind": "file", "name": TEXTS[place % 3], "size": place}
        file = condense.TextBlock("<file>…</file>", {condense.BESIDE: beside})
        self.append(condense.Message("user", (file, condense.ImageBlock(PICTURE))))
        self.append(condense.Message("assistant", (condense.TextBlock(text),)))
        self.call(turn, place)
        status = [*Turn.UNDONE, Turn.Status.SUCCEEDED][place % 4]
        lifecycle.finish_turn(
            turn=turn, status=Turn.Status(status), error="It broke." * (place % 2)
        )

    def call(self, turn: Turn, place: int) -> None:
        """Put a call on record, a tool, and what a person was asked."""
        reply = self.conversation.messages.order_by("-seq").first()
        ModelCall.objects.create(
            conversation=self.conversation,
            turn=turn,
            message=reply,
            purpose="chat",
            status="succeeded",
            model="some-model",
            tokens_input=place,
            usage_measured=place % 2 == 0,
            cost=Decimal("0.0123") if place % 3 else None,
            seconds=place / 7,
            draft=json.dumps([{"type": "thinking", "text": "Hm."}]) if place % 2 else "",
        )
        ToolRun.objects.create(
            turn=turn, call_id="c", name="run_command", finished_at=timezone.now()
        )
        asked = Question.objects.create(
            turn=turn, seq=1, place=0, kind="permission", tool="run_command", suggestions=["a"]
        )
        approvals.answer_question(question=asked, decision="deny", words="No.")

    def use_huge(self, _place: int) -> None:
        """Call a tool with a number that is not for every reader of JSON."""
        name = f"huge_{self.conversation.messages.count()}"
        call = condense.ToolUseBlock(name, "count", {"n": HUGE, "x": 1e-300, "": None})
        self.append(condense.Message("assistant", (call,)))

    def record(self, place: int) -> None:
        """Condense as an attempt does, with its receipt, its call and its folded files."""
        before = {row.pk for row in self.conversation.messages.made_by_engine()}
        self.condense(place % 3)
        made = self.conversation.messages.made_by_engine().exclude(pk__in=before).first()
        source = self.conversation.messages.first()
        found = (finding("make", "missing"), finding("a.py", "changed", kind="read_files"))
        receipt = condense.Receipt(
            (
                *found,
                condense.Finding("commands", "ls", "ls", str(source.pk), state="named"),
            )
            if source
            else found
        )
        attempt = put_on_record(
            self.conversation,
            at_seq=1,
            message=made,
            status="succeeded" if made else "failed",
            cost=Decimal("0.1") if place % 2 else None,
            receipt=receipt,
            notes=["One thing."] * (place % 3),
            folded={"characters": 3, "files": [{"path": "a.py", "characters": 3}], "left_out": []},
            finished_at=timezone.now() + timedelta(seconds=place),
        )
        attempt.enter()
        ModelCall.objects.create(
            conversation=self.conversation,
            condensation=attempt,
            purpose="summary",
            status="failed",
        )

    def undo_on_record(self, _place: int) -> None:
        """Take the last condensation back."""
        made = Condensation.objects.filter(conversation=self.conversation, status="succeeded")
        if last := made.order_by("-started_at").first():
            with suppress(errors.Refused):
                undo.undo_condensation(condensation=last)

    def undo_below(self, place: int) -> None:
        """Take a condensation back with all that stand on it."""
        made = Condensation.objects.filter(conversation=self.conversation, status="succeeded")
        if there := list(made.order_by("started_at")):
            chosen = there[place % len(there)]
            with suppress(errors.Refused):
                later = undo.preview_undo(condensation=chosen).later
                undo.undo_condensation(condensation=chosen, later=later)

    def undo(self, place: int) -> None:
        """Take a reduction back; this life's memory does not have all that were redone."""
        with suppress(condense.UndoRefused):
            super().undo(place)

    def redo(self, place: int) -> None:
        """Take an undo back in what is stored: the memory of this life does not have all undos."""
        made = Message.objects.filter(conversation=self.conversation).made_by_engine()
        if there := [*made.filter(undone=True, rewind_parent=None).order_by("seq")]:
            hidden_messages.redo_reduction(there[-1 - place % len(there)])

    def fork(self, _place: int) -> None:
        """Go on in a copy: both sides are on record."""
        with suppress(errors.Refused):
            seq = self.conversation.messages.count()
            forks.fork_conversation(conversation=self.conversation, seq=seq)

    def pin(self, place: int) -> None:
        """Pin a message, or take its pin off."""
        there = self.conversation.messages.written().filter(rewind_parent=None, hidden=False)
        if rows := list(there):
            row: Message = rows[place % len(rows)]
            act = pins.unpin_message if row.pinned else pins.pin_message
            with suppress(errors.Refused):
                act(conversation=self.conversation, seq=row.seq)


def write(conversation: Conversation) -> bytes:
    """Return a conversation as a file."""
    return b"".join(write_record(Conversation.objects.get(pk=conversation.pk)))


def read(data: bytes, owner: User, folder: Path, form: str = "palimpsest") -> Conversation:
    """Import what a file of this form says."""
    path = folder / "conversation.json"
    path.write_bytes(data)
    pieces = load_importer(form).read_transcript(path)
    return load_conversation(pieces, owner=owner, source=Source(form=form, name=path.name))


def said(data: bytes) -> dict[str, Any]:
    """Return what two files of the same conversation have in common."""
    told = json.loads(data)
    about = told["conversation"]
    return {**told, "conversation": {**about, "id": ""}, "exported_at": "", "chains": []}
