"""What the model saw: the bytes of every request, each part of them stored once."""

from django.db import models

from chatapp.models.calls import ModelCall
from chatapp.models.conversations import Conversation


class Fragment(models.Model):
    """Bytes of requests that no message holds, by their SHA-256; ``data`` is compressed."""

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="+")
    digest = models.BinaryField(max_length=32)
    data = models.BinaryField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("conversation", "digest"), name="fragment_once"),
        )

    def __str__(self) -> str:
        """Name the bytes."""
        return f"Fragment {bytes(self.digest).hex()}"


class Manifest(models.Model):
    """How to put one call's request together again, as the difference to the call before.

    Of the ``parent`` call's messages the first ``kept`` are sent again; ``data`` says which follow
    them, and what stands behind, as :mod:`chatapp.context.requests` writes it. ``head`` stands
    before the messages, and ``digest`` is the SHA-256 of the whole body.
    """

    call = models.OneToOneField(ModelCall, models.CASCADE, primary_key=True)
    parent = models.PositiveBigIntegerField(null=True)
    kept = models.PositiveIntegerField()
    data = models.BinaryField()
    head = models.ForeignKey(Fragment, models.DO_NOTHING, related_name="+", db_index=False)
    digest = models.BinaryField(max_length=32)

    def __str__(self) -> str:
        """Name the request by its bytes."""
        return f"Request {bytes(self.digest).hex()}"
