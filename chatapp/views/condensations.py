"""The history of condensations, and taking one back."""

import uuid
from datetime import datetime
from typing import Any, Literal

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from chatapp import errors
from chatapp.condensation import undo as undo_
from chatapp.condensation.undo import list_hidden
from chatapp.conversations import rewind
from chatapp.forms.condensation_filter import AttemptFilter
from chatapp.inspector.size_history import draw_size_history
from chatapp.models import Condensation, Conversation
from chatapp.models.condensations import CondensationQuerySet
from chatapp.models.pagination import SEPARATOR, behind, read_cursor, write_cursor
from chatapp.transcript import condensation_list, condensation_page, originals
from chatapp.views.chat import announce
from chatapp.views.common import (
    Request,
    as_uuid,
    own_conversation,
    read_float,
    read_number,
    refuse,
    resting_conversation,
    signed_in,
)

PAGE = 30
# Of what one condensation hid; the page that compares has the others.
HIDDEN_LISTED = 200


@require_GET
@signed_in
def show_condensations(request: Request) -> HttpResponse:
    """List every attempt of the user, newest first, with totals."""
    mine = Condensation.objects.owned_by(request.user)
    filters = AttemptFilter(mine, request.GET)
    found = filters.narrow(mine)
    match request.GET.get("as"):
        case "csv":
            return _download(found, filters, "csv")
        case "json":
            return _download(found, filters, "json")
    context = list_attempts(found, filters, request.GET.get("after", ""))
    context |= {"filters": filters, "outcome": filters.outcome_chosen}
    if request.htmx and not request.htmx.boosted:
        return render(request, "condensations/_rows.html", context)
    totals = found.totals()
    every = Condensation.Outcome.choices
    outcomes = [(value, label, totals["outcomes"][value]) for value, label in every]
    net = condensation_list.net_of(request.user, totals)
    context |= {"totals": totals, "outcomes": outcomes, "net": net}
    context |= _draw(request, filters.conversation_chosen)
    return render(request, "condensations/page.html", context)


def _draw(request: Request, pk: uuid.UUID | None) -> dict[str, Any]:
    """Return the one conversation that is shown, and its chart."""
    own = Conversation.objects.owned_by(request.user).present()
    if pk is None or (conversation := own.filter(pk=pk).first()) is None:
        return {}
    return {"conversation_shown": conversation, "course": draw_size_history(conversation)}


def _download(
    found: CondensationQuerySet, filters: AttemptFilter, form: Literal["csv", "json"]
) -> HttpResponse:
    """Send all that the list shows, however many pages it has."""
    chosen = found.with_outcome(filters.outcome_chosen).select_related("conversation")
    rows = chosen.sorted_by(filters.sort_chosen).only(*condensation_list.TABLE_COLUMNS).iterator()
    if form == "csv":
        text, kind = condensation_list.attempts_as_csv(rows), "text/csv; charset=utf-8"
    else:
        text, kind = condensation_list.attempts_as_json(rows), "application/json"
    answer = HttpResponse(text, content_type=kind)
    answer["Content-Disposition"] = f'attachment; filename="condensations.{form}"'
    return answer


@require_GET
@signed_in
def show_record(request: Request, pk: uuid.UUID, attempt_pk: uuid.UUID) -> HttpResponse:
    """Show all that is on record of one attempt."""
    conversation = own_conversation(request, pk)
    attempts = conversation.condensations.select_related("message", "conversation")
    attempt = get_object_or_404(attempts, pk=attempt_pk)
    row = condensation_page.read_record(attempt)
    context = {"conversation": conversation, "attempt": attempt, "row": row}
    return render(request, "condensations/record.html", context)


@require_GET
@signed_in
def show_hidden(request: Request, pk: uuid.UUID, attempt_pk: uuid.UUID) -> HttpResponse:
    """List the first messages that a condensation hid, each leading to its place."""
    conversation = own_conversation(request, pk)
    attempt = get_object_or_404(conversation.condensations, pk=attempt_pk)
    found = list_hidden(condensation=attempt).select_related("condensation")
    context = {
        "conversation": conversation,
        "attempt": attempt,
        "messages_hidden": list(originals.with_row_ids(found[:HIDDEN_LISTED])),
        "count": found.count(),
    }
    return render(request, "chat/_hidden.html", context)


@require_GET
@signed_in
def compare_condensation(request: Request, pk: uuid.UUID, attempt_pk: uuid.UUID) -> HttpResponse:
    """Show what was hidden beside what stands for it, and the summary beside the one before."""
    conversation = own_conversation(request, pk)
    attempts = conversation.condensations.select_related("message", "conversation")
    attempt = get_object_or_404(attempts, pk=attempt_pk)
    context = {
        "conversation": conversation,
        "attempt": attempt,
        "row": originals.compare(attempt, read_number(request.GET.get("from", ""))),
        "descent": originals.read_descent(attempt),
    }
    return render(request, "condensations/compare.html", context)


