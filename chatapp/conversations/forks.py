"""Forks: a conversation goes on twice from one place, and neither changes the other.

The copy has every message that was part of the conversation at that place, under its number, with
its tags: condensations before it stay in force, on record, and can be undone there as well.
Messages that a rewind or an edit set aside stay with the original.
"""

import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from itertools import batched, groupby
from operator import attrgetter
from typing import Any

from django.db import connection, transaction
from django.db.models import Q
from django.utils.text import Truncator

import condense
from chatapp.agent.annotated_blocks import forgotten_by
from chatapp.conversations import forgotten_passages
from chatapp.conversations.embedding import vectors
from chatapp.conversations.locks import lock
from chatapp.conversations.pins import mark
from chatapp.conversations.rewind import show_version
from chatapp.conversations.toolbox.toolbox import outputs_of, workspace_of
from chatapp.models import (
    Condensation,
    Conversation,
    Fork,
    Message,
    Rewind,
    hidden_messages,
    message_index,
    message_store,
)
from chatapp.models.conversations import LONGEST_TITLE
from chatapp.models.database import execute
from chatapp.models.errors import Refused
from chatapp.models.messages import MessageQuerySet
from chatapp.project.sentences import translate as _
from condense import noop

BATCH = 5_000  # messages of one statement

_ALIKE = (
    "owner_id", "profile_id", "folder_id", "tool_policies", "system_prompt", "budget",
    "auto_recall", "named_window",
)  # fmt: skip
_SAID = (
    "seq", "position", "role", "content", "tokens", "results", "holds_results", "stop_reason",
    "created_at", "condense_id", "truncation_id", "clear_id", "cleared", "hides", "undone",
    "claimed",
)  # fmt: skip
# The tags may be others in the copy.
_COPY = (
    "INSERT INTO chatapp_message (conversation_id, hidden, condense_parent, truncation_parent, "  # noqa: S608 - names of columns
    f"unbound, forgotten, {', '.join(_SAID)}) SELECT %s, FALSE, %s, %s, %s, %s, {', '.join(_SAID)} "
    "FROM chatapp_message WHERE id IN ({}) ORDER BY seq"
)


def fork_conversation(*, conversation: Conversation, seq: int) -> Conversation:
    """Return a new conversation that goes on from message ``seq``, or from before a condensation.

    Raises Refused for an unknown message, one whose tools still run, a full disk, and a workspace
    that the owner may not read any more.
    """
    pk, most = uuid.uuid4(), LONGEST_TITLE - 20
    workspace_of(conversation, make=False)
    with _outputs_linked(conversation, pk), lock(conversation, keeps_pins=False) as origin:
        there = origin.messages.filter(seq=seq).first()
        if there is None:
            raise Refused(_("There is no such message here. Reload the page."))
        rows = _as_it_was(origin, there)
        if not rows:
            raise Refused(_("There is nothing before this to fork from."))
        title = Truncator(origin.title).chars(most)
        copy = Conversation.objects.create(
            pk=pk,
            **{name: getattr(origin, name) for name in _ALIKE},
            title=title and _("{title} (fork)", title=title),
            workspace=origin.workspace or origin.pk.hex,
            last_seq=max(row.seq for row in rows),
        )
        ids = _copy_messages(rows, copy)
        # The fork is on record on both sides.
        for own, other in ((origin, copy), (copy, origin)):
            Fork.objects.create(
                conversation=own, other=other.pk, is_copy=own is copy, seq=rows[-1].seq
            ).enter()
        _copy_records(rows, copy, ids)
        _forget_in(copy, rows)
        vectors.enqueue(copy.pk)
    return copy


def _as_it_was(origin: Conversation, there: Message) -> list[Message]:
    """Return the conversation's messages when one was the newest; nothing is changed.

    Contents are read where they are needed.
    """
    with transaction.atomic():
        _bring_back(origin, there.rewind_parent)
        present = origin.messages.filter(rewind_parent=None)
        written = Q(seq__lte=_end_of(present, there))
        # A fold is written after its place, and stands above the messages behind that.
        folds = present.in_force().made_by_engine().filter(position__lt=there.position)
        rows = present.filter(written | Q(pk__in=folds)).in_reading_order()
        found = list(rows.select_related("condensation").defer("content"))
        transaction.set_rollback(True)
    return found


def _bring_back(origin: Conversation, rewind_pk: uuid.UUID | None) -> None:
    """Restore the messages that a rewind set aside, in place of all that followed it."""
    if rewind_pk is None:
        return
    _bring_back(origin, Rewind.objects.get(pk=rewind_pk).rewind_parent)
    rewind = Rewind.objects.select_related("conversation").get(pk=rewind_pk)
    if rewind.root_seq is None:
        hidden_messages.rewind(origin.pk, first_hidden_seq=rewind.to_seq)
        hidden_messages.undo_rewind(rewind)
    else:
        show_version(origin, rewind)


