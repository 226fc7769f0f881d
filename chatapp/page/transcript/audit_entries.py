"""Entries of audit chains as lines of a table, with author, action, place and sizes."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from chatapp.models import AuditEntry, Condensation, Question, Review, Rewind
from chatapp.models.audit import AuditEntryQuerySet
from chatapp.project.sentences import translate as _

ENTRIES_PER_PAGE = 50
# A person's acts on a condensation by their times, and those after which its sizes hold.
_ACTS = ("undone_at", "redone_at", "rated_at")
_MAKING = ("", "redone_at")
# Raised by values that this software never stores, which the verdict reports.
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One entry: its action in ``words``, and the number of ``messages`` that it adds.

    ``by`` is the person who did it, "" for the server. A condensation has its ``sizes``.
    """

    entry: AuditEntry
    words: str
    messages: int = 0
    by: str = ""
    sizes: Mapping[str, Any] | None = None


def audit_lines(entries: AuditEntryQuerySet, after: int | None) -> dict[str, Any]:
    """Return one page of entries as ``lines``, the latest first, and a cursor for ``more``."""
    older = entries if after is None else entries.filter(pk__lt=after)
    found = list[AuditEntry]()
    with suppress(*_UNREADABLE):
        newest = older.defer("openings").select_related("conversation__owner").order_by("-pk")
        found = list(newest[: ENTRIES_PER_PAGE + 1])
    more = found[ENTRIES_PER_PAGE - 1].pk if len(found) > ENTRIES_PER_PAGE else None
    return {"lines": [_line(entry) for entry in found[:ENTRIES_PER_PAGE]], "more": more}


def _line(entry: AuditEntry) -> AuditLine:
    try:
        payload = json.loads(entry.payload)
        facts = payload.get("facts", {})
        sizes = (facts.get("tokens_before"), facts.get("tokens_after"))
        return AuditLine(
            entry=entry,
            words=_words(entry, facts),
            messages=len([name for name in payload["digests"] if name.startswith("message ")]),
            by=entry.conversation.owner.get_username() if _is_by_person(entry, facts) else "",
            sizes=facts if {*map(type, sizes)} == {int} and _act(facts) in _MAKING else None,
        )
    except _UNREADABLE:
        return AuditLine(entry, entry.kind)


def _act(facts: Mapping[str, Any]) -> str:
    """Return the name of the time when a person last changed a condensation's record, else ""."""
    times = {name: facts[name] for name in _ACTS if facts.get(name)}
    return max(times, key=times.__getitem__, default="")


def _is_by_person(entry: AuditEntry, facts: Mapping[str, Any]) -> bool:
    match AuditEntry.Kind(entry.kind):
        case AuditEntry.Kind.CONDENSATION:
            by_hand = facts["trigger"] == Condensation.Trigger.MANUAL
            return by_hand or bool(_act(facts))
        case AuditEntry.Kind.REVIEW:
            return facts["answered_by_id"] is not None
        case AuditEntry.Kind.QUESTION:
            return facts["status"] in {"allowed", "denied", "answered"}
        case AuditEntry.Kind.BEGINNING | AuditEntry.Kind.SEAL | AuditEntry.Kind.ERASURE:
            return False
    return True


def _words(entry: AuditEntry, facts: Mapping[str, Any]) -> str:
    match AuditEntry.Kind(entry.kind):
        case AuditEntry.Kind.CONDENSATION:
            done = str(Condensation.Outcome.of(facts["kind"], facts["status"]).label)
            match _act(facts):
                case "redone_at":
                    done = _("{done}, redone", done=done)
                case "rated_at":
                    done = _("{done}, rated", done=done)
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
