"""Integrity: a sentence for each fault in the database, its tags and its records."""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Exists, F, OuterRef, Q, QuerySet

import condense
from chatapp import models
from chatapp.models import hidden_messages, message_index, message_store
from chatapp.models.database import is_shared
from chatapp.models.fields import UsdSum
from chatapp.operations import key_rotation
from chatapp.project.installation import PROGRAM
from chatapp.project.sentences import translate as _
from chatapp.records.maintenance import audit_check
from chatapp.records.maintenance.backups import first_damage, newer_migrations
from chatapp.storage.request_reader import RequestReader

# Places that are named of one kind of problem.
NAMED = 5


def find_problems() -> Iterator[str]:
    """Yield a sentence for each fault; reads everything, changes nothing."""
    failures = dict[str, None]()
    for look in _LOOKS:
        try:
            yield from look()
        except Exception as error:  # noqa: BLE001 - damage shows as anything that a reader raises
            failures[str(error) or type(error).__name__] = None
    for reason in failures:
        yield _("The database could not be read to its end: {reason}.", reason=reason)


def count_stored() -> dict[str, int]:
    """Return the numbers of conversations, messages and condensations that are checked."""
    return {
        "conversations": models.Conversation.objects.count(),
        "messages": models.Message.objects.count(),
        "condensations": models.Condensation.objects.count(),
    }


def find_changed() -> Iterator[models.Manifest]:
    """Yield the records that do not lead back to the bytes that were sent."""
    recorded = models.Manifest.objects.values("call__conversation")
    spoken = models.Conversation.objects.filter(pk__in=recorded).values_list("pk", flat=True)
    for conversation in spoken.iterator():
        reader = RequestReader(conversation)
        manifests = models.Manifest.objects.filter(call__conversation=conversation).order_by("pk")
        for manifest in manifests.iterator():
            try:
                digest = hashlib.sha256(reader.read(manifest)).digest()
            except (LookupError, ValueError, models.Manifest.DoesNotExist, zlib.error):
                digest = b""
            if digest != bytes(manifest.digest):
                yield manifest


def all_shown(total: int) -> str:
    """Return the sentence for this number of unchanged requests."""
    return _(
        "The only request can be shown as it was sent.",
        "All {count:,} requests can be shown as they were sent.",
        count=total,
    )


def _damage() -> Iterator[str]:
    """Yield damage that SQLite finds in its file; PostgreSQL checks its own."""
    if is_shared():
        return
    with connection.cursor() as cursor:
        if damage := first_damage(cursor):
            yield _("The database file is damaged: {damage}.", damage=damage)
        loose = (row[0] for row in cursor.execute("PRAGMA foreign_key_check").fetchall())
        yield from _named(_("A row of {name} names one that is not there."), loose)


def _migrations() -> Iterator[str]:
    executor = MigrationExecutor(connection)
    for name in newer_migrations(executor.loader.applied_migrations):
        yield _("The database is from a newer version: it has {name}.", name=name)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        yield _(
            "The database is from an older version: `{program} migrate` brings it up to date.",
            program=PROGRAM,
        )


def _imports() -> Iterator[str]:
    """Name the conversations being imported: their parts explain many other findings."""
    parts = models.Conversation.objects.filter(source__importer__gt="")
    yield from _named(_("Conversation {name} is being imported, or its import broke off."), parts)


def _index_of_words() -> Iterator[str]:
    """Check the index that search looks in, and compare it with the messages."""
    if not message_index.is_sound():
        yield _(
            "The index that search uses is damaged: `{program} rebuild_search` makes it anew.",
            program=PROGRAM,
        )
        return
    unknown = message_index.find_unknown(limit=100)
    yield from _named(_("Search does not know message {name}."), unknown)


def _hidden() -> Iterator[str]:
    """Compare the column ``hidden`` with the tags."""
    messages = models.Message.objects.all()
    shown = messages.shown_by_tags()
    hidden = shown.filter(hidden=True)
    yield from _named(_("Message {name} is hidden, and nothing says why."), hidden)
    visible = messages.filter(hidden=False).exclude(pk__in=shown.values("pk"))
    yield from _named(_("Message {name} is visible, and its tags hide it."), visible)


def _tags() -> Iterator[str]:
    """Look for tags that name nothing, and numbers out of order."""
    same = models.Message.objects.filter(conversation=OuterRef("conversation"))
    sentences = {
        "condense": _("Message {name} is hidden by a condense that is not there."),
        "truncation": _("Message {name} is hidden by a truncation that is not there."),
    }
    for name, sentence in sentences.items():
        there = Exists(same.filter(**{f"{name}_id": OuterRef(f"{name}_parent")}))
        orphans = models.Message.objects.filter(~there, **{f"{name}_parent__isnull": False})
        yield from _named(sentence, orphans)
    rewound = Exists(models.Rewind.objects.filter(pk=OuterRef("rewind_parent")))
    orphans = models.Message.objects.filter(~rewound, rewind_parent__isnull=False)
    yield from _named(_("Message {name} is hidden by a rewind that is not there."), orphans)
    late = models.Message.objects.filter(seq__gt=F("conversation__last_seq"))
    yield from _named(_("Message {name} has a number that was never handed out."), late)


