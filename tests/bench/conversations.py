"""Stored conversations of any length, made in bulk."""

import itertools
import uuid
from typing import Any

from django.contrib.auth.models import User

from chatapp.models import Conversation, Message, Profile, accounts

BATCH = 5_000
# About 400 bytes of JSON a message, as in the recorded sessions.
WORDS = "the quick brown fox jumps over the lazy dog " * 7
TOKENS = 75
_TEXT = {"type": "text", "text": WORDS}


def prepare_owner() -> tuple[Any, Profile]:
    """Return the owner of a server over whose data this process works, and their profile."""
    owner = accounts.prepare_owner()
    profile = accounts.preferences_of(owner).default_profile
    assert profile
    return owner, profile


def make_owner(name: str = "bench") -> tuple[Any, Profile]:
    """Return a user, and a profile in whose window everything fits."""
    user = User.objects.create_user(name)
    offline = {"name": "Bench", "provider": "offline", "model": "offline"}
    limits = {"context_window": 100_000_000, "max_output": 8_000}
    return user, Profile.objects.create(owner=user, **offline, **limits)


def make_conversation(owner: Any, profile: Profile, stored: int, visible: int | None = None) -> Any:
    """Return a conversation of ``stored`` messages, all but the last ``visible`` condensed."""
    visible = stored if visible is None else visible
    # The record holds them already, as it does of messages that came one by one.
    conversation = Conversation.objects.create(
        owner=owner, profile=profile, last_seq=stored, audit_seq=stored
    )
    summary = uuid.uuid4()
    hidden = stored - visible
    rows = (_message(conversation, seq, hidden, summary) for seq in range(1, stored + 1))
    for batch in itertools.batched(rows, BATCH):
        Message.objects.bulk_create(batch)
    return conversation


def _message(conversation: Conversation, seq: int, hidden: int, summary: uuid.UUID) -> Message:
    is_summary = bool(hidden) and seq == hidden + 1
    tool = seq % 4  # a question, a call, its result, an answer
    return Message(
        conversation=conversation,
        seq=seq,
        position=hidden if is_summary else seq,
        role="user" if is_summary or seq % 2 else "assistant",
        content=_tool(seq) if tool in {2, 3} and not is_summary else [_TEXT],
        tokens=TOKENS,
        hidden=seq <= hidden,
        condense_parent=summary if seq <= hidden else None,
        condense_id=summary if is_summary else None,
    )


def _tool(seq: int) -> list[dict[str, Any]]:
    """Return a call, or the result of the call before."""
    if seq % 2:
        id_ = f"call_{seq - 1}"
        return [{"type": "tool_result", "tool_use_id": id_, "content": WORDS}]
    call = {"id": f"call_{seq}", "name": "read_file", "input": {"path": f"src/{seq}.py"}}
    return [{"type": "text", "text": "Let me look."}, {"type": "tool_use", **call}]
