"""Exports: a conversation as a file, and the check of its chain of records."""

import json

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.text import slugify

from chatapp.maintenance import audit_check
from chatapp.models import Conversation, Source
from chatapp.transcript import audit_entries
from chatapp.transfer.readable_copy import write_html, write_markdown
from chatapp.transfer.record_export import write_record
from chatapp.views.common import Request, download, in_conversation, signed_in, wants_page

LONGEST_NAME = 60


@in_conversation("GET")
def export_conversation(_request: Request, own: Conversation) -> HttpResponse:
    """Return the conversation with all that is on record of it as a JSON file."""
    return download(write_record(own), f"{_name(own)}.json", "application/json")


@in_conversation("GET")
def export_markdown(_request: Request, own: Conversation) -> HttpResponse:
    """Return a copy to be read as Markdown."""
    return download(write_markdown(own), f"{_name(own)}.md", "text/markdown; charset=utf-8")


@in_conversation("GET")
def export_html(_request: Request, own: Conversation) -> HttpResponse:
    """Return a copy to be read as a page that needs nothing else."""
    return download(write_html(own), f"{_name(own)}.html", "text/html; charset=utf-8")


def _name(conversation: Conversation) -> str:
    return slugify(str(conversation))[:LONGEST_NAME] or "conversation"


@in_conversation("GET")
def show_audit(request: Request, conversation: Conversation) -> HttpResponse:
    """Say whether a conversation's chain holds: a line in its menu, or a page with the entries."""
    context = {"conversation": conversation, "verdict": audit_check.verify(conversation)}
    if not wants_page(request):
        return render(request, "audits/_item.html", context)
    source = Source.objects.filter(conversation=conversation).defer("chains", "problems").first()
    context |= {"lines": audit_entries.audit_lines(conversation), "source": source}
    return render(request, "audits/page.html", context)


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
