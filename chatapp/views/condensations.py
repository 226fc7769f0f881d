"""Condensations: their list, the record of one, and taking one back."""

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db.models import Q
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render

from chatapp import errors
from chatapp.condensation import ratings
from chatapp.condensation import undo as undo_
from chatapp.conversations import rewind
from chatapp.forms.condensation_filter import AttemptFilter
from chatapp.inspector.size_history import draw_size_history
from chatapp.models import Condensation, Conversation
from chatapp.models.condensations import CondensationQuerySet
from chatapp.models.pagination import SEPARATOR, behind, read_cursor, write_cursor
from chatapp.sentences import translate as _
from chatapp.transcript import condensation_page, originals
from chatapp.views.common import (
    Request,
    View,
    announce,
    as_uuid,
    download,
    in_conversation,
    read_float,
    read_number,
    refuse,
    signed_in,
    wants_page,
)

PAGE = 30
# Of what one condensation hid; the page that compares has the others.
HIDDEN_LISTED = 200
TABLES = {
    "csv": (condensation_page.attempts_as_csv, "text/csv; charset=utf-8"),
    "json": (condensation_page.attempts_as_json, "application/json"),
}


@signed_in("GET")
def show_condensations(request: Request) -> HttpResponse:
    """List every attempt of the user, newest first, with totals."""
    mine = Condensation.objects.owned_by(request.user).whole()
    filters = AttemptFilter(mine, request.GET)
    found = filters.narrow(mine)
    outcome, sort = (filters.chosen.get(name, "") for name in ("outcome", "sort"))
    listed = found.with_outcome(outcome).sorted_by(sort)
    if (form := request.GET.get("as")) in TABLES:
        # All that the list shows, however many pages it has.
        rows = listed.select_related("conversation").only(*condensation_page.TABLE_COLUMNS)
        write, kind = TABLES[form]
        found_rows = rows.prefetch_related("tries").iterator(chunk_size=PAGE)
        return download(write(found_rows), f"condensations.{form}", kind)
    context = list_attempts(listed, sort, request.GET.get("after", ""))
    context |= {"filters": filters, "outcome": outcome}
    if not wants_page(request):
        return render(request, "condensations/_rows.html", context)
    totals = found.totals()
    every = Condensation.Outcome.choices
    outcomes = [(value, label, totals["outcomes"][value]) for value, label in every]
    net = condensation_page.net_of(request.user, totals)
    context |= {"totals": totals, "outcomes": outcomes, "net": net}
    own = Conversation.objects.owned_by(request.user).present()
    if shown := own.filter(pk__in=[filters.chosen.get("conversation")]).first():
        context |= {"conversation_shown": shown, "size_history": draw_size_history(shown)}
    return render(request, "condensations/page.html", context)


def list_attempts(found: CondensationQuerySet, sort: str, after: str) -> dict[str, Any]:
    """Return one page of attempts as lines with the place of each, and the next cursor."""
    # Which they are, the index tells without the rows.
    columns = ("pk", "started_at", *(("rank",) if sort else ()))
    rank, _separator, rest = after.partition(SEPARATOR) if sort else ("0", "", after)
    place, value = read_cursor(rest), read_float(rank)
    # A cursor that cannot be read leaves out nothing.
    if place and value is not None:
        later = behind("started_at", place)
        found = found.filter(Q(rank__lt=value) | Q(rank=value) & later if sort else later)
    places = list(found.values_list(*columns)[: PAGE + 1])
    more = ""
    if len(places) > PAGE:
        pk, when, *ranks = places[PAGE - 1]
        more = SEPARATOR.join((*map(repr, ranks), write_cursor(Condensation(pk=pk), when)))
    # Those that were found, and nothing else about them: told whose they are as well, SQLite reads
    # all that the owner has instead.
    rows = (
        Condensation.objects.with_place()
        .brief()
        .prefetch_related("tries")
        .select_related("conversation")
    )
    shown = rows.in_bulk([pk for pk, *_place in places[:PAGE]])
    lines = [shown[pk] for pk, *_place in places if pk in shown]
    return {"lines": [*map(condensation_page.attempt_line, lines)], "more": more}


