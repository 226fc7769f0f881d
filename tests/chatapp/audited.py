"""A conversation in which everything has happened that goes on record."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import models, transaction

import condense
from chatapp.condensing import undo
from chatapp.conversations import rewind
from chatapp.models import (
    AuditEntry,
    Condensation,
    Conversation,
    Question,
    Review,
    Turn,
    message_store,
)
from chatapp.records.maintenance import audit_check
from chatapp.storage import approvals
from chatapp.turns import lifecycle
from tests.chatapp import scripted_turns
from tests.chatapp.condensing.findings import finding
from tests.chatapp.conftest import summarise
from tests.records import put_on_record


def talk(conversation: Conversation, *texts: str) -> None:
    """Say something, in turns."""
    for number, text in enumerate(texts):
        role: condense.Role = "assistant" if number % 2 else "user"
        message = condense.Message(role=role, content=(condense.TextBlock(text),))
        message_store.append_message(conversation.pk, message, tokens=10)


def condense_on_record(
    conversation: Conversation, *, keep: int = 0, **columns: Any
) -> Condensation:
    """Condense all but the last ``keep``, as an attempt does that starts and succeeds."""
    attempt = put_on_record(conversation, at_seq=1, status="running", prompt="Sum it up.")
    receipt = condense.Receipt((finding("make", "lost"),))
    made = {
        "message": summarise(conversation, keep=keep),
        "summary": "What was said.",
        "receipt": receipt,
    }
    Condensation.objects.filter(pk=attempt.pk).change(status="succeeded", **made, **columns)
    return attempt


def ask(turn: Turn, place: int, **columns: Any) -> Question:
    """Have a turn ask a person."""
    usual = {"seq": 1, "place": place, "kind": "permission", "tool": "run_command", "shown": "rm x"}
    return Question.objects.create(turn=turn, **usual | columns)


def review(attempt: Condensation, **columns: Any) -> Review:
    """Have a person change what an attempt wrote."""
    said = {"shown": "What was said.", "text": "What was said, in short.", "status": "edited"}
    made = Review.objects.create(condensation=attempt, ordinal=1, **said | columns)
    made.enter()
    return made


def live_through(conversation: Conversation) -> None:
    """Talk, condense, put a fact back, undo, rewind and undo, edit, and answer questions."""
    seventh = Conversation.objects.get(pk=conversation.pk).last_seq + 7
    talk(conversation, "Where is north?", "Up.", "And south?", "Down.")
    attempt = condense_on_record(conversation)
    undo.put_back(condensation=attempt, index=0)
    talk(conversation, "East?", "Right.")
    undo.undo_condensation(condensation=attempt)
    rewound = rewind.rewind_conversation(conversation=conversation, first_hidden_seq=seventh)
    rewind.undo_rewind(rewind=rewound)
    turn = scripted_turns.ask(conversation, "And West?", replaces=seventh)
    for place, decision in enumerate(("once", "deny")):
        approvals.answer_question(question=ask(turn, place), decision=decision, words="since")
    wanted = ask(turn, 2, kind="answer", text="Which way?", shown="", suggestions=["left"])
    approvals.answer_question(question=wanted, decision="answer", words="Left.")
    ask(turn, 3)
    lifecycle.finish_turn(turn=turn, status=Turn.Status.STOPPED)
    talk(conversation, "Thanks.", "Any time.")
    review(condense_on_record(conversation, cost=None))


def problems(conversation: Conversation) -> list[str]:
    """Return what is wrong with the record of a conversation, as it is stored now."""
    return audit_check.verify(Conversation.objects.get(pk=conversation.pk)).problems


def raw(model: type[models.Model]) -> "models.QuerySet[Any]":
    """Return all rows of a model as somebody changes them who writes to the database directly."""
    return models.QuerySet(model)


def entries(conversation: Conversation) -> list[AuditEntry]:
    """Return the chain."""
    return list(conversation.audit_entries.in_order())


@contextmanager
def taken_back() -> Iterator[None]:
    """Have all that is done in the block undone at its end."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
