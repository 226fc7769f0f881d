"""Entries of an audit chain as lines of a page."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chatapp.models import AuditEntry, Condensation, Conversation, Question, Review, Rewind
from chatapp.sentences import translate as _

MOST_LINES = 200


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One entry: ``words`` say what was done, ``messages`` how many it is the first to hold."""

    entry: AuditEntry
    words: str
    messages: int


def audit_lines(conversation: Conversation) -> list[AuditLine]:
    """Return the newest entries, the latest first."""
    newest = conversation.audit_entries.defer("openings").order_by("-number")
    return [_line(entry) for entry in newest[:MOST_LINES]]


def _line(entry: AuditEntry) -> AuditLine:
    try:
        payload = json.loads(entry.payload)
        names = [name for name in payload["digests"] if name.startswith("message ")]
        return AuditLine(entry, _words(entry, payload.get("facts", {})), len(names))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # Somebody has changed it, which the verdict says.
        return AuditLine(entry, entry.kind, 0)


def _words(entry: AuditEntry, facts: Mapping[str, Any]) -> str:
    match AuditEntry.Kind(entry.kind):
        case AuditEntry.Kind.CONDENSATION:
            done = str(Condensation.Outcome.of(facts["kind"], facts["status"]).label)
            redone = facts.get("redone_at") and not facts["undone_at"]
            done = _("{done}, redone", done=done) if redone else done
        case AuditEntry.Kind.REWIND:
            done = str(Rewind.Cause(facts["cause"]).label)
            done = _("{done}, taken back", done=done) if facts["undone_at"] else done
        case AuditEntry.Kind.QUESTION:
            done = f"{Question.Status(facts['status']).label} · {facts['tool']}"
        case AuditEntry.Kind.REVIEW:
            what = Review.Status(facts["status"]).label
            done = _("draft {number}, {what}", number=facts["ordinal"], what=what)
        case AuditEntry.Kind.PIN:
            taken_off = _("message {seq}, taken off", seq=facts["seq"])
            done = taken_off if facts["unpinned_at"] else _("message {seq}", seq=facts["seq"])
        case AuditEntry.Kind.FORGETTING:
            done = ", ".join(_("message {seq}", seq=seq) for seq in facts["messages"])
        case AuditEntry.Kind.FORK:
            of_another = _("of another conversation, at message {seq}", seq=facts["seq"])
            done = of_another if facts["is_copy"] else _("at message {seq}", seq=facts["seq"])
        case _:
            return str(entry.get_kind_display())
    return _("{kind}: {done}", kind=entry.get_kind_display(), done=done)
