"""Condensations: their list, the record of one, and taking one back."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Any

from django.db.models import Q
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django_htmx.http import reswap, retarget

from chatapp.condensing import ratings
from chatapp.condensing import undo as undo_
from chatapp.conversations import rewind
from chatapp.models import Condensation, Conversation, errors
from chatapp.models.condensations import CondensationQuerySet
from chatapp.models.database import reading_damaged_text
from chatapp.models.pagination import (
    CURSOR_SEPARATOR,
    behind,
    read_cursor,
    read_number,
    write_cursor,
)
from chatapp.page.inspector.day_strip import draw_days
from chatapp.page.inspector.size_history import draw_size_history
from chatapp.page.transcript import condensation_page, originals
from chatapp.page.transcript.summary_parts import summary_parts
from chatapp.project.sentences import translate as _
from chatapp.turns import actions
from chatapp.web.forms.condensation_filter import AttemptFilter
from chatapp.web.views.common import (
    REFUSED_STATUS,
    UserRequest,
    View,
    announce,
    as_uuid,
    download,
    in_conversation,
    lead,
    read_float,
    refuse,
    signed_in,
    wants_page,
    zone_of,
)

CONDENSATIONS_PER_PAGE = 30
PUT_BACK_LISTED = 200  # messages
TABLES = {
    "csv": (condensation_page.attempts_as_csv, "text/csv; charset=utf-8"),
    "json": (condensation_page.attempts_as_json, "application/json"),
}


@signed_in("GET")
def show_condensations(request: UserRequest) -> HttpResponse:
    """List every attempt of the user, newest first, with totals."""
    mine = Condensation.objects.owned_by(request.user).whole()
    filters = AttemptFilter(mine, request.GET, zone := zone_of(request))
    found = filters.narrow(mine)
    outcome, sort = (filters.chosen.get(name, "") for name in ("outcome", "sort"))
    listed = found.with_outcome(outcome).sorted_by(sort)
    if (form := request.GET.get("as")) in TABLES:
        # All that the list shows, however many pages it has.
        rows = listed.select_related("conversation").only(*condensation_page.TABLE_COLUMNS)
        write, kind = TABLES[form]
        found_rows = rows.prefetch_related("tries").iterator(chunk_size=CONDENSATIONS_PER_PAGE)
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
    context |= draw_days(found, zone)
    own = Conversation.objects.owned_by(request.user).present()
    if shown := own.filter(pk__in=[filters.chosen.get("conversation")]).first():
        context |= {"conversation_shown": shown, "size_history": draw_size_history(shown)}
    return render(request, "condensations/page.html", context)


def list_attempts(found: CondensationQuerySet, sort: str, after: str) -> dict[str, Any]:
    """Return one page of attempts as lines with the place of each, and the next cursor."""
    # The index gives their keys without the rows.
    columns = ("pk", "started_at", *(("rank",) if sort else ()))
    rank, _separator, rest = after.partition(CURSOR_SEPARATOR) if sort else ("0", "", after)
    place, value = read_cursor(rest), read_float(rank)
    # A cursor that cannot be read leaves out nothing.
    if place and value is not None:
        later = behind("started_at", place)
        found = found.filter(Q(rank__lt=value) | Q(rank=value) & later if sort else later)
    places = list(found.values_list(*columns)[: CONDENSATIONS_PER_PAGE + 1])
    more = ""
    if len(places) > CONDENSATIONS_PER_PAGE:
        pk, when, *ranks = places[CONDENSATIONS_PER_PAGE - 1]
        more = CURSOR_SEPARATOR.join((*map(repr, ranks), write_cursor(Condensation(pk=pk), when)))
    # By their keys alone: with the owner in the condition, SQLite would read all rows of the owner.
    rows = (
        Condensation.objects.with_place()
        .brief()
        .prefetch_related("tries")
        .select_related("conversation")
    )
    shown = rows.in_bulk([pk for pk, *_place in places[:CONDENSATIONS_PER_PAGE]])
    lines = [shown[pk] for pk, *_place in places if pk in shown]
    return {"lines": [*map(condensation_page.attempt_line, lines)], "more": more}


def of_attempt(*methods: str, resting: bool = False) -> Callable[[View], View]:
    """Admit users like ``in_conversation``, and pass the view the attempt of the address."""

    def decorate(view: View) -> View:
        @in_conversation(*methods, resting=resting)
        @wraps(view)
        def found(
            request: UserRequest, own: Conversation, attempt_pk: uuid.UUID
        ) -> HttpResponseBase:
            attempts = own.condensations.select_related("message")
            return view(request, get_object_or_404(attempts, pk=attempt_pk))

        return found

    return decorate


def _show(request: UserRequest, template: str, attempt: Condensation, **more: Any) -> HttpResponse:
    context = {"conversation": attempt.conversation, "attempt": attempt, **more}
    return render(request, template, context)


@reading_damaged_text()
@of_attempt("GET")
def show_record(request: UserRequest, attempt: Condensation) -> HttpResponse:
    """Show a condensation's summary, hidden messages and figures, or one ``panel`` of them."""
    if "sources" in request.GET:
        # Sources take seconds where much was hidden, so the page loads them later.
        parts = summary_parts(attempt, partial(originals.render_sourced, attempt))
        return _show(request, "chat/_reads.html", attempt, row={"reads": parts})
    row, start = condensation_page.read_record(attempt), request.GET.get("from", "")
    if (panel := request.GET.get("panel")) in row.panels:
        row = replace(row, undoable=attempt.is_undoable)
        return _show(request, f"chat/_{panel}.html", attempt, row=row)
    shown = {"originals": originals.read_originals(attempt, read_number(start)), "whole": True}
    descent = originals.read_descent(attempt)
    return _show(request, "condensations/record.html", attempt, row=row, descent=descent, **shown)


