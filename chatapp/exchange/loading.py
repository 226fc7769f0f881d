"""Pieces of a file become a conversation: whole, or not at all."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from django.contrib.auth.models import User
from django.db import IntegrityError, models, transaction
from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from chatapp import services
from chatapp.exchange import columns
from chatapp.exchange.pieces import Beside, Piece, Problem, Unusable
from chatapp.exchange.profiles import find_profile
from chatapp.exchange.requests import store_requests
from chatapp.exchange.rows import Rows
from chatapp.exchange.tables import MESSAGES, TABLES, with_names
from chatapp.models import (
    AuditEntry,
    Condensation,
    Conversation,
    Message,
    ModelCall,
    Profile,
    Review,
    Source,
    Turn,
    audit,
)
from chatapp.models.audit import Recorded, RecordedQuerySet
from chatapp.models.versions import read_versions

BATCH = 500
# Of the sentences about what could not be used; a broken file can have as many as messages.
PROBLEMS_KEPT = 100


@dataclass(frozen=True, slots=True)
class Imported:
    """A conversation made from a file: its messages, and the profile that answers it."""

    conversation: Conversation
    messages: int
    profile: Profile
    source: Source


@dataclass(slots=True)
class _Found:
    """What of the pieces is no message: sections by their names, and what could not be used."""

    besides: defaultdict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    cleared: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    wishes: list[int] = field(default_factory=list)


def load_conversation(
    pieces: Iterable[Piece], *, owner: User, source: Source, title: str = ""
) -> Imported:
    """Store what was read as a new conversation from this source; refused when it can't be.

    A profile answers it that is large enough, and what is pinned stays so as long as it fits there.
    Its title is the given one, what the file says, or the file's name.
    """
    try:
        with transaction.atomic():
            imported = _load(pieces, owner, source)
            if title:
                services.rename_conversation(conversation=imported.conversation, title=title)
            return imported
    except Unusable as error:
        raise services.Refused(str(error)) from error
    except IntegrityError as error:
        reason = _("The file contradicts itself, so nothing of it was imported.")
        raise services.Refused(reason) from error


def _load(pieces: Iterable[Piece], owner: User, source: Source) -> Imported:
    conversation = services.start_conversation(owner=owner)
    rows, found = Rows(conversation), _Found()
    _store_messages(_messages(pieces, found, source), rows, found)
    if not rows.messages:
        raise services.Refused(_("The file holds no message that can be used."))
    _store_besides(rows, found)
    _check_versions(conversation)
    _check_pins(conversation, found)
    _describe(conversation, found, source.name.split(".")[0])
    _begin_record(conversation, source, found)
    _close_unfinished(conversation)
    profile = _answer(conversation)
    _pin_wishes(conversation, found, source)
    return Imported(conversation, len(rows.messages), profile, source)


def _messages(pieces: Iterable[Piece], found: _Found, source: Source) -> Iterator[dict[str, Any]]:
    """Yield the messages among the pieces, and keep the rest."""
    for piece in pieces:
        match piece:
            case Problem():
                _note(source, piece)
            case Beside():
                found.besides[piece.section].append(piece.item)
            case _:
                yield piece


def _note(source: Source, problem: Problem) -> None:
    source.unused += 1
    if len(source.problems) < PROBLEMS_KEPT:
        source.problems.append({"index": problem.index, "reason": problem.reason})


def _store_messages(messages: Iterable[dict[str, Any]], rows: Rows, found: _Found) -> None:
    for batch in itertools.batched(messages, BATCH):
        made = [rows.message(item) for item in batch]
        Message.objects.bulk_create(made)
        rows.messages |= {row.seq: row.pk for row in made}
        cleared = ((row.seq, item.get("cleared")) for row, item in zip(made, batch, strict=True))
        found.cleared |= {seq: lines for seq, lines in cleared if lines}
        found.wishes += [row.seq for row in made if row.pinned]


def _store_besides(rows: Rows, found: _Found) -> None:
    """Store all that is no message, and what of the messages depends on it."""
    mine = rows.conversation.messages.all()
    Conversation.objects.filter(pk=rows.conversation.pk).update(last_seq=rows.last_seq)
    for table in TABLES:
        if table.section != MESSAGES:
            made = list(rows.of(table.section, found.besides[table.section]))
            stored: models.QuerySet[Any] = models.QuerySet(table.model)
            stored.bulk_create(made, batch_size=BATCH)
    rows.check()
    names = rows.names
    for row in mine.made_by_engine():
        row.content = with_names(row.content, names)
        row.cleared = rows.cleared(found.cleared.get(row.seq, {}))
        row.save(update_fields=["content", "cleared"])
    mine.refresh_hidden()
    store_requests(rows.conversation, found.besides)


def _check_versions(conversation: Conversation) -> None:
    """Raise Unusable where edits and other answers do not say which version is shown."""
    if not all(one.is_sound for one in read_versions(conversation.pk).values()):
        raise Unusable(_("The file's versions of a message contradict each other."))


def _check_pins(conversation: Conversation, found: _Found) -> None:
    """Raise Unusable where pins do not hold; a wish for one is no pin yet."""
    if not found.besides["pins"]:
        conversation.messages.filter(pinned=True).update(pinned=None)
        return
    pins = conversation.pins.filter(unpinned_at=None).select_related("message")
    held = {pin.seq for pin in pins if pin.holds and pin.seq == pin.message.seq}
    if held != {*found.wishes} or len(held) != len(pins):
        raise Unusable(_("The file's pins are not on the messages that they were put on."))


def _describe(conversation: Conversation, found: _Found, title: str) -> None:
    """Give the conversation what the file says of it as a whole, or else this title."""
    about = {"title": title} | next(iter(found.besides["conversation"]), {})
    for name in ("title", "system_prompt", "created_at"):
        if name in about:
            column = cast("columns.Column", Conversation._meta.get_field(name))  # noqa: SLF001 - Django's documented API
            setattr(conversation, name, columns.read(column, about[name]))
    conversation.save(update_fields=["title", "system_prompt", "created_at"])


def _begin_record(conversation: Conversation, source: Source, found: _Found) -> None:
    """Begin the conversation's own chain with where it came from, and all that is on record."""
    source.conversation = conversation
    source.messages = conversation.messages.count()
    source.chains = found.besides["chains"]
    source.save(force_insert=True)
    told = {"form": source.form, "file": source.digest, "chains": len(source.chains)}
    audit.append(conversation.pk, AuditEntry.Kind.BEGINNING, told={"imported": told})
    for table in TABLES:
        if issubclass(table.model, Recorded):
            records: RecordedQuerySet[Any] = RecordedQuerySet(table.model)
            for row in records.told_in(conversation).with_conversation().order_by(*table.order):
                row.enter()


