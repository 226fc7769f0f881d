"""Audit checks: a conversation's chain holds, or a sentence says where it breaks."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.utils.translation import gettext_noop

from chatapp.models import AuditEntry, Conversation, Deletion, Message, audit
from chatapp.models.audit import Recorded, RecordedQuerySet
from chatapp.sentences import translate as _

# Raised by values that this software never stores.
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

_CHANGED_MESSAGE = gettext_noop("Message {name} is not what entry {number} has on record.")
_CHANGED_RECORD = gettext_noop("What {about} says is not what entry {number} has on record.")

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


class _Told(NamedTuple):
    """What an entry has on record: a fact, or a digest of ``texts``; that has a ``salt``, or none.

    It holds for good, or where it ``passes`` until another entry tells the same.
    """

    number: int
    said: Any
    passes: bool = False
    texts: Collection[str] = ()
    salt: str | None = None

    def stored(self, contents: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what the digest is of, as it is now; None where that was erased."""
        now = {one: contents[one] for one in self.texts if one in contents}
        is_empty = not any(now[one] for one in now if one != "role")
        return None if is_empty and self.salt is None else now


class _Known(defaultdict[str, list[_Told]]):
    """All that holds, by the name of a fact or a digest."""

    def __init__(self) -> None:
        super().__init__(list)

    def learn(self, name: str, told: _Told) -> None:
        """Add what a newer entry tells."""
        self[name] = [*(one for one in self[name] if not one.passes), told]


@dataclass(slots=True)
class _Record:
    """What entries tell of a record; ``number`` is that of the newest."""

    number: int = 0
    facts: _Known = field(default_factory=_Known)
    digests: _Known = field(default_factory=_Known)


def verify_all() -> Iterator[Verdict]:
    """Yield a verdict on each conversation, deleted ones included."""
    for conversation in Conversation.objects.order_by("created_at", "pk").iterator():
        yield verify(conversation)


def verify(conversation: Conversation) -> Verdict:
    """Follow the chain from its beginning, and compare all that it tells of with what is stored."""
    try:
        return _verify(conversation)
    except _UNREADABLE as error:
        reason = str(error) or type(error).__name__
        said = _("The database could not be read to its end: {reason}.", reason=reason)
        return Verdict(conversation, conversation.created_at, problems=[said])