@reading_damaged_text()
@of_attempt("GET")
def show_hidden(request: UserRequest, attempt: Condensation) -> HttpResponse:
    """List the messages that a condensation hid, by pages; each opens, or is ``whole``."""
    start, whole = (request.GET.get(name, "") for name in ("from", "whole"))
    found = originals.read_originals(attempt, read_number(start))
    template = f"condensations/{'_originals' if start else '_hidden'}.html"
    return _show(request, template, attempt, originals=found, whole=whole)


@of_attempt("GET")
def lead_to_record(request: UserRequest, attempt: Condensation) -> HttpResponse:
    """Redirect an old address of the comparison to the record."""
    record = reverse("condensation", args=[attempt.conversation_id, attempt.pk])
    return redirect(f"{record}?{request.GET.urlencode()}")


@of_attempt("POST", resting=True)
def undo_condensation(request: UserRequest, attempt: Condensation) -> HttpResponse:
    """Undo a condensation and the ``later`` ones that stand on it."""
    later = read_number(request.POST.get("later", "")) or 0
    profile = None
    if chosen := request.POST.get("profile"):
        profile = get_object_or_404(request.user.profiles, pk=read_number(chosen))
    try:
        undo_.undo_condensation(condensation=attempt, later=later, profile=profile)
    except undo_.DoesNotFit as problem:
        return _offer_ways(request, attempt, problem)
    return announce(request, attempt.conversation)


def _offer_ways(
    request: UserRequest, attempt: Condensation, problem: undo_.DoesNotFit
) -> HttpResponse:
    """Show at the button the reason why an undo does not fit, and other ways."""
    if not request.htmx:
        return refuse(request, str(problem))
    hidden = undo_.list_hidden(condensation=attempt).written()
    listed = hidden.select_related("condensation")[:PUT_BACK_LISTED]
    context = {"problem": problem, "hidden": listed, "count": hidden.count()}
    context |= {"room": undo_.room_for(attempt.conversation)}
    answer = _show(request, "chat/_undo_ways.html", attempt, **context)
    is_undo = request.method == "POST"
    answer.status_code = REFUSED_STATUS if is_undo else 200
    # An open dialog covers the row below it.
    place = "#dialog" if is_undo and problem.later else f"#ways-{attempt.pk}"
    return reswap(retarget(answer, place), "innerHTML")


@of_attempt("GET", resting=True)
def preview_undo(request: UserRequest, attempt: Condensation) -> HttpResponse:
    """Show the result of an undo before it is done."""
    try:
        with errors.saving():
            undo = undo_.preview_undo(condensation=attempt)
    except undo_.DoesNotFit as problem:
        return _offer_ways(request, attempt, problem)
    return _show(request, "chat/_undo_dialog.html", attempt, undo=undo)


@of_attempt("POST", resting=True)
def branch_with_originals(request: UserRequest, attempt: Condensation) -> HttpResponse:
    """Redirect to a fork whose model reads the originals."""
    made = undo_.branch_with_originals(condensation=attempt)
    actions.announce_list(request.user.pk)
    return lead(request, "chat", made.pk)


@of_attempt("POST", resting=True)
def put_back_messages(request: UserRequest, attempt: Condensation) -> HttpResponse:
    """Pin some of the hidden messages for the model."""
    chosen = [number for one in request.POST.getlist("seq") if (number := read_number(one))]
    undo_.put_back_messages(condensation=attempt, seqs=chosen)
    return announce(request, attempt.conversation)


@of_attempt("POST", resting=True)
def redo_condensation(request: UserRequest, attempt: Condensation) -> HttpResponse:
    """Redo a condensation that was undone."""
    undo_.redo_condensation(condensation=attempt)
    return announce(request, attempt.conversation)


@of_attempt("POST", resting=True)
def rewind_condensation(request: UserRequest, attempt: Condensation) -> HttpResponse:
    """Go back to before the condensation."""
    if attempt.message is None:
        return refuse(request, _("This attempt left nothing to go back to."))
    first, key = attempt.message.seq, as_uuid(request.POST.get("key", ""))
    rewind.rewind_conversation(conversation=attempt.conversation, first_hidden_seq=first, key=key)
    return announce(request, attempt.conversation)


@of_attempt("POST", resting=True)
def put_back(request: UserRequest, attempt: Condensation) -> HttpResponse:
    """Append a lost fact as a message."""
    undo_.put_back(condensation=attempt, index=read_number(request.POST.get("fact", "")))
    return announce(request, attempt.conversation)


@of_attempt("POST")
def rate(request: UserRequest, attempt: Condensation) -> HttpResponse:
    """Store a person's rating of a summary."""
    given = {"1": 1, "-1": -1, "0": 0}.get(request.POST.get("rating", ""), 2)
    words = request.POST.get("words", "")
    ratings.rate_summary(condensation=attempt, rating=given, words=words)
    return announce(request, attempt.conversation)
