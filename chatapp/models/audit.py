"""The audit chain: each change of a record is an entry, bound by its hash to all before it.

A model of records is ``Recorded``, and its rows are changed by ``change``: the entry is part of the
same transaction. An entry holds a record's numbers and names, and digests of its texts and of every
message that was written since the entry before. The salt that opens a digest is stored with the
entry and is no part of its hash: if a content is erased, its salt goes with it, the chain holds,
and nobody can guess and prove the content.
"""

import hashlib
import json
import secrets
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from operator import attrgetter
from typing import Any, ClassVar, Self, override

from django.db import connection, models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

import condense
from chatapp.models import fields
from chatapp.models.conversations import Conversation
from chatapp.models.database import insert, lock
from chatapp.models.errors import AppendOnly
from chatapp.models.messages import Message

# Part of all hashed bytes; another way to hash gets another name.
CHAIN_FORMAT = "palimpsest audit 1"


def written(value: Any) -> str:
    """Return a JSON value as it is hashed: keys in order, no spaces, all letters as they are."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def moment(at: datetime) -> str:
    """Return a time as it is hashed, in UTC."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def beginning(conversation: str) -> str:
    """Return the stand-in for a hash before the first entry of a conversation's chain."""
    return hashed(written([CHAIN_FORMAT, conversation]))


def commit(salt: str, content: Any) -> str:
    """Return the digest of a content, which reveals nothing of it without the salt."""
    return hashed(salt + written(content))


def hashed(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


SALT_BYTES = 16


class AuditEntryQuerySet(models.QuerySet["AuditEntry"]):
    """Entries in their order; they can be read and added to."""

    def in_order(self) -> "AuditEntryQuerySet":
        """Return entries as they were written."""
        return self.order_by("number")

    @override
    def update(self, **columns: Any) -> int:
        """Refuse any change but that of the digests' openings, as when a content is erased."""
        if columns.keys() - {"openings"}:
            raise AppendOnly("An entry of the audit chain is never changed.")
        return super().update(**columns)

    @override
    def delete(self) -> tuple[int, dict[str, int]]:
        """Refuse."""
        raise AppendOnly("An entry of the audit chain is never deleted.")


class AuditEntry(models.Model):
    """Entry ``number`` of a conversation's chain, from 1; ``previous`` is the hash before it.

    The ``payload`` is kept as the text that was hashed: a JSON object with ``digests`` by the names
    of their contents, and if it is ``about`` a record its name, its ``facts``, and the ``texts``
    that its digest stands for. ``openings`` are the salts of the digests whose contents are not
    erased. An ``erasure`` lists in ``erased`` the messages and records of the deleted account.
    """

    class Kind(models.TextChoices):
        """The subject of an entry."""

        BEGINNING = "beginning", _("Beginning")
        CONDENSATION = "condensation", _("Condensation")
        REWIND = "rewind", pgettext_lazy("event", "Rewind")
        QUESTION = "question", _("Question")
        PIN = "pin", pgettext_lazy("event", "Pin")
        FORK = "fork", _("Fork")
        REVIEW = "review", _("Review")
        FORGETTING = "forgetting", _("Forgetting")
        SEAL = "seal", _("Seal")
        ERASURE = "erasure", _("Erasure")

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="audit_entries")
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=20, choices=Kind)
    at = models.DateTimeField()
    payload = models.TextField()
    previous = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)
    openings = models.JSONField(default=dict)

    objects = AuditEntryQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("conversation", "number"), name="audit_number"),
        )

    @override
    def save(self, *_args: Any, **_options: Any) -> None:
        """Refuse: only ``append`` adds entries."""
        raise AppendOnly("An entry of the audit chain is only appended.")

    @override
    def delete(self, *_args: Any, **_options: Any) -> tuple[int, dict[str, int]]:
        """Refuse."""
        raise AppendOnly("An entry of the audit chain is never deleted.")

    @property
    def expected_hash(self) -> str:
        """The hash of the entry's place, kind, moment, payload and predecessor."""
        place = [CHAIN_FORMAT, str(self.conversation_id), self.number]
        told = [self.kind, moment(self.at), self.payload, self.previous]
        return hashed(written([*place, *told]))


class RecordedQuerySet[M: "Recorded"](models.QuerySet[M]):
    """Records, which are changed together with the chain."""

    def change(self, **columns: Any) -> int:
        """Change these records and enter each in its conversation's chain; return their number."""
        with transaction.atomic():
            if connection.features.has_select_for_update:
                chats = {*self.values_list(self.model.AUDITED_IN, flat=True)}
                if chats:
                    lock(Conversation, *chats)
            rows = list(self.with_conversation().select_for_update(of=("self",)))
            for row in rows:
                for name, value in columns.items():
                    setattr(row, name, value)
                if row.SAID:
                    columns["sentences"] = fields.sentences_of(row)
                models.QuerySet(self.model).filter(pk=row.pk).update(**columns)
                row.enter()
        return len(rows)

    def told_in(self, conversation: Conversation) -> Self:
        """Return the records that are part of this conversation's chain."""
        return self.filter(**{self.model.AUDITED_IN: conversation.pk})

    def with_conversation(self) -> Self:
        """Join the row that names the conversation to each record."""
        through = self.model.AUDITED_IN.rpartition("__")[0]
        return self.select_related(through) if through else self

    @override
    def update(self, **columns: Any) -> int:
        """Change columns that are no part of the record; the others need ``change``."""
        kept = {*self.model.FACTS, *self.model.CONTENTS, "message"} & columns.keys()
        if kept:
            raise AppendOnly(f"{', '.join(sorted(kept))} can be changed with `change` only.")
        return super().update(**columns)


