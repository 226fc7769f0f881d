"""What stands beside messages, for tests."""

from chatapp.models import Conversation, Message


def recalled(row: Message) -> str:
    """Return what stands beside a message of hidden ones, "" for nothing."""
    found = [one["text"] for one in row.content if one.get("beside", {}).get("kind") == "recalled"]
    return str(found[0]) if found else ""


def newest(conversation: Conversation) -> Message:
    """Return what the user said last."""
    return conversation.messages.questions().filter(turn__isnull=False).latest("seq")
