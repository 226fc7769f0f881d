"""A summary that carries the pinned messages it hides."""

import uuid

import condense
from chatapp.models import Conversation, Message, hidden_messages, message_store
from tests.chatapp.conftest import reduction_of


def carrying(conversation: Conversation, *hidden: Message) -> Message:
    """Return the summary behind which messages are hidden, with what is pinned among them."""
    seen = [message_store.to_engine(Message.objects.get(pk=one.pk)) for one in hidden]
    heading = "## Pinned Message, Verbatim ({0.role}, {0.id})\n{0.text}"
    carried = [condense.TextBlock(heading.format(one)) for one in seen if one.tags.pinned]
    summary = condense.Message(
        role="user",
        content=(condense.TextBlock("What was said."), *carried),
        tags=condense.Tags(condense_id=uuid.uuid4().hex),
    )
    return hidden_messages.apply_reduction(
        conversation.pk, reduction_of(summary, tuple(o.id for o in seen))
    )
