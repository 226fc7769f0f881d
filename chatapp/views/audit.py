"""Whether the record of a conversation holds, checked when somebody asks."""

import json
import uuid

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from chatapp.maintenance import audit_check
from chatapp.models import Conversation, Source
from chatapp.transcript import audit_entries
from chatapp.views.common import Request, own_conversation, signed_in


@require_GET
@signed_in
def show_audit(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Say whether a conversation's chain holds: a line in its menu, or a page with the entries."""
    conversation = own_conversation(request, pk)
    context = {"conversation": conversation, "verdict": audit_check.verify(conversation)}
    if request.htmx and not request.htmx.boosted:
        return render(request, "audits/_item.html", context)
    source = Source.objects.filter(conversation=conversation).defer("chains", "problems").first()
    context |= {"lines": audit_entries.audit_lines(conversation), "source": source}
    return render(request, "audits/page.html", context)


@require_GET
@signed_in
def show_audits(request: Request) -> HttpResponse:
    """Say whether the chains of all the user's conversations hold."""
    mine = Conversation.objects.owned_by(request.user).present()
    verdicts = [audit_check.verify(conversation) for conversation in mine]
    context = {
        "count": len(verdicts),
        "entries": sum(verdict.entries for verdict in verdicts),
        "broken": [verdict for verdict in verdicts if not verdict.holds],
    }
    whole = not request.htmx or request.htmx.boosted
    return render(request, "audits/all.html" if whole else "audits/_all.html", context)


@require_GET
@signed_in
def download_audit(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Send the chain with what it stands for, for others to check."""
    conversation = own_conversation(request, pk)
    text = json.dumps(audit_check.export(conversation), ensure_ascii=False, indent=1)
    answer = HttpResponse(text, content_type="application/json")
    name = content_disposition_header(as_attachment=True, filename=f"record-{pk}.json")
    answer["Content-Disposition"] = name
    return answer