def of_attempt(*methods: str, resting: bool = False) -> Callable[[View], View]:
    """Do as ``in_conversation`` does, and hand the view the attempt that the address names."""

    def decorate(view: View) -> View:
        @in_conversation(*methods, resting=resting)
        @wraps(view)
        def found(request: Request, own: Conversation, attempt_pk: uuid.UUID) -> HttpResponseBase:
            attempts = own.condensations.select_related("message")
            return view(request, get_object_or_404(attempts, pk=attempt_pk))

        return found

    return decorate


def _show(request: Request, template: str, attempt: Condensation, **more: Any) -> HttpResponse:
    context = {"conversation": attempt.conversation, "attempt": attempt, **more}
    return render(request, template, context)


@of_attempt("GET")
def show_record(request: Request, attempt: Condensation) -> HttpResponse:
    """Show all that is on record of one attempt."""
    row = condensation_page.read_record(attempt)
    return _show(request, "condensations/record.html", attempt, row=row)


@of_attempt("GET")
def show_hidden(request: Request, attempt: Condensation) -> HttpResponse:
    """List the first messages that a condensation hid, each leading to its place."""
    found = undo_.list_hidden(condensation=attempt).select_related("condensation")
    listed = list(originals.with_row_ids(found[:HIDDEN_LISTED]))
    template = "chat/_hidden.html"
    return _show(request, template, attempt, messages_hidden=listed, count=found.count())


@of_attempt("GET")
def compare_condensation(request: Request, attempt: Condensation) -> HttpResponse:
    """Show what was hidden beside what stands for it, and the summary beside the one before."""
    row = originals.compare(attempt, read_number(request.GET.get("from", "")))
    descent = originals.read_descent(attempt)
    return _show(request, "condensations/compare.html", attempt, row=row, descent=descent)


@of_attempt("POST", resting=True)
def undo_condensation(request: Request, attempt: Condensation) -> HttpResponse:
    """Show the model again what the condensation hid, and as many ``later`` ones as stand on it."""
    later = read_number(request.POST.get("later", "")) or 0
    undo_.undo_condensation(condensation=attempt, later=later)
    return announce(request, attempt.conversation)


@of_attempt("GET", resting=True)
def preview_undo(request: Request, attempt: Condensation) -> HttpResponse:
    """Say in advance what undoing a condensation and those that stand on it comes to."""
    with errors.saving():
        undo = undo_.preview_undo(condensation=attempt)
    return _show(request, "chat/_undo_dialog.html", attempt, undo=undo)


@of_attempt("POST", resting=True)
def redo_condensation(request: Request, attempt: Condensation) -> HttpResponse:
    """Hide again what a condensation hid before it was undone."""
    undo_.redo_condensation(condensation=attempt)
    return announce(request, attempt.conversation)


@of_attempt("POST", resting=True)
def rewind_condensation(request: Request, attempt: Condensation) -> HttpResponse:
    """Go back to before the condensation."""
    if attempt.message is None:
        return refuse(request, _("This attempt left nothing to go back to."))
    first, key = attempt.message.seq, as_uuid(request.POST.get("key", ""))
    rewind.rewind_conversation(conversation=attempt.conversation, first_hidden_seq=first, key=key)
    return announce(request, attempt.conversation)


@of_attempt("POST", resting=True)
def put_back(request: Request, attempt: Condensation) -> HttpResponse:
    """Tell the model a fact again that the condensation lost."""
    index = read_number(request.POST.get("fact", ""))
    if index is None:
        return refuse(request, _("There is no such fact in this record."))
    undo_.put_back(condensation=attempt, index=index)
    return announce(request, attempt.conversation)


@of_attempt("POST")
def rate(request: Request, attempt: Condensation) -> HttpResponse:
    """Keep what a person found a summary, with a word why."""
    given = {"1": 1, "-1": -1, "0": 0}.get(request.POST.get("rating", ""), 2)
    words = request.POST.get("words", "")
    ratings.rate_summary(condensation=attempt, rating=given, words=words)
    return announce(request, attempt.conversation)
