"""Audit checks: follow a conversation's chain, and describe its breaks in sentences."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.utils.translation import gettext_noop

from chatapp.models import AuditEntry, Conversation, Deletion, Message, audit
from chatapp.models.audit import Recorded, RecordedQuerySet
from chatapp.models.database import now, reading_damaged_text
from chatapp.project.sentences import translate as _

# Raised by values that this software never stores.
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

# Sentences on a message, and on a record.
_CHANGED = (
    gettext_noop("Message {name} is not what entry {number} has on record."),
    gettext_noop("What {about} says is not what entry {number} has on record."),
)
_NOT_OPENED = (
    gettext_noop(
        "Message {name} can't be compared with entry {number}: what opens its digest is gone."
    ),
    gettext_noop(
        "What {about} says can't be compared with entry {number}: what opens its digest is gone."
    ),
)
_GONE = (
    gettext_noop("Message {name}, on record in entry {number}, is gone."),
    gettext_noop("{name}, on record in entry {number}, is gone."),
)

_EXPORTED = ("number", "kind", "payload", "previous", "hash", "openings")


@dataclass(slots=True)
class ChainFindings:
    """The findings about one chain."""

    conversation: Conversation
    since: datetime  # on record since then
    entries: int = 0
    erased: int = 0  # contents that can't be compared any more
    waiting: int = 0  # messages for the next entry
    problems: list[str] = field(default_factory=list)  # sentences, none if it holds

    @property
    def holds(self) -> bool:
        """True if there are no problems."""
        return not self.problems


class _Told(NamedTuple):
    """One recorded value: a fact, or a digest."""

    number: int
    said: Any
    passes: bool  # a newer entry replaces it
    texts: Collection[str] | None = None  # of the digest
    salt: str | None = None  # None once it is erased

    def stored(self, contents: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the current content that the digest covers; None for erased content."""
        now = {one: contents[one] for one in self.texts or () if one in contents}
        is_empty = not any(now[one] for one in now if one != "role")
        return None if is_empty and self.salt is None else now


def verify_all() -> Iterator[ChainFindings]:
    """Yield a verdict on each conversation, deleted ones included."""
    with reading_damaged_text():
        for conversation in Conversation.objects.order_by("created_at", "pk").iterator():
            yield verify(conversation)


def verify(conversation: Conversation) -> ChainFindings:
    """Follow the chain from its beginning, and compare its digests with the stored rows."""
    try:
        with reading_damaged_text():
            return _verify(conversation)
    except Conversation.DoesNotExist:
        return ChainFindings(conversation, conversation.created_at)
    except _UNREADABLE as error:
        reason = str(error) or type(error).__name__
        said = _("The database could not be read to its end: {reason}.", reason=reason)
        return ChainFindings(conversation, conversation.created_at, problems=[said])


def _verify(conversation: Conversation) -> ChainFindings:
    while True:
        seen = Conversation.objects.get(pk=conversation.pk)
        entries = list(seen.audit_entries.in_order())
        begun = entries and entries[0].kind == AuditEntry.Kind.BEGINNING
        verdict = ChainFindings(seen, entries[0].at if begun else seen.created_at)
        verdict.entries = len(entries)
        verdict.waiting = seen.last_seq - seen.audit_seq
        verdict.problems = list(_breaks(seen, entries))
        if verdict.holds:
            _Comparison(verdict, entries).compare()
        if verdict.holds:
            return verdict
        # Rows that were written meanwhile came with an entry, and are no problem at the next look.
        if Conversation.objects.get(pk=seen.pk).audit_number == seen.audit_number:
            return verdict


