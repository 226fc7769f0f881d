"""Audit checks: a conversation's chain holds, or a sentence says where it breaks."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from chatapp.models import AuditEntry, Conversation, Message, audit
from chatapp.models.audit import Recorded, RecordedQuerySet

_EXPORTED = ("number", "kind", "payload", "previous", "hash", "openings")


@dataclass(slots=True)
class Verdict:
    """What was found of one chain: ``problems`` are sentences, none where it holds.

    It is ``since`` then that the conversation is on record; ``erased`` contents can't be compared
    any more, and ``waiting`` messages are to be part of the next entry.
    """

    conversation: Conversation
    since: datetime
    entries: int = 0
    erased: int = 0
    waiting: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class _Digest:
    """What an entry has on record of one content; without a ``salt`` that was erased."""

    number: int
    digest: str
    salt: str | None

    def differs(self, what: str, content: Any) -> str:
        """Return what is wrong with a content, which is named, and "" where it is the same."""
        if self.salt is None:
            said = _(
                "%(what)s can't be compared with entry %(number)s: what opens its digest is gone."
            )
        elif audit.commit(self.salt, content) != self.digest:
            said = _("%(what)s is not what entry %(number)s has on record.")
        else:
            return ""
        return said % {"what": what, "number": self.number}


@dataclass(frozen=True, slots=True)
class _Record:
    """What an entry tells of a record: its facts, and which texts its digest stands for."""

    number: int
    facts: Mapping[str, Any]
    texts: Collection[str]


@dataclass(slots=True)
class _Told:
    """What a whole chain tells: the newest of each record, and of each message."""

    records: dict[str, _Record] = field(default_factory=dict)
    digests: dict[str, _Digest] = field(default_factory=dict)

    def learn(self, entry: AuditEntry) -> None:
        """Take in one more entry; raise an error where it can't be read."""
        payload = json.loads(entry.payload)
        if about := payload.get("about"):
            self.records[about] = _Record(entry.number, payload["facts"], payload["texts"])
        for name, digest in payload["digests"].items():
            self.digests[name] = _Digest(entry.number, digest, entry.openings.get(name))


def verify_all() -> Iterator[Verdict]:
    """Yield a verdict on each conversation, deleted ones included."""
    for conversation in Conversation.objects.order_by("created_at", "pk").iterator():
        yield verify(conversation)


def verify(conversation: Conversation) -> Verdict:
    """Follow the chain from its beginning, and compare all that it tells of with what is stored."""
    while True:
        seen = Conversation.objects.get(pk=conversation.pk)
        verdict = _verify(seen)
        now = Conversation.objects.filter(pk=seen.pk, audit_number=seen.audit_number)
        # What was written meanwhile came with an entry, and is no problem at the next look.
        if verdict.holds or now.exists():
            return verdict


def _verify(conversation: Conversation) -> Verdict:
    entries = list(conversation.audit_entries.in_order())
    begun = entries and entries[0].kind == AuditEntry.Kind.BEGINNING
    verdict = Verdict(conversation, entries[0].at if begun else conversation.created_at)
    verdict.entries = len(entries)
    verdict.waiting = conversation.last_seq - conversation.audit_seq
    verdict.problems = list(_breaks(conversation, entries))
    if verdict.holds:
        told = _Told()
        for entry in entries:
            try:
                told.learn(entry)
            except (ValueError, KeyError, TypeError, AttributeError):
                verdict.problems.append(_("Entry %s can't be read.") % entry.number)
        verdict.problems += [*_changed_messages(verdict, told), *_changed_records(verdict, told)]
    return verdict


def _breaks(conversation: Conversation, entries: Iterable[AuditEntry]) -> Iterator[str]:
    """Yield where the chain breaks first."""
    number, head = 0, audit.beginning(str(conversation.pk))
    for entry in entries:
        if entry.number != number + 1:
            yield _missing(number + 1, entry.number - 1)
            return
        if entry.previous != head:
            yield _("Entry %s does not follow what stands before it.") % entry.number
            return
        if entry.hash != entry.expected_hash:
            yield _("Entry %s is not what was written: its hash does not fit.") % entry.number
            return
        number, head = entry.number, entry.hash
    if number < conversation.audit_number:
        yield _("The end of the chain is cut off: %s") % _missing(
            number + 1, conversation.audit_number
        )
    elif number and (number, head) != (conversation.audit_number, conversation.audit_hash):
        yield _("Entry %s is not the one that the conversation knows as its newest.") % number


