"""Imports: pieces of a file become a conversation, whole or not at all."""

import itertools
import logging
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError, models, transaction
from django.db.models import Sum
from django.utils import timezone

from chatapp.conversations import conversations
from chatapp.conversations.context import sizes
from chatapp.conversations.context.turn_context import terms_with
from chatapp.conversations.forgotten_passages import forget_as_asked
from chatapp.conversations.pins import pin_message
from chatapp.models import (
    AuditEntry,
    Condensation,
    Conversation,
    ImportRun,
    Message,
    ModelCall,
    Profile,
    Review,
    Source,
    Turn,
    accounts,
    audit,
    errors,
)
from chatapp.models.audit import Recorded, RecordedQuerySet
from chatapp.models.conversations import LONGEST_TITLE
from chatapp.models.database import Stopped, piece
from chatapp.models.meanings import mark_due
from chatapp.models.processes import is_left, this_process
from chatapp.models.versions import read_versions
from chatapp.providers import keyless_spec
from chatapp.records.transfer import Begin, Beside, Piece, Problem, Unusable
from chatapp.records.transfer.import_spool import Spool
from chatapp.records.transfer.record_rows import WRONG_MESSAGE, Column, Rows, as_own, read
from chatapp.records.transfer.record_tables import BY_SECTION, MESSAGES_KEY, TABLES
from chatapp.records.transfer.request_records import store_requests
from chatapp.records.transfer.transcript_files import TOO_LARGE
from chatapp.turns import lifecycle
from condense import noop, say

log = logging.getLogger(__name__)

# Messages whose tags are examined in one transaction, and rows that are put on record in one.
BATCH, RECORDS = 500, 100
# Sentences about items that could not be used; a broken file can have as many as messages.
PROBLEMS_KEPT = 100
# Characters that an object counts besides its text.
BLOCK = 100
# The end of a file's name that says its kind.
_ENDING = re.compile(r"(?:\.(?:json|jsonl|ndjson|zip|gz))+$", re.IGNORECASE)
# Without a vendor behind it, a window may be as large as any recorded session.
ROOMY_WINDOW = 2_000_000

_SECTIONS = {*BY_SECTION, "conversation", "fragments", "requests", "chains"}


def load_conversation(
    pieces: Iterable[Piece], *, owner: User, source: Source, title: str = ""
) -> Conversation:
    """Store the pieces as a new conversation from this source; raise Refused if that fails.

    A profile answers it that is large enough, and pins stay as long as they fit there. Its title is
    the given one, the file's, or the file's name. It is stored in pieces, and hidden until the last
    is stored; ``remove_parts`` deletes the pieces of a process that ended before.
    """
    with Spool() as spool:
        _take_in(pieces, spool, source)
        conversation = _begin(owner, source, spool)
        try:
            return _load(conversation, spool, source, title)
        except Stopped:
            # The process that takes it over, or the next start, removes the files: it may be long.
            raise
        except BaseException as error:
            _erase(conversation)
            if isinstance(error, IntegrityError):
                reason = noop("The file contradicts itself, so nothing of it was imported.")
                raise errors.Refused(reason) from error
            raise


class ImportResult(NamedTuple):
    """The result for one conversation of a file: it is its source's, or there is a ``refusal``."""

    title: str
    source: Source
    refusal: str


def load_conversations(
    pieces: Iterable[Piece], *, owner: User, source: Source, title: str = ""
) -> Iterator[ImportResult]:
    """Store each conversation of a file by itself, and yield its outcome.

    Those that the source's run has imported already are left as they are.
    """
    done = {one.place: one for one in source.run.sources.filter(importer="")} if source.run else {}
    place = (0, "")

    def place_of(one: Piece) -> tuple[int, str]:
        nonlocal place
        if isinstance(one, Begin):
            place = (place[0] + 1, one.title)
        return place

    for (number, called), part in itertools.groupby(pieces, place_of):
        if number in done:
            yield ImportResult(called, done[number], "")
            continue
        own, refusal = Source(form=source.form, name=source.name, digest=source.digest), ""
        own.run, own.place = source.run, number
        try:
            load_conversation(part, owner=owner, source=own, title=title)
        except errors.Refused as error:
            refusal = str(error)
        yield ImportResult(called, own, refusal)


