"""A conversation that is long enough to be condensed."""

from chatapp.models import Conversation
from tests.chatapp.scripted_turns import ask, end
from tests.long_texts import filler

LONG = filler(3_750)


def talk_long(conversation: Conversation, said: str = LONG, tokens: int = 3_750) -> Conversation:
    """Have a question answered twice in a conversation, which is some 9,000 tokens then."""
    for text in ("The first answer.", "The second answer."):
        end(ask(conversation, said), text)
    conversation.messages.filter(role="user").update(tokens=tokens)
    return conversation
