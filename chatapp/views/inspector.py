"""What the model sees next, and what it saw in a call: as pages, and as a panel's content."""

import uuid

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from chatapp.inspector.next_request import read_next_request
from chatapp.inspector.request_chart import draw_chart
from chatapp.inspector.requests import read_body
from chatapp.inspector.sent_call import read_call
from chatapp.models import ModelCall
from chatapp.views.common import Request, own_conversation, signed_in


@require_GET
@signed_in
def show_upcoming(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Show the next request of a conversation, in the panel or as a page."""
    conversation = own_conversation(request, pk)
    context = {
        "conversation": conversation,
        "seen": read_next_request(conversation),
        "chart": draw_chart(conversation),
    }
    return render(request, _template(request, "upcoming"), context)


@require_GET
@signed_in
def show_call(request: Request, pk: uuid.UUID, call_pk: int) -> HttpResponse:
    """Show what the model saw in a call, in the panel or as a page."""
    conversation = own_conversation(request, pk)
    call = _call(conversation.pk, call_pk)
    context = {"conversation": conversation, "past": read_call(call), "call": call}
    return render(request, _template(request, "call"), context)


@require_GET
@signed_in
def download_request(request: Request, pk: uuid.UUID, call_pk: int) -> HttpResponse:
    """Send the bytes that were sent in a call, as a file."""
    conversation = own_conversation(request, pk)
    body = read_body(_call(conversation.pk, call_pk))
    if body is None:
        raise Http404
    name = f'attachment; filename="request-{call_pk}.json"'
    headers = {"Content-Disposition": name, "X-Content-Type-Options": "nosniff"}
    return HttpResponse(body, content_type="application/json", headers=headers)


def _call(conversation: uuid.UUID, pk: int) -> ModelCall:
    calls = ModelCall.objects.select_related("manifest", "message", "condensation")
    return get_object_or_404(calls, conversation=conversation, pk=pk)


def _template(request: Request, name: str) -> str:
    inside = request.htmx and not request.htmx.boosted
    return f"inspector/_{name}.html" if inside else f"inspector/{name}.html"
