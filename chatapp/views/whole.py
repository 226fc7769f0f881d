"""What the page asks for when a row does not carry it: plain text, as long as it is."""

import uuid

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_GET

from chatapp import transcript
from chatapp.views.common import Request, own_conversation, signed_in


@require_GET
@signed_in
def show_message_text(request: Request, pk: uuid.UUID, seq: int) -> HttpResponse:
    """Return what a message says, for copying and editing."""
    return answer(transcript.message_text(own_conversation(request, pk), seq))


@require_GET
@signed_in
def show_call_text(request: Request, pk: uuid.UUID, seq: int) -> HttpResponse:
    """Return all of a tool call's input or result."""
    call, part = request.GET.get("call", ""), request.GET.get("part", "")
    return answer(transcript.call_text(own_conversation(request, pk), seq, call, part))


@require_GET
@signed_in
def show_queued_text(request: Request, pk: uuid.UUID, nonce: uuid.UUID) -> HttpResponse:
    """Return what a message says that waits to be sent, for editing."""
    waiting = own_conversation(request, pk).queued.waiting().filter(nonce=nonce)
    return answer(waiting.values_list("text", flat=True).first())


def answer(text: str | None) -> HttpResponse:
    """Return text that no browser takes for anything else."""
    if text is None:
        raise Http404
    return HttpResponse(text, content_type="text/plain; charset=utf-8")