def _take_in(pieces: Iterable[Piece], spool: Spool, source: Source) -> None:
    """Read a file to its end; raise Refused if it holds no message."""
    for one in pieces:
        match one:
            case Problem():
                _note(source, one)
            case Beside():
                if one.section in _SECTIONS:
                    spool.add(one.section, one.item)
            case dict():
                if is_too_large(one.get("content")):
                    number = spool.counts[MESSAGES_KEY] + 1
                    raise Unusable(WRONG_MESSAGE.format(number=number, problem=TOO_LARGE))
                spool.add(MESSAGES_KEY, as_own(one))
    if not spool.counts[MESSAGES_KEY]:
        raise errors.Refused(noop("The file holds no message that can be used."))


def is_too_large(content: Any) -> bool:
    """Return True if a message or one of its blocks exceeds the longest possible here."""
    sizes = [_size_of(one) for one in (content if isinstance(content, list) else [content])]
    most = settings.LONGEST_MESSAGE
    return (
        max(sizes, default=0) > 2 * most
        or sum(sizes) > (settings.ATTACHMENTS_PER_MESSAGE + 2) * most
    )


def _size_of(value: Any) -> int:
    """Return the characters of a value's texts, and some for each object; base64 is no text."""
    match value:
        case str():
            return len(value)
        case {"type": "base64"}:
            return 0
        case dict():
            return BLOCK + sum(map(_size_of, value.values()))
    return sum(map(_size_of, value)) if isinstance(value, list) else 0


def _note(source: Source, problem: Problem) -> None:
    # A problem of all items comes first, and counts as an item only if no item is named.
    source.unused += [one["index"] for one in source.problems] != [0]
    if len(source.problems) < PROBLEMS_KEPT:
        source.problems.append({"index": problem.index, "reason": problem.reason})


def _begin(owner: User, source: Source, spool: Spool) -> Conversation:
    """Return a conversation that is not visible yet."""
    with transaction.atomic():
        if source.run:
            source.run.hold()
        conversation = conversations.start_conversation(owner=owner)
        conversation.deleted_at = timezone.now()
        conversation.save(update_fields=["deleted_at"])
        source.conversation, source.importer = conversation, this_process()
        source.chains = [*spool.read("chains")]
        source.save(force_insert=True)
    return conversation


def _load(conversation: Conversation, spool: Spool, source: Source, title: str) -> Conversation:
    rows = Rows(conversation, spool.counts)
    unfinished = _store("turns", spool, rows)
    _store("rewinds", spool, rows)
    wanted_pins = _store_messages(spool, rows, source)
    for table in TABLES:
        if table.section not in {MESSAGES_KEY, "turns", "rewinds"}:
            _store(table.section, spool, rows)
    for keys in itertools.batched(rows.messages.values(), BATCH):
        with piece():
            conversation.messages.filter(pk__range=(keys[0], keys[-1])).refresh_hidden()
    store_requests(conversation, spool)
    conversation.refresh_from_db()
    if not all(one.is_sound for one in read_versions(conversation.pk).values()):
        raise Unusable(noop("The file's versions of a message contradict each other."))
    _check_pins(conversation, spool, wanted_pins)
    _describe(conversation, spool, _ENDING.sub("", source.name)[:LONGEST_TITLE])
    if title:
        conversations.rename_conversation(conversation=conversation, title=title)
    _enter_records(conversation, spool)
    _close_unfinished(conversation, unfinished)
    choose_profile(conversation)
    # Messages that a file without pins on record has marked as pinned.
    for seq in () if spool.counts["pins"] else wanted_pins:
        try:
            with piece():
                pin_message(conversation=conversation, seq=seq)
        except errors.Refused as refusal:
            _note(source, Problem(seq, say("It is not pinned. {why}", why=refusal)))
    forget_as_asked(conversation)
    source.messages, source.importer = len(rows.messages), ""
    conversation.deleted_at = None
    with transaction.atomic():
        # From now on it is there for its owner.
        source.save(update_fields=["messages", "importer", "problems", "sentences", "unused"])
        conversation.save(update_fields=["deleted_at"])
        mark_due(conversation.pk)
    return conversation