def _missing(first: int, last: int) -> str:
    if first >= last:
        return _("Entry %s is missing.") % first
    return _("Entries %(first)s to %(last)s are missing.") % {"first": first, "last": last}


def _changed_messages(verdict: Verdict, told: _Told) -> Iterator[str]:
    """Yield each message that is not as it was on record, and those that are gone."""
    conversation = verdict.conversation
    rows = Message.objects.filter(conversation=conversation, seq__lte=conversation.audit_seq)
    there = set()
    for seq, role, content in rows.order_by("seq").values_list("seq", "role", "content").iterator():
        name = audit.message_name(seq)
        there.add(name)
        known = told.digests.get(name)
        if known is None:
            yield _("Message %s is on no entry.") % seq
        elif known.salt is None and not content:
            verdict.erased += 1
        elif wrong := known.differs(_("Message %s") % seq, audit.said(role, content)):
            yield wrong
    for name in told.digests:
        if name.startswith("message ") and name not in there:
            yield _gone(name, told.digests[name].number)


def _gone(name: str, number: int) -> str:
    words = {"what": name.capitalize(), "number": number}
    return _("%(what)s, on record in entry %(number)s, is gone.") % words


def _changed_records(verdict: Verdict, told: _Told) -> Iterator[str]:
    """Yield each record that does not say what its newest entry tells."""
    rows = _records(verdict.conversation)
    for name, known in told.records.items():
        row = rows.get(name)
        if row is None:
            yield _gone(name, known.number)
        else:
            yield from _changed_facts(row, known)
            yield from _changed_texts(verdict, row, known, told.digests.get(name))


def _records(conversation: Conversation) -> dict[str, Recorded]:
    rows: dict[str, Recorded] = {}
    for model in Recorded.__subclasses__():
        found: RecordedQuerySet[Any] = RecordedQuerySet(model).told_in(conversation)
        rows |= {row.audited_as: row for row in found}
    return rows


def _changed_facts(row: Recorded, known: _Record) -> Iterator[str]:
    now = row.facts()
    for fact, then in known.facts.items():
        if fact in now and now[fact] != then:
            said = _("%(what)s has %(now)s as its %(fact)s, where entry %(number)s has %(then)s.")
            yield said % {
                "what": row.audited_as.capitalize(),
                "now": audit.written(now[fact]),
                "fact": fact,
                "number": known.number,
                "then": audit.written(then),
            }


def _changed_texts(
    verdict: Verdict, row: Recorded, known: _Record, digest: _Digest | None
) -> Iterator[str]:
    if digest is None:
        return
    now = row.contents()
    texts = {name: now[name] for name in known.texts if name in now}
    if digest.salt is None and not any(texts.values()):
        verdict.erased += 1
    elif wrong := digest.differs(_("What %s says") % row.audited_as, texts):
        yield wrong


def export(conversation: Conversation) -> dict[str, Any]:
    """Return a chain as JSON, with what its digests stand for, for others to check it."""
    told = chain_of(conversation)
    known = {name for entry in told["entries"] for name in entry["openings"]}
    rows = Message.objects.filter(conversation=conversation).order_by("seq")
    said = rows.values_list("seq", "role", "content")
    contents = {audit.message_name(seq): audit.said(role, one) for seq, role, one in said}
    contents |= {name: row.contents() for name, row in _records(conversation).items()}
    return {**told, "contents": {name: one for name, one in contents.items() if name in known}}


def chain_of(conversation: Conversation) -> dict[str, Any]:
    """Return a chain as JSON, without what its digests stand for."""
    entries = conversation.audit_entries.in_order()
    return {
        "format": audit.FORMAT,
        "conversation": str(conversation.pk),
        "entries": [
            {"at": audit.moment(one.at), **{name: getattr(one, name) for name in _EXPORTED}}
            for one in entries
        ],
    }
