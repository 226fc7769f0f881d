"""Exports: a conversation as a file, and the check of its chain of records."""

import json
from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.text import slugify

from chatapp.maintenance import audit_check
from chatapp.models import Conversation, Source
from chatapp.transcript import audit_entries
from chatapp.transfer.readable_copy import write_html, write_markdown
from chatapp.transfer.record_export import write_record
from chatapp.views.common import (
    Request,
    download,
    in_conversation,
    show_in_inspector,
    signed_in,
    wants_page,
)

LONGEST_NAME = 60


# All that is on record, a copy to be read, and one that is a page and needs nothing else.
FORMS: dict[str, tuple[Callable[[Conversation], Any], str]] = {
    "json": (write_record, "application/json"),
    "md": (write_markdown, "text/markdown; charset=utf-8"),
    "html": (write_html, "text/html; charset=utf-8"),
}


@in_conversation("GET")
def export_conversation(_request: Request, own: Conversation, form: str) -> HttpResponse:
    """Return the conversation as a file."""
    write, kind = FORMS[form]
    name = slugify(str(own))[:LONGEST_NAME] or "conversation"
    return download(write(own), f"{name}.{form}", kind)


@in_conversation("GET")
def show_audit(request: Request, conversation: Conversation) -> HttpResponse:
    """Say whether a conversation's chain holds, and list its entries."""
    source = Source.objects.filter(conversation=conversation).defer("chains", "problems").first()
    context = {
        "conversation": conversation,
        "verdict": audit_check.verify(conversation),
        "lines": audit_entries.audit_lines(conversation),
        "source": source,
    }
    return show_in_inspector(request, "audit", "audits/_record.html", context)


@signed_in("GET")
def show_audits(request: Request) -> HttpResponse:
    """Say whether the chains of all the user's conversations hold."""
    mine = Conversation.objects.owned_by(request.user).present()
    verdicts = [audit_check.verify(conversation) for conversation in mine]
    context = {
        "count": len(verdicts),
        "entries": sum(verdict.entries for verdict in verdicts),
        "broken": [verdict for verdict in verdicts if not verdict.holds],
    }
    return render(request, f"audits/{'all' if wants_page(request) else '_all'}.html", context)


@in_conversation("GET")
def download_audit(_request: Request, own: Conversation) -> HttpResponse:
    """Send the chain with what it stands for, for others to check."""
    text = json.dumps(audit_check.export(own), ensure_ascii=False, indent=1)
    return download(text, f"record-{own.pk}.json", "application/json")