class Recorded(models.Model):
    """A row with audit entries; outside the statuses ``OPEN`` it changes only in ``CHANGING``."""

    KIND: ClassVar[AuditEntry.Kind]
    AUDITED_IN: ClassVar[str] = "conversation_id"  # filter path to the conversation's key
    FACTS: ClassVar[tuple[str, ...]]  # columns in plain text
    CONTENTS: ClassVar[tuple[str, ...]] = ()  # columns as a digest
    OPEN: ClassVar[tuple[str, ...]] = ("pending",)  # statuses
    CHANGING: ClassVar[tuple[str, ...]] = ()  # may change; each content with its own digest
    SAID: ClassVar[frozenset[str]] = frozenset()

    class Meta:
        abstract = True

    @property
    def audited_as(self) -> str:
        """The name of the record in entries."""
        return f"{self.KIND} {self.pk}"

    def facts(self) -> dict[str, Any]:
        """Return the columns that entries hold in plain."""
        return {name: column_to_json(getattr(self, name)) for name in self.FACTS}

    def contents(self) -> dict[str, Any]:
        """Return the columns that entries hold as digests."""
        return {name: column_to_json(getattr(self, name)) for name in self.CONTENTS}

    def enter(self) -> None:
        """Append an entry with the record as it is now."""
        name, texts = self.audited_as, self.contents()
        changing = [one for one in self.CHANGING if one in texts]
        contents = {f"{name} {one}": {one: texts.pop(one)} for one in changing}
        append(
            attrgetter(self.AUDITED_IN.replace("__", "."))(self),
            self.KIND,
            told={"about": name, "facts": self.facts(), "texts": [*texts]},
            contents=contents | ({name: texts} if texts else {}),
        )


def column_to_json(value: Any) -> Any:
    """Return a column's value as JSON, the same before and after it is stored."""
    match value:
        case datetime():
            return moment(value)
        case Decimal():
            return format(round(value, fields.USD_PLACES).normalize(), "f")
        case uuid.UUID():
            return str(value)
        case condense.Receipt():
            return condense.well_formed_json(value.to_json())
    return condense.well_formed_json(value)


def append(
    conversation_id: uuid.UUID,
    kind: AuditEntry.Kind,
    *,
    told: Mapping[str, Any] | None = None,
    contents: Mapping[str, Any] | None = None,
) -> None:
    """Append an entry that holds ``told`` in plain and ``contents`` as digests.

    It commits to all messages as well that no other entry has yet. The caller's transaction holds
    the change that the entry records.
    """
    lock(Conversation, conversation_id)
    conversation = Conversation.objects.filter(pk=conversation_id)
    ((number, previous, seq),) = conversation.values_list("audit_number", "audit_hash", "audit_seq")
    committed = {**(contents or {})}
    news = Message.objects.filter(conversation=conversation_id, seq__gt=seq).order_by("seq")
    for newest, role, content in news.values_list("seq", "role", "content"):
        seq = newest
        committed[message_name(seq)] = said(role, content)
    openings = {name: secrets.token_hex(SALT_BYTES) for name in committed}
    digests = {name: commit(openings[name], one) for name, one in committed.items()}
    payload = written({**(told or {}), "digests": digests})
    entry = AuditEntry(
        conversation_id=conversation_id,
        number=number + 1,
        kind=kind,
        at=timezone.now(),
        payload=payload,
        previous=previous or beginning(str(conversation_id)),
        openings=openings,
    )
    entry.hash = entry.expected_hash
    insert(entry)
    conversation.update(audit_number=entry.number, audit_hash=entry.hash, audit_seq=seq)


def names_in(conversation: Conversation) -> Iterator[str]:
    """Yield the audit names of all messages and records of a conversation."""
    yield from map(message_name, conversation.messages.values_list("seq", flat=True))
    for model in Recorded.__subclasses__():
        rows: RecordedQuerySet[Any] = RecordedQuerySet(model).told_in(conversation)
        for pk in rows.values_list("pk", flat=True):
            yield f"{model.KIND} {pk}"


def message_name(seq: int) -> str:
    """Return the name of a message in entries."""
    return f"message {seq}"


def said(role: str, content: Any) -> dict[str, Any]:
    """Return the part of a message that entries commit to."""
    return {"role": role, "content": content}