def _end_of(present: MessageQuerySet, there: Message) -> int:
    """Return the number of the message, or of the one that holds the results of its calls."""
    # Messages that a condensation made are left out: the fork begins before it.
    if there.is_summary or there.is_marker:
        return there.seq - 1
    if not message_store.to_engine(there).tool_uses:
        return there.seq
    answer = present.written().filter(seq__gt=there.seq).order_by("seq").first()
    if answer and answer.results:
        return answer.seq
    if there.turn and not there.turn.is_over:
        raise Refused(_("The tools of this message are still running. Wait for them."))
    return there.seq


def _copy_messages(rows: Sequence[Message], copy: Conversation) -> dict[str, str]:
    """Store copies of some messages, and return their ids by those of the originals.

    Contents do not leave the database: Django takes ten times as long as it for a row.
    """
    made = {name for row in rows for name in (row.condense_id, row.truncation_id) if name}
    forgotten: Any = Message._meta.get_field("forgotten")  # noqa: SLF001 - Django's documented API

    def tags_of(row: Message) -> list[Any]:
        named = [
            one if one in made else None for one in (row.condense_parent, row.truncation_parent)
        ]
        if (passages := row.forgotten) is not None:
            passages = forgotten.get_db_prep_save(passages, connection)
        return [*named, row.unbound, passages]

    # In the order of writing, since a search goes by the keys.
    for tags, alike in groupby(sorted(rows, key=attrgetter("seq")), tags_of):
        for some in batched(alike, BATCH):
            execute(_COPY.format(", ".join([str(row.pk) for row in some])), copy.pk, *tags)
    new = dict(copy.messages.values_list("seq", "pk"))
    ids = {str(row.pk): str(new[row.seq]) for row in rows}
    for row in rows:
        if row.is_summary or row.is_marker:
            message = condense.readdress_pins(message_store.to_engine(row, whole=True), ids)
            copy.messages.filter(seq=row.seq).update(
                content=condense.content_to_api(message.content),
                cleared={ids[old]: one for old, one in row.cleared.items() if old in ids},
            )
    message_index.copy_entries(rows[0].conversation_id, copy.pk)
    copy.messages.refresh_hidden()
    return ids


def _forget_in(copy: Conversation, rows: Iterable[Message]) -> None:
    """Forget in the copy the passages that only later requests of the original name."""
    told = [row for row in rows if row.forgotten is not None]
    named = {place for row in told for place in forgotten_by(row.content)}
    places = [(row.seq, text) for row in told for text in row.forgotten]
    if left := [place for place in places if place not in named]:
        forgotten_passages.store_request(copy, left)


def _copy_records(rows: Iterable[Message], copy: Conversation, ids: Mapping[str, str]) -> None:
    """Put condensations and pins of some messages on record for their copies as well.

    The cost of a condensation was paid once, in the original.
    """
    for row in rows:
        if row.pinned:
            mark(copy.messages.get(seq=row.seq))
        attempt: Condensation | None = getattr(row, "condensation", None)
        if attempt is None:
            continue
        attempt.pk, attempt.turn, attempt.conversation = uuid.uuid4(), None, copy
        attempt.message = copy.messages.get(seq=row.seq)
        attempt.cost, attempt.cost_measured, attempt.made_for = Decimal(0), True, None
        attempt.total_cost, attempt.total_measured = Decimal(0), True
        attempt.notes = [*attempt.notes, noop("Made and paid for in the original conversation.")]
        attempt.receipt = attempt.receipt.with_sources(ids)
        attempt.save(force_insert=True)
        attempt.enter()


@contextmanager
def _outputs_linked(origin: Conversation, pk: uuid.UUID) -> Iterator[None]:
    """Link the outputs for the copy with this key; remove the links if the fork fails."""
    kept, linked = outputs_of(origin.pk), outputs_of(pk)
    try:
        if kept.is_dir():
            shutil.copytree(kept, linked, copy_function=_link)
        yield
    except BaseException as error:
        shutil.rmtree(linked, ignore_errors=True)
        if isinstance(error, OSError):
            raise Refused(_("The files could not be copied, so nothing was forked.")) from error
        raise


def _link(kept: str, linked: str) -> None:
    """Link a file, or copy it if the disk has no links; a file that is gone is left out."""
    try:
        os.link(kept, linked)
    except FileNotFoundError:
        return
    except OSError:
        shutil.copy2(kept, linked)