def _records() -> Iterator[str]:
    """Compare each condensation with its message, and its cost with that of its calls."""
    succeeded, undone = models.Condensation.Status.SUCCEEDED, models.Condensation.Status.UNDONE
    done = models.Condensation.objects.filter(status__in=(succeeded, undone))
    yield from _named(_("Condensation {name} has no summary."), done.filter(message=None))
    in_vain = models.Condensation.objects.exclude(pk__in=done).exclude(message=None)
    yield from _named(_("Condensation {name} came to nothing, and has a summary."), in_vain)
    torn = done.exclude(message=None).exclude(
        Q(status=succeeded, message__undone=False) | Q(status=undone, message__undone=True)
    )
    yield from _named(
        _("Condensation {name} is undone in its record or in its message, and not in both."), torn
    )
    ended = models.Condensation.objects.exclude(status=models.Condensation.Status.RUNNING)
    priced = ended.exclude(cost=None).annotate(spent=UsdSum("calls__cost"))
    costs = priced.values_list("pk", "cost", "spent").iterator()
    wrong = (pk for pk, cost, spent in costs if cost != spent)
    yield from _named(_("Condensation {name} costs something else than its calls."), wrong)


def _hides() -> Iterator[str]:
    """Compare the ``hides`` of summaries and markers in force with the tags of messages."""

    def wrong() -> Iterator[object]:
        made = models.Message.objects.in_force().made_by_engine().filter(clear_id=None)
        for one in made.filter(hides__isnull=False).iterator(chunk_size=200):
            named = hidden_messages.hidden_by(one.conversation_id, [one])
            rows = models.Message.objects.hid_by(one), named, hidden_messages.all_behind(one)
            least, keys, most = [{*found.values_list("pk")} for found in rows]
            if not least <= keys <= most:
                yield one.pk

    yield from _named(_("Message {name} hides something else than it says."), wrong())


def _pins() -> Iterator[str]:
    """Compare the pins with the messages that they are on."""
    on = models.Pin.objects.filter(unpinned_at=None)
    pinned = models.Message.objects.filter(pinned=True)
    loose = pinned.exclude(pk__in=on.values("message"))
    yield from _named(_("Message {name} is pinned, and no pin is on record."), loose)
    off = models.Message.objects.filter(pk__in=on.values("message")).exclude(pk__in=pinned)
    yield from _named(_("Message {name} is not pinned, and a pin on it is on record."), off)
    changed = (pin.message_id for pin in on.select_related("message").iterator() if not pin.holds)
    yield from _named(_("Message {name} is not what it was when it was pinned."), changed)


def _reviews() -> Iterator[str]:
    waiting = models.Review.objects.filter(status=models.Review.Status.PENDING)
    alone = waiting.exclude(pk__in=models.Review.objects.pending())
    yield from _named(_("Review {name} waits, and no turn for it."), alone)


def _contents() -> Iterator[str]:
    """Read every message as the agent would."""

    def unreadable() -> Iterator[object]:
        for row in models.Message.objects.defer("turn").iterator(chunk_size=200):
            try:
                condense.content_from_api(row.content)
                message_store.to_engine(row)
            except (condense.InvalidMessage, KeyError, TypeError, ValueError):
                yield row.pk

    yield from _named(_("Message {name} can't be read."), unreadable())


def _keys() -> Iterator[str]:
    for place in key_rotation.find_unreadable():
        yield _("The {what} of {kind} {row} can't be read with this secret key.", **place)


def _named(sentence: str, found: QuerySet[Any] | Iterable[object]) -> Iterator[str]:
    """Yield the sentence for the first of the found rows, by ``name``, and the number of others.

    Rows are named by their keys.
    """
    if isinstance(found, QuerySet):
        found = found.values_list("pk", flat=True)
    count = 0
    for count, one in enumerate(found, 1):
        if count <= NAMED:
            yield sentence.format(name=one)
    if (others := count - NAMED) > 0:
        yield _("And one more of these.", "And {count} more of these.", count=others)


def _chains() -> Iterator[str]:
    """Follow the audit chain of each conversation."""
    for verdict in audit_check.verify_all():
        pk = verdict.conversation.pk
        said = _("Conversation {id}: {problem}", id=pk, problem="{name}")
        yield from _named(said, verdict.problems)


_LOOKS: tuple[Callable[[], Iterator[str]], ...] = (
    _damage, _migrations, _imports, _index_of_words, _hidden, _tags, _records, _hides, _pins,
    _reviews, _contents, _keys, _chains,
)  # fmt: skip
