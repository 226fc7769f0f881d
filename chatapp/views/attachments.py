"""Files that go with a message: put up, looked at before and after they are sent, and removed."""

import uuid

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

import condense
from chatapp import errors
from chatapp.accounts import accounts
from chatapp.agent.annotated_blocks import is_file, names_of, text_of
from chatapp.composer.attachments import attach_file
from chatapp.formats import number
from chatapp.models import Attachment, Profile
from chatapp.tools.documents import bytes_of
from chatapp.transcript import row_pages
from chatapp.views.common import Request, as_uuid, limited_upload, own_conversation, signed_in

# What is opened by its address may be anything: it runs nothing, and reaches nothing.
_SEALED = "default-src 'none'; sandbox"


def _limit() -> tuple[int, str]:
    megabytes = settings.LARGEST_ATTACHMENT
    reason = _("This file is too large: a file can have up to %s MB.") % number(megabytes)
    return megabytes << 20, reason


@require_POST
@limited_upload(_limit)
@signed_in
def put_attachment(request: Request) -> HttpResponse:
    """Keep a file for the next message, and return its chip."""
    sent = request.FILES.get("file")
    if sent is None:
        raise errors.Refused(_("Choose a file first."))
    attachment = attach_file(
        owner=request.user, name=sent.name or "", data=sent.read(), profile=_reader(request)
    )
    return _chips(request, [attachment])


def _reader(request: Request) -> Profile | None:
    """Return whose model will read it: the conversation's that is named, or the default one."""
    pk = as_uuid(request.POST.get("conversation", ""))
    if pk:
        return own_conversation(request, pk).profile
    return accounts.preferences_of(request.user).default_profile


@require_GET
@signed_in
def show_attachments(request: Request) -> HttpResponse:
    """Return the chips of what waits under the ids asked for, in their order."""
    ids = [one for text in request.GET.getlist("id")[:1000] if (one := as_uuid(text))]
    found = {one.pk: one for one in Attachment.objects.named(request.user, ids)}
    return _chips(request, [found[one] for one in ids if one in found])


def _chips(request: Request, attachments: list[Attachment]) -> HttpResponse:
    return render(request, "chat/_attachments.html", {"attachments": attachments})


@require_GET
@signed_in
def show_attachment(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Return what waits to be sent: an image as it is, a file as its text."""
    return served(get_object_or_404(Attachment, owner=request.user, pk=pk).engine)


@require_POST
@signed_in
def remove_attachment(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Forget what waits to be sent; one that is gone already is gone."""
    Attachment.objects.named(request.user, [pk]).delete()
    return HttpResponse(status=204)


@require_GET
@signed_in
def show_block(request: Request, pk: uuid.UUID, seq: int, index: int) -> HttpResponse:
    """Return what was sent with a message."""
    block = row_pages.message_block(own_conversation(request, pk), seq, index)
    if block is None:
        raise Http404
    return served(block)


def served(block: condense.Block) -> HttpResponse:
    """Return an image to be shown, or a file's text to be kept; anything else is not found."""
    image = bytes_of(block) if isinstance(block, condense.ImageBlock) else None
    if image:
        kind, data = image
        answer = HttpResponse(data, content_type=kind)
    elif isinstance(block, condense.TextBlock) and is_file(block):
        answer = HttpResponse(text_of(block), content_type="text/plain; charset=utf-8")
        name = f"{names_of([block])}.txt"
        answer["Content-Disposition"] = content_disposition_header(True, name)
    else:
        raise Http404
    answer["Content-Security-Policy"] = _SEALED
    answer["X-Content-Type-Options"] = "nosniff"
    return answer
