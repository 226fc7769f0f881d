"""How an attempt to make the context smaller stands, what began it, and what it came to."""

from typing import Self

from django.db import models
from django.utils.translation import gettext_lazy as _


class Status(models.TextChoices):
    """How the attempt stands or ended."""

    RUNNING = "running", _("running")
    SUCCEEDED = "succeeded", _("succeeded")
    FAILED = "failed", _("failed")
    DECLINED = "declined", _("nothing to do")
    CANCELLED = "cancelled", _("cancelled")
    UNDONE = "undone", _("undone")
    DRAFTED = "drafted", _("drafted")
    UNUSED = "unused", _("draft not used")


class Outcome(models.TextChoices):
    """What it came to, for people: kind and status in one."""

    CONDENSED = "condensed", _("condensed")
    TRUNCATED = "truncated", _("truncated")
    CLEARED = "cleared", _("tool output cleared")
    FAILED = "failed", _("failed")
    DECLINED = "declined", _("nothing to do")
    CANCELLED = "cancelled", _("cancelled")
    UNDONE = "undone", _("undone")
    RUNNING = "running", _("running")
    DRAFTED = "drafted", _("drafted")
    UNUSED = "unused", _("draft not used")

    @classmethod
    def of(cls, kind: str, status: str) -> Self:
        """Return what an attempt of this kind and status came to."""
        return cls(kind if status == Status.SUCCEEDED else status)


class Trigger(models.TextChoices):
    """Who or what asked for it."""

    AUTO = "auto", _("automatic")
    FORCED = "forced", _("forced")
    MANUAL = "manual", _("by you")
    AHEAD = "ahead", _("drafted ahead")
    IDLE = "idle", _("while idle")


class Kind(models.TextChoices):
    """What became of the hidden messages."""

    CONDENSED = "condensed", _("condensed")
    TRUNCATED = "truncated", _("truncated")
    CLEARED = "cleared", _("cleared")
