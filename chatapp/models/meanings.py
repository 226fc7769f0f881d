"""Meanings of messages: small vectors of their passages, which questions are compared with."""

import uuid
from collections.abc import Iterable

from django.db import models

from chatapp.models.conversations import Conversation


class MessageMeaning(models.Model):
    """The vectors of a message's ``passages``, in their order, as the model ``embedder`` made them.

    A dimension takes a byte. A message that has nothing to embed has no passages.
    """

    message = models.OneToOneField(
        "Message", models.CASCADE, primary_key=True, related_name="meaning"
    )
    embedder = models.CharField(max_length=120)
    passages = models.PositiveSmallIntegerField(default=0)
    vectors = models.BinaryField(default=b"")

    def __str__(self) -> str:
        return f"Meaning of message {self.message_id}"


class Meanings(models.Model):
    """What a search reads of a conversation's vectors; all of it follows from these.

    ``places`` has a message and the number of its passage for each row of ``signs``, which has one
    bit a dimension, around a ``centre``. ``due`` names the newest change that is not in them yet: messages were hidden,
    changed or imported.
    """

    conversation = models.OneToOneField(
        Conversation, models.CASCADE, primary_key=True, related_name="meanings"
    )
    due = models.CharField(max_length=32, blank=True)
    embedder = models.CharField(max_length=120, blank=True)
    dimensions = models.PositiveIntegerField(default=0)
    places = models.BinaryField(default=b"")
    signs = models.BinaryField(default=b"")
    centre = models.BinaryField(default=b"")

    def __str__(self) -> str:
        return f"Meanings of conversation {self.conversation_id}"


def mark_due(*conversations: uuid.UUID) -> None:
    """Have vectors made of what these conversations hide, by a job that others enqueue."""
    Meanings.objects.bulk_create(
        [Meanings(conversation_id=one, due=uuid.uuid4().hex) for one in conversations],
        update_conflicts=True,
        unique_fields=["conversation"],
        update_fields=["due"],
    )


def delete_vectors(messages: Iterable[int]) -> None:
    """Delete what these messages mean, to be made anew."""
    gone = MessageMeaning.objects.filter(message__in=[*messages])
    chats = [*gone.values_list("message__conversation", flat=True).distinct().order_by()]
    gone.delete()
    _empty(Meanings.objects.filter(conversation__in=chats))


def delete_all_vectors() -> None:
    """Delete what all messages mean, to be made anew."""
    MessageMeaning.objects.all().delete()
    _empty(Meanings.objects.all())


def _empty(meanings: "models.QuerySet[Meanings]") -> None:
    meanings.update(due=uuid.uuid4().hex, embedder="", dimensions=0, places=b"", signs=b"")