def _close_unfinished(conversation: Conversation) -> None:
    """End what ran or waited when the file was written: nobody works on it here."""
    reason = _("This was running when the conversation was exported.")
    for turn in conversation.turns.unfinished():
        services.finish_turn(turn=turn, status=Turn.Status.INTERRUPTED, error=reason)
    calls = conversation.calls.filter(status=ModelCall.Status.RUNNING)
    calls.update(status=ModelCall.Status.INTERRUPTED, error=reason)
    attempts = conversation.condensations.filter(status=Condensation.Status.RUNNING)
    attempts.change(status=Condensation.Status.FAILED, error=reason, finished_at=timezone.now())
    drafts = conversation.condensations.filter(status=Condensation.Status.DRAFTED)
    drafts.change(status=Condensation.Status.UNUSED, error=_("It was drafted where it came from."))
    reviews = Review.objects.filter(condensation__conversation=conversation)
    waiting = reviews.filter(status=Review.Status.PENDING)
    waiting.change(status=Review.Status.WITHDRAWN, answered_at=timezone.now())


def _answer(conversation: Conversation) -> Profile:
    seen = conversation.messages.effective().aggregate(sum=Sum("tokens", default=0))
    conversation.profile = profile = find_profile(conversation, seen["sum"])
    conversation.save(update_fields=["profile"])
    return profile


def _pin_wishes(conversation: Conversation, found: _Found, source: Source) -> None:
    """Pin what a file without pins on record wants pinned, and note what can't be."""
    for seq in () if found.besides["pins"] else found.wishes:
        try:
            services.pin_message(conversation=conversation, seq=seq)
        except services.Refused as refusal:
            _note(source, Problem(seq, _("It is not pinned. %s") % refusal))
    source.save(update_fields=["problems", "unused"])