def _verify(conversation: Conversation) -> Verdict:
    while True:
        seen = Conversation.objects.get(pk=conversation.pk)
        entries = list(seen.audit_entries.in_order())
        begun = entries and entries[0].kind == AuditEntry.Kind.BEGINNING
        verdict = Verdict(seen, entries[0].at if begun else seen.created_at)
        verdict.entries = len(entries)
        verdict.waiting = seen.last_seq - seen.audit_seq
        verdict.problems = list(_breaks(seen, entries))
        if verdict.holds:
            _Comparison(verdict, entries).compare()
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
    """What a chain tells of each record and message, compared with what is stored."""

    def __init__(self, verdict: Verdict, entries: Iterable[AuditEntry]) -> None:
        self.verdict = verdict
        self._note = verdict.problems.append
        self.records = defaultdict[str, _Record](_Record)
        self.messages = _Known()
        # By what was erased with its user: the entry that says so.
        self.erased: dict[str, int] = {}
        self.erasure, self.is_going_on, self.is_over = 0, False, False
        for entry in entries:
            try:
                self._learn(entry)
            except _UNREADABLE:
                self._note(_("Entry {number} can't be read.", number=entry.number))

    def _learn(self, entry: AuditEntry) -> None:
        payload, kind = json.loads(entry.payload), AuditEntry.Kind(entry.kind)
        if about := payload.get("about"):
            self._learn_record(about, entry, payload)
        for name, digest in payload["digests"].items():
            if name.startswith("message "):
                salt = entry.openings.get(name)
                said = _Told(entry.number, digest, texts=("role", "content"), salt=salt)
                self.messages.learn(name, said)
        if kind == AuditEntry.Kind.ERASURE:
            self.erasure = entry.number
            # Older ones have no names: they meant all that was on record.
            names = payload.get("erased", [*self.messages, *self.records])
            self.erased |= dict.fromkeys(names, entry.number)

    def _learn_record(self, about: str, entry: AuditEntry, payload: Mapping[str, Any]) -> None:
        if about.partition(" ")[0] != entry.kind:
            raise ValueError(about)
        model, record = _MODELS[entry.kind], self.records[about]
        record.number = entry.number
        is_open = payload["facts"].get("status") in model.OPEN
        for fact, then in payload["facts"].items():
            passes = is_open or fact in model.CHANGING
            record.facts.learn(fact, _Told(entry.number, then, passes))
        for name, digest in payload["digests"].items():
            if not name.startswith("message "):
                texts = payload["texts"] if name == about else [name.removeprefix(f"{about} ")]
                passes = is_open or not {*model.CHANGING}.isdisjoint(texts)
                told = _Told(entry.number, digest, passes, texts, entry.openings.get(name))
                record.digests.learn(name, told)

    def compare(self) -> None:
        """Note all that is not as it was on record, and what is gone and was not erased."""
        if self.erasure:
            owner = self.verdict.conversation.owner_id
            deletion = Deletion.objects.filter(user=owner).first()
            if deletion is None:
                said = _(
                    "Entry {number} tells of an erasure, and the account was not deleted.",
                    number=self.erasure,
                )
                self._note(said)
                self.erased.clear()
            self.is_over = deletion is not None and deletion.done_at is not None
            self.is_going_on = deletion is not None and not self.is_over
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
            self._note_kept(name)
            if known := self.messages.get(name):
                self._compare(name, known, audit.said(role, content))
            elif not self.is_going_on:
                self._note(_("Message {seq} is on no entry.", seq=seq))
        for name, known in self.messages.items():
            if name not in there:
                self._note_gone(name, known[-1].number, contents=1)

    def compare_records(self) -> None:
        """Note each record that does not say what entries tell of it."""
        rows = _records(self.verdict.conversation)
        for name, record in self.records.items():
            if (row := rows.get(name)) is None:
                self._note_gone(name, record.number, contents=len(record.digests))
                continue
            self._note_kept(name)
            now, contents = row.facts(), row.contents()
            for fact in record.facts.keys() & now.keys():
                self._compare_fact(name, fact, now[fact], record.facts[fact])
            for known in record.digests.values():
                self._compare(name, known, contents)

    def _compare_fact(self, name: str, fact: str, now: Any, known: list[_Told]) -> None:
        for told in known[::-1]:
            if told.said != now:
                said = _(
                    "{what} has {now} as its {fact}, where entry {number} has {then}.",
                    what=_called(name),
                    now=audit.written(now),
                    fact=fact,
                    number=told.number,
                    then=audit.written(told.said),
                )
                self._note(said)
                return

    def _compare(self, name: str, known: list[_Told], contents: Mapping[str, Any]) -> None:
        for told in known[::-1]:
            if (now := told.stored(contents)) is None:
                self.verdict.erased += 1
                return
            if told.salt is None:
                message = gettext_noop(
                    "Message {name} can't be compared with entry {number}: what opens its digest "
                    "is gone."
                )
                record = gettext_noop(
                    "What {about} says can't be compared with entry {number}: what opens its "
                    "digest is gone."
                )
                self._note_about(name, message, record, told.number)
                return
            if audit.commit(told.salt, now) != told.said:
                self._note_about(name, _CHANGED_MESSAGE, _CHANGED_RECORD, told.number)
                return

    def _note_about(self, name: str, message: str, record: str, number: int) -> None:
        """Note what one of two sentences says: of a message, by its number, or of a record."""
        kind, _space, key = name.partition(" ")
        if kind == "message":
            self._note(_(message, name=key, number=number))
        else:
            self._note(_(record, name=_called(name), about=name, number=number))

    def _note_kept(self, name: str) -> None:
        if self.is_over and name in self.erased:
            self._note_about(name, _CHANGED_MESSAGE, _CHANGED_RECORD, self.erased[name])

    def _note_gone(self, name: str, number: int, *, contents: int) -> None:
        if name in self.erased:
            self.verdict.erased += contents
            return
        message = gettext_noop("Message {name}, on record in entry {number}, is gone.")
        record = gettext_noop("{name}, on record in entry {number}, is gone.")
        self._note_about(name, message, record, number)


def _called(name: str) -> str:
    """Return how people call a record that entries name so."""
    kind, space, key = name.partition(" ")
    return f"{dict(AuditEntry.Kind.choices).get(kind, kind.capitalize())}{space}{key}"


_MODELS = {model.KIND: model for model in Recorded.__subclasses__()}


def _records(conversation: Conversation) -> dict[str, Recorded]:
    rows: dict[str, Recorded] = {}
    for model in _MODELS.values():
        found: RecordedQuerySet[Any] = RecordedQuerySet(model).told_in(conversation)
        rows |= {row.audited_as: row for row in found}
    return rows


def export(conversation: Conversation) -> dict[str, Any]:
    """Return a chain as JSON, with what its digests stand for, for others to check it."""
    entries = conversation.audit_entries.in_order()
    known = _Comparison(Verdict(conversation, conversation.created_at), entries)
    digests = [*known.messages.items()]
    stored: dict[str, Mapping[str, Any]] = {}
    for seq, role, content in conversation.messages.values_list("seq", "role", "content"):
        stored[audit.message_name(seq)] = audit.said(role, content)
    for name, row in _records(conversation).items():
        digests += known.records[name].digests.items()
        stored |= dict.fromkeys(known.records[name].digests, row.contents())
    there = {name: told[-1].stored(stored[name]) for name, told in digests if name in stored}
    contents = {name: one for name, one in there.items() if one is not None}
    return {**chain_of(conversation), "contents": contents}


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
