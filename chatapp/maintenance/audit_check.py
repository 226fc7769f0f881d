"""Audit checks: a conversation's chain holds, or a sentence says where it breaks."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.utils.translation import gettext_noop

from chatapp.models import AuditEntry, Conversation, Message, audit
from chatapp.models.audit import Recorded, RecordedQuerySet
from chatapp.sentences import translate as _

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


class _Digest(NamedTuple):
    """What an entry has on record of one content; without a ``salt`` that was erased."""

    number: int
    digest: str
    salt: str | None


class _Record(NamedTuple):
    """What an entry tells of a record: its facts, and which texts its digest stands for."""

    number: int
    facts: Mapping[str, Any]
    texts: Collection[str]


def verify_all() -> Iterator[Verdict]:
    """Yield a verdict on each conversation, deleted ones included."""
    for conversation in Conversation.objects.order_by("created_at", "pk").iterator():
        yield verify(conversation)


def verify(conversation: Conversation) -> Verdict:
    """Follow the chain from its beginning, and compare all that it tells of with what is stored."""
    while True:
        seen = Conversation.objects.get(pk=conversation.pk)
        entries = list(seen.audit_entries.in_order())
        begun = entries and entries[0].kind == AuditEntry.Kind.BEGINNING
        verdict = Verdict(seen, entries[0].at if begun else seen.created_at)
        verdict.entries = len(entries)
        verdict.waiting = seen.last_seq - seen.audit_seq
        verdict.problems = list(_breaks(seen, entries))
        if verdict.holds:
            comparison = _Comparison(verdict)
            for entry in entries:
                comparison.learn(entry)
            comparison.compare()
        now = Conversation.objects.filter(pk=seen.pk, audit_number=seen.audit_number)
        # What was written meanwhile came with an entry, and is no problem at the next look.
        if verdict.holds or now.exists():
            return verdict


def _breaks(conversation: Conversation, entries: Iterable[AuditEntry]) -> Iterator[str]:
    """Yield where the chain breaks first."""
    number, head = 0, audit.beginning(str(conversation.pk))
    for number, entry in enumerate(entries, 1):
        if entry.number != number:
            yield _missing(number, entry.number - 1)
            return
        if entry.previous != head:
            yield _("Entry {number} does not follow what stands before it.", number=number)
            return
        if entry.hash != entry.expected_hash:
            yield _("Entry {number} is not what was written: its hash does not fit.", number=number)
            return
        head = entry.hash
    if number < conversation.audit_number:
        missing = _missing(number + 1, conversation.audit_number)
        yield _("The end of the chain is cut off: {missing}", missing=missing)
    elif number and (number, head) != (conversation.audit_number, conversation.audit_hash):
        yield _("Entry {id} is not the one that the conversation knows as its newest.", id=number)


def _missing(first: int, last: int) -> str:
    if first >= last:
        return _("Entry {number} is missing.", number=first)
    return _("Entries {first} to {last} are missing.", first=first, last=last)


class _Comparison:
    """The newest that a chain tells of each record and message, compared with what is stored."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self._note = verdict.problems.append
        self.records: dict[str, _Record] = {}
        self.digests: dict[str, _Digest] = {}
        self.is_erased = False

    def learn(self, entry: AuditEntry) -> None:
        """Take in one more entry."""
        self.is_erased |= entry.kind == AuditEntry.Kind.ERASURE
        try:
            payload = json.loads(entry.payload)
            if about := payload.get("about"):
                self.records[about] = _Record(entry.number, payload["facts"], payload["texts"])
            for name, digest in payload["digests"].items():
                self.digests[name] = _Digest(entry.number, digest, entry.openings.get(name))
        except (ValueError, KeyError, TypeError, AttributeError):
            self._note(_("Entry {number} can't be read.", number=entry.number))

    def compare(self) -> None:
        """Note all that is not as it was on record, unless all of it was erased with its user."""
        if self.is_erased:
            self.verdict.erased += len(self.digests)
            return
        self.compare_messages()
        self.compare_records()

    def compare_messages(self) -> None:
        """Note each message that is not as it was on record, and those that are gone."""
        conversation = self.verdict.conversation
        rows = Message.objects.filter(conversation=conversation, seq__lte=conversation.audit_seq)
        stored = rows.order_by("seq").values_list("seq", "role", "content")
        there = set()
        for seq, role, content in stored.iterator():
            name = audit.message_name(seq)
            there.add(name)
            if known := self.digests.get(name):
                said = audit.said(role, content)
                self._compare(name, known, said, is_erased=not content)
            else:
                self._note(_("Message {seq} is on no entry.", seq=seq))
        for name, known in self.digests.items():
            if name.startswith("message ") and name not in there:
                self._note_gone(name, known.number)

    def compare_records(self) -> None:
        """Note each record that does not say what its newest entry tells."""
        rows = _records(self.verdict.conversation)
        for name, known in self.records.items():
            if (row := rows.get(name)) is None:
                self._note_gone(name, known.number)
                continue
            now, contents = row.facts(), row.contents()
            for fact, then in known.facts.items():
                if fact in now and now[fact] != then:
                    said = _(
                        "{what} has {now} as its {fact}, where entry {number} has {then}.",
                        what=_called(name),
                        now=audit.written(now[fact]),
                        fact=fact,
                        number=known.number,
                        then=audit.written(then),
                    )
                    self._note(said)
            if digest := self.digests.get(name):
                texts = {one: contents[one] for one in known.texts if one in contents}
                is_erased = not any(texts.values())
                self._compare(name, digest, texts, is_erased=is_erased)

    def _compare(self, name: str, known: _Digest, content: Any, *, is_erased: bool) -> None:
        if known.salt is None and is_erased:
            self.verdict.erased += 1
        elif known.salt is None:
            message = gettext_noop(
                "Message {name} can't be compared with entry {number}: what opens its digest "
                "is gone."
            )
            record = gettext_noop(
                "What {about} says can't be compared with entry {number}: what opens its "
                "digest is gone."
            )
            self._note_about(name, message, record, known.number)
        elif audit.commit(known.salt, content) != known.digest:
            message = gettext_noop("Message {name} is not what entry {number} has on record.")
            record = gettext_noop("What {about} says is not what entry {number} has on record.")
            self._note_about(name, message, record, known.number)

    def _note_about(self, name: str, message: str, record: str, number: int) -> None:
        """Note what one of two sentences says: of a message, by its number, or of a record."""
        kind, _space, key = name.partition(" ")
        if kind == "message":
            self._note(_(message, name=key, number=number))
        else:
            self._note(_(record, name=_called(name), about=name, number=number))

    def _note_gone(self, name: str, number: int) -> None:
        message = gettext_noop("Message {name}, on record in entry {number}, is gone.")
        record = gettext_noop("{name}, on record in entry {number}, is gone.")
        self._note_about(name, message, record, number)


def _called(name: str) -> str:
    """Return how people call a record that entries name so."""
    kind, space, key = name.partition(" ")
    return f"{dict(AuditEntry.Kind.choices).get(kind, kind.capitalize())}{space}{key}"


def _records(conversation: Conversation) -> dict[str, Recorded]:
    rows: dict[str, Recorded] = {}
    for model in Recorded.__subclasses__():
        found: RecordedQuerySet[Any] = RecordedQuerySet(model).told_in(conversation)
        rows |= {row.audited_as: row for row in found}
    return rows


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
