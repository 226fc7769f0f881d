"""Records of a conversation: next request, sent requests, costs and audit chain."""

import json
import math
from datetime import timedelta
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, F, Q, Value
from django.db.models.functions import Coalesce, NullIf, TruncDate
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone

from chatapp.models import AuditEntry, Conversation, ModelCall, Source
from chatapp.models.database import reading_damaged_text
from chatapp.models.errors import BadSeal
from chatapp.models.pagination import read_number
from chatapp.models.spending import read_spending
from chatapp.page.inspector.next_request import read_next_request
from chatapp.page.inspector.request_chart import draw_chart
from chatapp.page.inspector.requests import read_body
from chatapp.page.inspector.sent_call import read_call
from chatapp.page.transcript import audit_entries
from chatapp.records.maintenance import audit_check, audit_seals
from chatapp.web.views.common import (
    UserRequest,
    download,
    in_conversation,
    refuse,
    show_in_inspector,
    signed_in,
    wants_page,
    zone_of,
)

DAYS = 30
CONVERSATIONS = TURNS = 50


@in_conversation("GET")
def show_upcoming(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Show the next request of a conversation, in the panel or as a page."""
    context = {"conversation": conversation, "seen": read_next_request(conversation)}
    return show_in_inspector(request, "inspector", "inspector/_upcoming.html", context)


@in_conversation("GET")
def show_history(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Show the composition of the latest requests."""
    context = {"conversation": conversation, "chart": draw_chart(conversation)}
    return show_in_inspector(request, "history", "inspector/_history.html", context)


@in_conversation("GET")
def show_call(request: UserRequest, conversation: Conversation, call_pk: int) -> HttpResponse:
    """Show the request of a call, in the panel or as a page."""
    call = _call(conversation, call_pk)
    context = {"conversation": conversation, "past": read_call(call), "call": call}
    return show_in_inspector(request, "history", "inspector/_call.html", context)


@in_conversation("GET")
def download_request(_request: UserRequest, own: Conversation, call_pk: int) -> HttpResponse:
    """Send the bytes that were sent in a call, as a file."""
    body = read_body(_call(own, call_pk))
    if body is None:
        raise Http404
    return download(body, f"request-{call_pk}.json", "application/json")


def _call(conversation: Conversation, pk: int) -> ModelCall:
    calls = ModelCall.objects.select_related("manifest", "message", "condensation")
    return get_object_or_404(calls, conversation=conversation, pk=pk)


@signed_in("GET")
def show_costs(request: UserRequest) -> HttpResponse:
    """Show the cost of the latest days, of all profiles and of the dearest conversations."""
    calls = ModelCall.objects.paid_by([request.user.pk])
    zone = zone_of(request)
    today = timezone.now().astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    latest = calls.filter(created_at__gte=today - timedelta(days=DAYS - 1))
    days = latest.annotate(day=TruncDate("created_at", tzinfo=zone))
    profiles = list(calls.costs_by("profile_name").order_by("profile_name"))
    present = calls.filter(conversation__deleted_at=None)
    named = present.annotate(title=F("conversation__title")).costs_by("conversation", "title")
    dearest = (Coalesce("measured", 0) + Coalesce("estimated", 0)).desc()
    context = {
        "days": days.costs_by("day").order_by("-day"),
        "profiles": profiles,
        "conversations": named.order_by(dearest, "conversation")[:CONVERSATIONS],
        "totals": _add_up(profiles),
        "days_shown": DAYS,
        "most": CONVERSATIONS,
    }
    return render(request, "costs/page.html", context)


@in_conversation("GET")
def show_conversation_costs(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Show the cost of a conversation's latest turns, and of its abandoned branches."""
    calls = ModelCall.objects.filter(conversation=conversation)
    # A condensation by hand answers no message; it leads to the newest one at its beginning.
    seq = Coalesce(NullIf("turn__question_seq", Value(0)), "turn__at_seq")
    begun = {"started": F("turn__started_at"), "seq": seq}
    turns = calls.exclude(turn=None).annotate(**begun).costs_by("turn", *begun)
    # Another reply sets aside the one before it, and not the turn that wrote that.
    branch = Coalesce("message__rewind_parent", "turn__rewind_parent")
    outside = ExpressionWrapper(Q(turn=None), BooleanField())
    branches = list(calls.annotate(branch=branch, outside=outside).costs_by("branch", "outside"))
    rewinds = {one.pk: one for one in conversation.rewinds.all()}
    for row in branches:
        row["rewind"] = rewinds.get(row["branch"])
    # Branches in force stand first, then those that were set aside last.
    aside = {pk: -one.created_at.timestamp() for pk, one in rewinds.items()}
    branches.sort(key=lambda row: (row["outside"], aside.get(row["branch"], -math.inf)))
    context = {
        "conversation": conversation,
        "turns": turns.order_by("-started", "turn")[:TURNS],
        "branches": branches,
        "totals": _add_up(branches),
        "most": TURNS,
        "spending": read_spending(conversation.pk),
    }
    return show_in_inspector(request, "conversation_costs", "costs/_conversation.html", context)


def _add_up(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the sums of all columns of figures, None without any."""
    names = ("calls", "measured", "estimated", "unpriced")
    known = {name: [row[name] for row in rows if row[name] is not None] for name in names}
    return {name: sum(figures) if figures else None for name, figures in known.items()}


@reading_damaged_text()
@in_conversation("GET")
def show_audit(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Show the verdict on a conversation's chain, and list its entries."""
    after = request.GET.get("after", "")
    context = audit_entries.audit_lines(conversation.audit_entries.all(), read_number(after))
    if after:
        return render(request, "audits/_lines.html", context)
    source = Source.objects.filter(conversation=conversation).defer("chains", "problems").first()
    verdict = audit_check.verify(conversation)
    context |= {"conversation": conversation, "verdict": verdict, "source": source}
    return show_in_inspector(request, "audit", "audits/_record.html", context)


@reading_damaged_text()
@signed_in("GET")
def show_audits(request: UserRequest) -> HttpResponse:
    """List the entries of all the user's chains; with ``verify``, check these."""
    mine = Conversation.objects.owned_by(request.user).present()
    after, context = request.GET.get("after", ""), dict[str, Any]()
    if "verify" in request.GET:
        verdicts = [audit_check.verify(conversation) for conversation in mine]
        context = {
            "count": len(verdicts),
            "entries": sum(verdict.entries for verdict in verdicts),
            "broken": [verdict for verdict in verdicts if not verdict.holds],
        }
        if not wants_page(request):
            return render(request, "audits/_all.html", context)
    entries = AuditEntry.objects.filter(conversation__in=mine)
    context |= audit_entries.audit_lines(entries, read_number(after)) | {"of_all": True}
    if after:
        return render(request, "audits/_lines.html", context)
    return render(request, "audits/all.html", context | {"sealed": audit_seals.last_sealed()})


@reading_damaged_text()
@signed_in("POST")
def export_audits(request: UserRequest) -> HttpResponse:
    """Send the user's chains, signed: a seal to compare them with later."""
    try:
        record = audit_seals.make_seal(owner=request.user)
    except BadSeal as error:
        return refuse(request, str(error))
    return download(record, "record.json", "application/json")


@reading_damaged_text()
@in_conversation("GET")
def download_audit(_request: UserRequest, own: Conversation) -> HttpResponse:
    """Send the chain with all the data it covers, for others to check."""
    text = json.dumps(audit_check.export(own), ensure_ascii=False, indent=1)
    return download(text, f"record-{own.pk}.json", "application/json")
