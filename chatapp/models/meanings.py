"""Meanings: small vectors of messages' passages, which questions are compared with."""

import uuid
from collections.abc import Iterable

from django.db import models

from chatapp.models.conversations import Conversation


class MessageMeaning(models.Model):
    """The vectors of a message's ``passages``, by the model ``embedder``: a byte a dimension."""

    message = models.OneToOneField(
        "Message", models.CASCADE, primary_key=True, related_name="meaning"
    )
    embedder = models.CharField(max_length=120)
    passages = models.PositiveSmallIntegerField(default=0)
    vectors = models.BinaryField(default=b"")


class Meanings(models.Model):
    """A conversation's vectors in one bit a dimension, for the first stage of a search.

    ``signs`` has the bits, relative to the ``centre``, of the passages in ``places``. ``due`` names
    the newest change that is not in them: messages were hidden, changed or imported.
    """

    conversation = models.OneToOneField(
        Conversation, models.CASCADE, primary_key=True, related_name="meanings"
    )
    due = models.CharField(max_length=32, blank=True)
    embedder = models.CharField(max_length=120, blank=True)
    places = models.BinaryField(default=b"")
    signs = models.BinaryField(default=b"")
    centre = models.BinaryField(default=b"")


def mark_due(conversation: uuid.UUID) -> None:
    """Note that a conversation has something to embed."""
    Meanings.objects.update_or_create({"due": uuid.uuid4().hex}, conversation_id=conversation)


def delete_vectors(messages: Iterable[int] | None = None) -> None:
    """Delete the vectors of some messages, or of all, to be made anew."""
    gone, own = MessageMeaning.objects.all(), Meanings.objects.all()
    if messages is not None:
        gone = gone.filter(message__in=[*messages])
        own = own.filter(pk__in=[*gone.values_list("message__conversation", flat=True)])
    gone.delete()
    own.update(due=uuid.uuid4().hex, places=b"", signs=b"", centre=b"")