def _store(section: str, spool: Spool, rows: Rows) -> dict[uuid.UUID, str]:
    """Store the rows of a section that is no message.

    Returns the status of each unfinished turn by its key. These are stored as finished, so that no
    process resumes them meanwhile.
    """
    stored: models.QuerySet[Any] = models.QuerySet(BY_SECTION[section].model)
    unfinished = dict[uuid.UUID, str]()
    for batch in spool.batches(section):
        made = list(rows.of(section, batch))
        for row in made:
            if isinstance(row, Turn) and row.finished_at is None:
                unfinished[row.pk] = row.status
                row.status, row.finished_at = Turn.Status.INTERRUPTED, timezone.now()
        with piece():
            stored.bulk_create(made)
    return unfinished


def _store_messages(spool: Spool, rows: Rows, source: Source) -> list[int]:
    """Store messages, each batch with its entry in the chain; return the seqs to pin."""
    conversation, wanted_pins = rows.conversation, list[int]()
    told = {"form": source.form, "file": source.digest, "chains": len(source.chains)}
    for batch in spool.batches(MESSAGES_KEY):
        with piece():
            for part in _without_own_names(batch):
                made = [rows.message(item) for item in part]
                Message.objects.bulk_create(made)
                rows.learn(made)
                wanted_pins += [row.seq for row in made if row.pinned]
            Conversation.objects.filter(pk=conversation.pk).update(last_seq=rows.last_seq)
            first = {"imported": told} if not conversation.audit_number else {}
            audit.append(conversation.pk, AuditEntry.Kind.BEGINNING, told=first)
            conversation.audit_number += 1
    return wanted_pins


