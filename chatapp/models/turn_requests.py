"""Requests to a turn in any process: to stop, to condense, or not to condense."""

import json
import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Self

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from chatapp.models import fields
from chatapp.models.database import clock, execute, locking
from chatapp.models.processes import this_process
from chatapp.models.turns import Turn


class TurnRequestQuerySet(models.QuerySet["TurnRequest"]):
    """Requests by turn, taken by the turn's process or not."""

    def ask(
        self,
        kind: "TurnRequest.Kind",
        *,
        conversation_id: uuid.UUID,
        turn: uuid.UUID | None = None,
        nonce: uuid.UUID | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> bool:
        """Store a request to the turn of this id or nonce, or to the unfinished one.

        Returns True if it stands, False if no such turn goes on. With the same ``nonce`` again it
        is the same request.
        """
        named = " AND %s IN (id, nonce)" if turn else ""
        # It waits for a turn that is ending: then the turn is over, or takes the request.
        sql = (
            "INSERT INTO chatapp_turnrequest (turn_id, kind, nonce, details) "  # noqa: S608 - conditions of our own
            "SELECT id, %s, %s, %s FROM chatapp_turn WHERE conversation_id = %s "
            f"AND finished_at IS NULL{named}{locking()} "
            "ON CONFLICT (turn_id, nonce) DO UPDATE SET nonce = excluded.nonce RETURNING id"
        )
        said = (kind, nonce or uuid.uuid4(), json.dumps({**(details or {})}))
        return bool(execute(sql, *said, conversation_id, *([turn] if turn else [])))

    def untaken(self, turns: Iterable[uuid.UUID]) -> Self:
        """Return the requests to these turns that nobody has taken, the oldest first."""
        return self.filter(turn__in=[*turns], taken_at=None).order_by("pk")

    def take(self, requests: Collection["TurnRequest"]) -> "list[TurnRequest]":
        """Mark requests to this process's turns as taken; return those newly taken."""
        if not requests:
            return []
        keys, turns = [one.pk for one in requests], {one.turn_id for one in requests}
        sql = (
            f"UPDATE chatapp_turnrequest SET taken_at = {clock()} WHERE taken_at IS NULL "  # noqa: S608 - conditions of our own
            f"AND id IN ({_places(keys)}) AND turn_id IN (SELECT id FROM chatapp_turn "
            f"WHERE id IN ({_places(turns)}) AND owner = %s AND finished_at IS NULL{locking()}) "
            "RETURNING id"
        )
        taken = {pk for (pk,) in execute(sql, *keys, *turns, this_process())}
        return [request for request in requests if request.pk in taken]


def _places(values: Collection[object]) -> str:
    return ", ".join(["%s"] * len(values))


class TurnRequest(models.Model):
    """A person's request to a turn; ``details`` are those of a request to condense.

    ``taken_at`` says when the turn's process took it, to do it at once or after its step.
    """

    class Kind(models.TextChoices):
        """The kind of a request."""

        STOP = "stop", _("stop")
        CONDENSE = "condense", _("condense after the step that runs")
        CANCEL_CONDENSING = "cancel_condensing", _("go on without condensing")

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="requests")
    kind = models.CharField(max_length=20, choices=Kind)
    nonce = models.UUIDField(default=uuid.uuid4)
    details = fields.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())
    taken_at = models.DateTimeField(null=True)

    objects = TurnRequestQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("turn", "nonce"), name="turn_request_nonce"),
        )
        indexes = (
            models.Index(
                fields=("turn",), condition=models.Q(taken_at=None), name="turn_request_untaken"
            ),
        )
