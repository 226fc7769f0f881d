"""A conversation as a file: its whole record, or a copy to be read."""

import uuid
from collections.abc import Iterable

from django.http import HttpResponse
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.views.decorators.http import require_GET

from chatapp.models import Conversation
from chatapp.transfer.readable_copy import write_html, write_markdown
from chatapp.transfer.record_export import write_record
from chatapp.views.common import Request, own_conversation, signed_in

LONGEST_NAME = 60


@require_GET
@signed_in
def export_conversation(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Return the conversation with all that is on record of it as a JSON file."""
    conversation = own_conversation(request, pk)
    return _attached(conversation, write_record(conversation), "json", "application/json")


@require_GET
@signed_in
def export_markdown(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Return a copy to be read as Markdown."""
    conversation = own_conversation(request, pk)
    kind = "text/markdown; charset=utf-8"
    return _attached(conversation, write_markdown(conversation), "md", kind)


@require_GET
@signed_in
def export_html(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Return a copy to be read as a page that needs nothing else."""
    conversation = own_conversation(request, pk)
    kind = "text/html; charset=utf-8"
    return _attached(conversation, [write_html(conversation)], "html", kind)


def _attached(
    conversation: Conversation, written: Iterable[bytes | str], ending: str, kind: str
) -> HttpResponse:
    """Return a file that a browser keeps and does not show."""
    answer = HttpResponse(written, content_type=kind)
    name = slugify(str(conversation))[:LONGEST_NAME] or "conversation"
    answer["Content-Disposition"] = content_disposition_header(True, f"{name}.{ending}")
    answer["X-Content-Type-Options"] = "nosniff"
    return answer