def _breaks(conversation: Conversation, entries: Iterable[AuditEntry]) -> Iterator[str]:
    """Yield a sentence about the chain's first break, if it has one."""
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
    """Comparison of a chain's recorded values with the stored messages and records."""

    def __init__(self, verdict: ChainFindings, entries: Iterable[AuditEntry]) -> None:
        self.verdict = verdict
        self._note = verdict.problems.append
        # By the name of a message or record, and by that of a fact or digest.
        self.known = defaultdict[str, dict[str, list[_Told]]](dict)
        # The number of the entry on an erasure, and the names that it says were erased.
        self.erasure, self.erased = 0, set[str]()
        self.is_going_on = self.is_over = False
        for entry in entries:
            try:
                self._learn(entry, json.loads(entry.payload))
            except _UNREADABLE:
                self._note(_("Entry {number} can't be read.", number=entry.number))

    def _learn(self, entry: AuditEntry, payload: dict[str, Any]) -> None:
        for what, name, told in _told(entry, payload):
            known = self.known[what].get(name, [])
            self.known[what][name] = [*(one for one in known if not one.passes), told]
        if AuditEntry.Kind(entry.kind) == AuditEntry.Kind.ERASURE:
            self.erasure = entry.number
            # Entries of older versions mean everything on record.
            self.erased |= {*payload.get("erased", self.known)}

    def compare(self) -> None:
        """Note every stored value that differs from the record, and every unexplained gap."""
        conversation = self.verdict.conversation
        if self.erasure:
            self._judge_erasure()
        rows = Message.objects.filter(conversation=conversation, seq__lte=conversation.audit_seq)
        stored = rows.order_by("seq").values_list("seq", "role", "content")
        there = set()
        for seq, role, content in stored.iterator():
            there.add(name := audit.message_name(seq))
            self._compare(name, {}, audit.said(role, content))
            if name not in self.known and not self.is_going_on:
                self._note(_("Message {seq} is on no entry.", seq=seq))
        records = _records(conversation, self.known)
        for name, known in self.known.items():
            if row := records.get(name):
                self._compare(name, row.facts(), row.contents())
            elif name in self.erased and name not in there:
                self.verdict.erased += sum(told[-1].texts is not None for told in known.values())
            elif name not in there:
                self._note_about(name, _GONE, max(told[-1].number for told in known.values()))

    def _judge_erasure(self) -> None:
        owner = self.verdict.conversation.owner_id
        due = Deletion.objects.filter(user=owner, user__is_active=False, due_at__lte=now())
        done = [*due.values_list("done_at", flat=True)]
        self.is_over, self.is_going_on = any(done), done == [None]
        if not done:
            said = gettext_noop(
                "Entry {number} tells of an erasure, and the account was not deleted."
            )
            self._note(_(said, number=self.erasure))
            self.erased.clear()

    def _compare(self, name: str, facts: Mapping[str, Any], contents: Mapping[str, Any]) -> None:
        if self.is_over:
            self._note_about(name, _CHANGED, self.erasure)
        for part, known in self.known.get(name, {}).items():
            newest = known[-1]
            self.verdict.erased += newest.texts is not None and newest.stored(contents) is None
            for told in reversed(known):
                if told.texts is not None:
                    is_noted = self._note_digest(name, told, told.stored(contents))
                elif is_noted := facts.get(part, told.said) != told.said:
                    self._note_fact(name, part, told, facts[part])
                if is_noted:
                    break

    def _note_fact(self, name: str, fact: str, told: _Told, now: Any) -> None:
        said = _(
            "{what} has {now} as its {fact}, where entry {number} has {then}.",
            what=_called(name),
            now=audit.written(now),
            fact=fact,
            number=told.number,
            then=audit.written(told.said),
        )
        self._note(said)

    def _note_digest(self, name: str, told: _Told, now: dict[str, Any] | None) -> bool:
        """Note a content that differs from its digest; return True if it does."""
        if now is None or (told.salt is not None and audit.commit(told.salt, now) == told.said):
            return False
        self._note_about(name, _NOT_OPENED if told.salt is None else _CHANGED, told.number)
        return True

    def _note_about(self, name: str, sentences: tuple[str, str], number: int) -> None:
        """Note the first of two sentences for a message, the second for a record."""
        kind, _space, key = name.partition(" ")
        if kind == "message":
            self._note(_(sentences[0], name=key, number=number))
        else:
            self._note(_(sentences[1], name=_called(name), about=name, number=number))


def _told(entry: AuditEntry, payload: Mapping[str, Any]) -> Iterator[tuple[str, str, _Told]]:
    """Yield (message or record, name of the value, value) for each value of an entry."""
    number, about, facts = entry.number, payload.get("about", ""), payload.get("facts", {})
    model = _MODELS[AuditEntry.Kind(entry.kind)] if about else Recorded
    if about.partition(" ")[0] not in {"", entry.kind}:
        raise ValueError(about)
    is_open = facts.get("status") in model.OPEN
    for fact, then in facts.items() if about else ():
        yield about, fact, _Told(number, then, is_open or fact in model.CHANGING)
    for name, digest in payload["digests"].items():
        salt = entry.openings.get(name)
        if name.startswith("message "):
            yield name, name, _Told(number, digest, False, ("role", "content"), salt)
        else:
            texts = payload["texts"] if name == about else [name.removeprefix(f"{about} ")]
            passes = is_open or not {*texts}.isdisjoint(model.CHANGING)
            yield about, name, _Told(number, digest, passes, texts, salt)


def _called(name: str) -> str:
    """Return people's name for a record, from its name in entries."""
    kind, space, key = name.partition(" ")
    return f"{dict(AuditEntry.Kind.choices).get(kind, kind.capitalize())}{space}{key}"


_MODELS = {model.KIND: model for model in Recorded.__subclasses__()}


def _records(conversation: Conversation, names: Iterable[str]) -> dict[str, Recorded]:
    """Return the rows of each kind of record that is named; most chains name few kinds."""
    rows: dict[str, Recorded] = {}
    kinds = {name.partition(" ")[0] for name in names}
    for model in (model for kind, model in _MODELS.items() if kind in kinds):
        found: RecordedQuerySet[Any] = RecordedQuerySet(model).told_in(conversation)
        rows |= {row.audited_as: row for row in found}
    return rows


def export(conversation: Conversation) -> dict[str, Any]:
    """Return a chain as JSON, with the contents behind its digests, for others to check it."""
    entries = conversation.audit_entries.in_order()
    known = _Comparison(ChainFindings(conversation, conversation.created_at), entries).known
    said = conversation.messages.values_list("seq", "role", "content")
    stored = {audit.message_name(seq): audit.said(role, content) for seq, role, content in said}
    stored |= {name: row.contents() for name, row in _records(conversation, known).items()}
    contents = {
        name: now
        for what in known.keys() & stored.keys()
        for name, told in known[what].items()
        if told[-1].texts is not None and (now := told[-1].stored(stored[what])) is not None
    }
    return {**chain_of(conversation), "contents": contents}


def chain_of(conversation: Conversation) -> dict[str, Any]:
    """Return a chain as JSON, without the contents behind its digests."""
    entries = conversation.audit_entries.in_order()
    return {
        "format": audit.CHAIN_FORMAT,
        "conversation": str(conversation.pk),
        "entries": [
            {"at": audit.moment(one.at), **{name: getattr(one, name) for name in _EXPORTED}}
            for one in entries
        ],
    }
