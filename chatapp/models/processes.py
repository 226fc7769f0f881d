"""Processes: a row each with the last sign of life; turns, drafts and imports name an owner."""

import functools
import json
import os
import secrets
import socket
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from chatapp.models.database import SqlStatement, clock, execute, select, together


def this_process() -> str:
    """Return the name of this process as an owner."""
    return _name(os.getpid())


@functools.cache
def _name(pid: int) -> str:
    return f"{socket.gethostname()[:60]}/{pid}/{secrets.token_hex(6)}"


class ProcessQuerySet(models.QuerySet["Process"]):
    """Processes by their signs of life."""

    def others(self) -> "ProcessQuerySet":
        """Leave out this process."""
        return self.exclude(name=this_process())

    def sign(
        self, kind: str, workers: Collection[int] = (), silent: float = 0.0
    ) -> "tuple[bool, list[Process]]":
        """Store a sign of life; return False if the row of this process was missing.

        The second value is the list of servers without one for ``silent`` seconds, if that is set.
        """
        sign = (kind, json.dumps([*workers]), this_process())
        told = f"kind = %s, workers = %s, heartbeat_at = {clock()} WHERE name = %s RETURNING name"
        signing = SqlStatement(f"UPDATE chatapp_process SET {told}", sign)  # noqa: S608 - a function's name
        sql, values = self.silent(silent).query.sql_with_params()
        looking = [select.query(Process, sql, *values)] if silent else []
        was_known, *others = together(signing, *looking)
        if not was_known:
            execute(
                "INSERT INTO chatapp_process (kind, workers, name, heartbeat_at) "  # noqa: S608 - as above
                f"VALUES (%s, %s, %s, {clock()}) ON CONFLICT (name) DO NOTHING", *sign,
            )  # fmt: skip
        return bool(was_known), others[0] if others else []

    def end(self) -> None:
        """Remove this process: all that it still owns is left."""
        self.filter(name=this_process()).delete()

    def silent(self, seconds: float) -> "ProcessQuerySet":
        """Return servers whose last sign is older than that, or dated in the future."""
        age = timedelta(seconds=seconds)
        is_old, is_later = Q(heartbeat_at__lt=Now() - age), Q(heartbeat_at__gt=Now() + age)
        return self.others().exclude(kind=Process.Kind.COMMAND).filter(is_old | is_later)

    def remove(self, name: str, sign: datetime) -> bool:
        """Remove a process that is gone; return False if it has given another sign since."""
        return bool(self.filter(name=name, heartbeat_at=sign).delete()[0])

    def remove_gone(self, *, alone: bool) -> None:
        """Remove killed commands, as none takes a day; if ``alone``, also all other servers."""
        commands = self.filter(kind=Process.Kind.COMMAND)
        commands.filter(heartbeat_at__lt=Now() - timedelta(days=1)).delete()
        if alone:
            self.others().exclude(kind=Process.Kind.COMMAND).delete()


class Process(models.Model):
    """A living process, as far as known: without its row, all that it owns is left.

    Its ``workers`` are the ids that Procrastinate gave to those of its queues. A command signs
    once, when it begins.
    """

    class Kind(models.TextChoices):
        """The work of a process."""

        WEB = "web"
        WORKER = "worker"
        COMMAND = "command"

    name = models.CharField(primary_key=True, max_length=120)
    kind = models.CharField(max_length=10, choices=Kind)
    workers = models.JSONField(default=list)
    heartbeat_at = models.DateTimeField(db_default=Now())

    objects = ProcessQuerySet.as_manager()


def is_left(owner: str | None) -> bool:
    """Return True if ``owner`` is a process that is gone, or nobody."""
    return owner != this_process() and not Process.objects.filter(name=owner or "").exists()
