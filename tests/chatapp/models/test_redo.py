"""What is undone and redone, in whatever order, is exactly what it was."""

import random
from typing import Any

from django.contrib.auth.models import User
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import condense
from chatapp.models import Conversation, Message, hidden_messages, message_store
from tests.chatapp.models.test_store import OPERATIONS, Twin, name_of
from tests.records import append_many


def shown(twin: Twin) -> list[tuple[int, Any]]:
    """Return what the model sees; thinking that an undo unbound is not sent again, in any case."""
    stored = message_store.read_effective(twin.conversation.pk)
    return [(message.seq, message.to_api()) for message in stored]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(operations=OPERATIONS, chance=st.randoms(use_true_random=False))
def test_undo_and_redo_in_any_order_restore_exactly(
    alice: User, operations: list[tuple[str, Any]], chance: random.Random
) -> None:
    """Down to the last original, and up again in the order that comes; stored and in memory."""
    twin = Twin(alice)
    for operation, argument in operations:
        twin.do(operation, argument)
    before = shown(twin)
    undone = []
    while there := [*twin.conversation.messages.effective().made_by_engine()]:
        made = chance.choice(there)
        hidden_messages.undo_reduction(made)
        twin.history = condense.undo(twin.history, name_of(made))
        assert twin.agree()
        undone.append(made)
    while undone:
        chance.shuffle(undone)
        redone = next(made for made in undone if hidden_messages.redo_reduction(made))
        twin.history = condense.redo(twin.history, name_of(redone))
        assert twin.agree()
        undone.remove(redone)
    assert shown(twin) == before


def test_what_is_hidden_here_and_there_is_found_however_often(conversation: Conversation) -> None:
    """A condition of as many parts would be too deep for the database."""
    message = condense.Message(role="user", content=(condense.TextBlock("Yes."),))
    append_many(conversation.pk, [(message, 1)] * 2_600)
    odd = [*range(1, 2_600, 2)]
    made = Message(conversation=conversation, hides=[[seq, seq] for seq in odd])
    found = Message.objects.hid_by(made).order_by("seq")
    assert [*found.values_list("seq", flat=True)] == odd