def _without_own_names(batch: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield parts of a batch of which none names a message that is in it.

    Summaries and markers name others, which were written before them.
    """
    part = list[dict[str, Any]]()
    for item in batch:
        if part and (item.get("condense_id") or item.get("truncation_id") or item.get("cleared")):
            yield part
            part = []
        part.append(item)
    yield part


def _check_pins(conversation: Conversation, spool: Spool, wanted_pins: Sequence[int]) -> None:
    """Raise Unusable if pins do not hold; without rows of pins, unpin the ``wanted_pins``."""
    if not spool.counts["pins"]:
        for seqs in itertools.batched(wanted_pins, BATCH):
            with piece():
                conversation.messages.filter(seq__in=seqs).update(pinned=None)
        return
    pins = conversation.pins.filter(unpinned_at=None).select_related("message")
    held = {pin.seq for pin in pins if pin.holds and pin.seq == pin.message.seq}
    if held != {*wanted_pins} or len(held) != len(pins):
        raise Unusable(noop("The file's pins are not on the messages that they were put on."))


def _describe(conversation: Conversation, spool: Spool, title: str) -> None:
    """Set the conversation's own fields from the file, with this title as the default."""
    about = {"title": title} | next(spool.read("conversation"), {})
    for name in (names := ["title", "system_prompt", "created_at", "updated_at"]):
        if name in about:
            column = cast(Column, Conversation._meta.get_field(name))  # noqa: SLF001 - Django's documented API
            setattr(conversation, name, read(column, about[name]))
    conversation.save(update_fields=names)


def _enter_records(conversation: Conversation, spool: Spool) -> None:
    """Enter all imported records into the conversation's own chain."""
    for table in TABLES:
        if not (issubclass(table.model, Recorded) and spool.counts[table.section]):
            continue
        records: RecordedQuerySet[Any] = RecordedQuerySet(table.model)
        told = records.told_in(conversation).order_by(*table.order).values_list("pk", flat=True)
        for keys in itertools.batched([*told], RECORDS):
            with piece():
                for row in records.filter(pk__in=keys).with_conversation().order_by(*table.order):
                    row.enter()


def _close_unfinished(conversation: Conversation, turns: Mapping[uuid.UUID, str]) -> None:
    """End all that was running or waiting at the export: no process works on it here."""
    reason = noop("This was running when the conversation was exported.")
    for pk, status in turns.items():
        with piece():
            Turn.objects.filter(pk=pk).update(status=status, finished_at=None)
            turn = Turn.objects.get(pk=pk)
            lifecycle.finish_turn(turn=turn, status=Turn.Status.INTERRUPTED, error=reason)
    calls = conversation.calls.filter(status=ModelCall.Status.RUNNING)
    calls.update(status=ModelCall.Status.INTERRUPTED, error=reason)
    if not conversation.condensations.exists():
        return
    attempts = conversation.condensations.filter(status=Condensation.Status.RUNNING)
    attempts.change(status=Condensation.Status.FAILED, error=reason, finished_at=timezone.now())
    drafts = conversation.condensations.filter(status=Condensation.Status.DRAFTED)
    reason = noop("It was drafted where it came from.")
    drafts.change(status=Condensation.Status.UNUSED, error=reason)
    reviews = Review.objects.filter(condensation__conversation=conversation)
    waiting = reviews.filter(status=Review.Status.PENDING)
    waiting.change(status=Review.Status.WITHDRAWN, answered_at=timezone.now())


def remove_parts(of: ImportRun | None = None) -> None:
    """Delete the remains of imports that ended before their last piece.

    The remains ``of`` a run that starts again are deleted too, whichever process stored them.
    """
    for source in Source.objects.exclude(importer="").select_related("conversation", "run"):
        run = source.run
        is_over = run is not None and (run == of or run.finished_at is not None)
        if is_over or is_left(source.importer):
            _erase(source.conversation)


def _erase(conversation: Conversation) -> None:
    """Delete the conversation of an unfinished import in pieces, its source last."""
    try:
        for relation in Conversation._meta.related_objects:  # noqa: SLF001 - Django's documented API
            rows: models.QuerySet[Any] = models.QuerySet(relation.related_model)
            rows = rows.filter(**{relation.field.name: conversation.pk})
            while rows.model is not Source and (
                keys := [*rows.values_list("pk", flat=True)[:RECORDS]]
            ):
                with piece():
                    models.QuerySet(rows.model).filter(pk__in=keys).delete()
        conversation.delete()
    except DatabaseError:
        log.exception("a part of an import stays until the next start")


def choose_profile(conversation: Conversation) -> None:
    """Choose a profile with room: the default one, the smallest, or a new one of the stand-in."""
    owner = conversation.owner
    seen = conversation.messages.effective().aggregate(sum=Sum("tokens", default=0))["sum"]
    preferences = accounts.preferences_of(owner)
    default = preferences.default_profile
    for profile in filter(None, (default, *owner.profiles.order_by("context_window"))):
        terms = terms_with(conversation, profile)
        if seen + sum(sizes.overhead_of(terms)) <= terms.budget().allowed:
            break
    else:
        spec = keyless_spec()
        profile, _made = Profile.objects.get_or_create(
            owner=owner,
            name=f"{spec.first_profile}, large window",
            defaults={
                "provider": spec.name,
                "model": spec.models[0].id,
                "context_window": ROOMY_WINDOW,
                "max_output": 2_000,
            },
        )
    conversation.profile = profile
    conversation.save(update_fields=["profile"])
