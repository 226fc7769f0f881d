"""Conversations of other programs, which the gateway records."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

from django.contrib.auth.models import User
from django.db import models

from chatapp.models import fields
from chatapp.models.conversations import Conversation
from chatapp.models.database import insert
from chatapp.models.messages import Message
from chatapp.providers import request_bytes

Block = Mapping[str, Any]

# Programs write these anew, or leave them out, from one request to the next.
_PASSING = re.compile(r"<(system-reminder|environment_details|think)>.*?</\1>|\s+", re.DOTALL)
_WORDY = frozenset({"text", "thinking", "redacted_thinking", "item_reference"})


class ClientConversationQuerySet(models.QuerySet["ClientConversation"]):
    """Conversations of clients, as a request finds them."""

    def open(self) -> Self:
        """Return those that their clients still write."""
        return self.filter(is_open=True).select_related("conversation", "parent")

    def of(self, owner: User, dialect: str, session: str) -> Self:
        """Return the open ones of a user's session, "" for those without a name; oldest first."""
        named = self.open().filter(session=session, dialect=dialect)
        there = named.filter(conversation__owner=owner, conversation__deleted_at=None)
        return there.order_by("conversation__created_at")


class ClientConversation(models.Model):
    """A conversation that a ``program`` writes through the gateway, in an API's ``dialect``."""

    conversation = models.OneToOneField(
        Conversation, models.CASCADE, primary_key=True, related_name="client"
    )
    program = fields.CharField(max_length=100, blank=True)
    dialect = models.CharField(max_length=20)
    session = fields.CharField(max_length=200, blank=True)  # the client's name for it, or ""
    # The conversation of which this one holds side requests, for titles or of sub-agents.
    parent = models.ForeignKey(
        Conversation, models.CASCADE, null=True, related_name="side_requests"
    )
    is_open = models.BooleanField(default=True)  # until its owner continues it here

    objects = ClientConversationQuerySet.as_manager()

    class Meta:
        indexes = (models.Index(fields=("session",), name="client_session"),)

    def __str__(self) -> str:
        return str(self.program)

    @property
    def name(self) -> str:
        """The program without its version."""
        return str(self.program).partition("/")[0]


class HistoryLink(models.Model):
    """The place of a message in a client's history: a digest of it and all before it."""

    message = models.OneToOneField(
        Message, models.CASCADE, primary_key=True, related_name="history_link"
    )
    digest = models.BinaryField(max_length=32, db_index=True)
    # An answer's digest of all in its request that was not the client's.
    view = models.BinaryField(max_length=32, null=True)

    def __str__(self) -> str:
        return bytes(self.digest).hex()

    @classmethod
    def newest_in(cls, conversation_id: Any) -> bytes | None:
        """Return the digest of a conversation's whole history, None without any."""
        there = cls.objects.filter(message__conversation=conversation_id)
        shown = there.filter(message__rewind_parent=None).order_by("-message__seq")
        found = shown.values_list("digest", flat=True).first()
        return None if found is None else bytes(found)

    @classmethod
    def put_behind(cls, before: bytes, message: Message, *begun: Block, view: bytes = b"") -> None:
        """Put a stored message behind the history with this digest; its client has ``begun`` it."""
        digest = cls.digest_behind(before, message.role, [*begun, *message.content])
        insert(cls(message=message, digest=digest, view=view))

    @staticmethod
    def digest_behind(before: bytes, role: str, blocks: Sequence[Block]) -> bytes:
        """Return the digest of a message behind others, by parts that its client never changes."""
        # Marks for a cache move, reminders come and go, thinking and old results are left out.
        words = [str(one.get("text")) for one in blocks if one.get("type") == "text"]
        rest = [_mark(one) for one in blocks if one.get("type") not in _WORDY]
        shown = request_bytes.encode([role, _PASSING.sub("", "".join(words)), rest])
        return hashlib.sha256(before + shown).digest()


def _mark(block: Block) -> str:
    if name := block.get("tool_use_id") or block.get("id"):
        return str(name)
    told = {key: value for key, value in block.items() if key != "cache_control"}
    return hashlib.sha256(request_bytes.encode(told)).hexdigest()
