"""What is undone and redone, in whatever order, is exactly what it was."""

import condense
from chatapp.models import Conversation, Message
from tests.records import append_many


def test_what_is_hidden_here_and_there_is_found_however_often(conversation: Conversation) -> None:
    """A condition of as many parts would be too deep for the database."""
    message = condense.Message(role="user", content=(condense.TextBlock("Yes."),))
    append_many(conversation.pk, [(message, 1)] * 2_600)
    odd = [*range(1, 2_600, 2)]
    made = Message(conversation=conversation, hides=[[seq, seq] for seq in odd])
    found = Message.objects.hid_by(made).order_by("seq")
    assert [*found.values_list("seq", flat=True)] == odd
