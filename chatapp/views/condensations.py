"""The history of condensations, and taking one back."""

import uuid
from collections.abc import Iterator
from typing import Any, Literal

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from chatapp import services, transcript
from chatapp.forms import AttemptFilter
from chatapp.models import Condensation, Message
from chatapp.models.paging import behind, read_cursor, write_cursor
from chatapp.models.records import CondensationQuerySet
from chatapp.views.chat import announce
from chatapp.views.common import (
    Request,
    as_uuid,
    own_conversation,
    read_number,
    refuse,
    resting_conversation,
    signed_in,
)

PAGE = 30


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
    context = list_attempts(found, filters.outcome_chosen, request.GET.get("after", ""))
    context |= {"filters": filters}
    if request.htmx and not request.htmx.boosted:
        return render(request, "condensations/_rows.html", context)
    totals = found.totals()
    every = Condensation.Outcome.choices
    outcomes = [(value, label, totals["outcomes"][value]) for value, label in every]
    context |= {"totals": totals, "outcomes": outcomes}
    return render(request, "condensations/page.html", context)


def _download(
    found: CondensationQuerySet, filters: AttemptFilter, form: Literal["csv", "json"]
) -> HttpResponse:
    """Send all that the list shows, however many pages it has."""
    chosen = found.with_outcome(filters.outcome_chosen).brief().select_related("conversation")
    rows = chosen.newest_first().iterator()
    if form == "csv":
        text, kind = transcript.attempts_as_csv(rows), "text/csv; charset=utf-8"
    else:
        text, kind = transcript.attempts_as_json(rows), "application/json"
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
    row = transcript.read_record(attempt)
    context = {"conversation": conversation, "attempt": attempt, "row": row}
    return render(request, "condensations/record.html", context)


@require_GET
@signed_in
def show_hidden(request: Request, pk: uuid.UUID, attempt_pk: uuid.UUID) -> HttpResponse:
    """List the messages that a condensation hid, each leading to its place."""
    conversation = own_conversation(request, pk)
    attempt = get_object_or_404(conversation.condensations, pk=attempt_pk)
    found = services.list_hidden(condensation=attempt)
    context = {"conversation": conversation, "messages_hidden": with_rows(found)}
    return render(request, "chat/_hidden.html", context)


@require_POST
@signed_in
def undo_condensation(request: Request, pk: uuid.UUID, attempt_pk: uuid.UUID) -> HttpResponse:
    """Show the model again what the condensation hid."""
    conversation = resting_conversation(request, pk)
    attempt = get_object_or_404(conversation.condensations, pk=attempt_pk)
    services.undo_condensation(condensation=attempt)
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
    services.rewind_conversation(conversation=conversation, to_seq=attempt.message.seq, key=key)
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
    services.put_back(condensation=attempt, index=index)
    return announce(request, conversation)


def with_rows(found: QuerySet[Message]) -> Iterator[tuple[Message, str]]:
    """Yield messages with their row's id; results of tools stand in the row of their calls."""
    row_id = ""
    for message in found.select_related("condensation"):
        if attempt := getattr(message, "condensation", None):
            row_id = f"condensation-{attempt.pk}"
        elif not message.holds_results:
            row_id = f"message-{message.seq}"
        yield message, row_id


def list_attempts(mine: CondensationQuerySet, outcome: str, after: str) -> dict[str, Any]:
    """Return one page of attempts as lines with the place of each, and the next cursor."""
    found = mine.with_outcome(outcome).with_place().brief().select_related("conversation")
    if place := read_cursor(after):
        found = found.filter(behind("started_at", place))
    rows = list(found.newest_first()[: PAGE + 1])
    last = rows[PAGE - 1] if len(rows) > PAGE else None
    return {
        "lines": transcript.attempt_lines(rows[:PAGE]),
        "more": write_cursor(last, last.started_at) if last else "",
        "outcome": outcome,
    }