@require_POST
@signed_in
def undo_condensation(request: Request, pk: uuid.UUID, attempt_pk: uuid.UUID) -> HttpResponse:
    """Show the model again what the condensation hid, and as many ``later`` ones as stand on it."""
    conversation = resting_conversation(request, pk)
    attempt = get_object_or_404(conversation.condensations, pk=attempt_pk)
    later = read_number(request.POST.get("later", "")) or 0
    undo_.undo_condensation(condensation=attempt, later=later)
    return announce(request, conversation)


@require_GET
@signed_in
def preview_undo(request: Request, pk: uuid.UUID, attempt_pk: uuid.UUID) -> HttpResponse:
    """Say in advance what undoing a condensation and those that stand on it comes to."""
    conversation = resting_conversation(request, pk)
    attempt = get_object_or_404(conversation.condensations, pk=attempt_pk)
    with errors.saving():
        undo = undo_.preview_undo(condensation=attempt)
    context = {"conversation": conversation, "attempt": attempt, "undo": undo}
    return render(request, "chat/_undo_dialog.html", context)


@require_POST
@signed_in
def redo_condensation(request: Request, pk: uuid.UUID, attempt_pk: uuid.UUID) -> HttpResponse:
    """Hide again what a condensation hid before it was undone."""
    conversation = resting_conversation(request, pk)
    attempt = get_object_or_404(conversation.condensations, pk=attempt_pk)
    undo_.redo_condensation(condensation=attempt)
    return announce(request, conversation)


@require_POST
@signed_in
def rewind_condensation(request: Request, pk: uuid.UUID, attempt_pk: uuid.UUID) -> HttpResponse:
    """Go back to before the condensation."""
    conversation = resting_conversation(request, pk)
    attempt = get_object_or_404(conversation.condensations, pk=attempt_pk)
    if attempt.message is None:
        return refuse(request, _("This attempt left nothing to go back to."))
    key = as_uuid(request.POST.get("key", ""))
    rewind.rewind_conversation(conversation=conversation, to_seq=attempt.message.seq, key=key)
    return announce(request, conversation)


@require_POST
@signed_in
def put_back(request: Request, pk: uuid.UUID, attempt_pk: uuid.UUID) -> HttpResponse:
    """Tell the model a fact again that the condensation lost."""
    conversation = resting_conversation(request, pk)
    attempt = get_object_or_404(conversation.condensations, pk=attempt_pk)
    index = read_number(request.POST.get("fact", ""))
    if index is None:
        return refuse(request, _("There is no such fact in this record."))
    undo_.put_back(condensation=attempt, index=index)
    return announce(request, conversation)


def list_attempts(mine: CondensationQuerySet, filters: AttemptFilter, after: str) -> dict[str, Any]:
    """Return one page of attempts as lines with the place of each, and the next cursor."""
    sort = filters.sort_chosen
    found = mine.with_outcome(filters.outcome_chosen).sorted_by(sort)
    # Which they are, the index tells without the rows.
    columns = ("pk", "started_at", *(("rank",) if sort else ()))
    places = list(_after(found, sort, after).values_list(*columns)[: PAGE + 1])
    # Those that were found, and nothing else about them: told whose they are as well, SQLite reads
    # all that the owner has instead.
    rows = Condensation.objects.with_place().brief().select_related("conversation")
    shown = rows.in_bulk([pk for pk, *_place in places[:PAGE]])
    return {
        "lines": condensation_list.attempt_lines(
            shown[pk] for pk, *_place in places if pk in shown
        ),
        "more": _write_place(*places[PAGE - 1]) if len(places) > PAGE else "",
    }


def _write_place(pk: uuid.UUID, when: datetime, *rank: float) -> str:
    return SEPARATOR.join((*map(repr, rank), write_cursor(Condensation(pk=pk), when)))


def _after(found: CondensationQuerySet, sort: str, cursor: str) -> CondensationQuerySet:
    """Leave out what stands before a cursor; one that cannot be read leaves out nothing."""
    rank, _separator, rest = cursor.partition(SEPARATOR) if sort else ("0", "", cursor)
    place, value = read_cursor(rest), read_float(rank)
    if place is None or value is None:
        return found
    later = behind("started_at", place)
    return found.filter(Q(rank__lt=value) | Q(rank=value) & later) if sort else found.filter(later)
