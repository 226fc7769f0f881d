"""Attachments: files put up for a message, shown before and after it is sent, and removed."""

import uuid

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _

import condense
from chatapp import errors
from chatapp.accounts import accounts
from chatapp.agent.annotated_blocks import FILE, kind_of, names_of, text_of
from chatapp.composer.attachments import attach_file
from chatapp.models import Attachment, Conversation
from chatapp.number_formats import number
from chatapp.tools.documents import bytes_of
from chatapp.transcript import row_pages
from chatapp.views.common import (
    Request,
    as_uuid,
    download,
    in_conversation,
    limited_upload,
    own_conversation,
    signed_in,
)

# What is opened by its address may be anything: it runs nothing, and reaches nothing.
_SEALED = "default-src 'none'; sandbox"


def _limit() -> tuple[int, str]:
    megabytes = settings.LARGEST_ATTACHMENT
    reason = _("This file is too large: a file can have up to %s MB.") % number(megabytes)
    return megabytes << 20, reason


@limited_upload(_limit)
@signed_in("POST")
def put_attachment(request: Request) -> HttpResponse:
    """Keep a file for the next message, and return its chip."""
    sent = request.FILES.get("file")
    if sent is None:
        raise errors.Refused(_("Choose a file first."))
    if pk := as_uuid(request.POST.get("conversation", "")):
        profile = own_conversation(request, pk).profile
    else:
        profile = accounts.preferences_of(request.user).default_profile
    name, data = sent.name or "", sent.read()
    kept = attach_file(owner=request.user, name=name, data=data, profile=profile)
    return _chips(request, [kept])


@signed_in("GET")
def show_attachments(request: Request) -> HttpResponse:
    """Return the chips of what waits under the ids asked for, in their order."""
    ids = [one for text in request.GET.getlist("id")[:1000] if (one := as_uuid(text))]
    found = {one.pk: one for one in request.user.attachments.filter(pk__in=ids)}
    return _chips(request, [found[one] for one in ids if one in found])


def _chips(request: Request, attachments: list[Attachment]) -> HttpResponse:
    return render(request, "chat/_attachments.html", {"attachments": attachments})


@signed_in("GET")
def show_attachment(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Return what waits to be sent: an image as it is, a file as its text."""
    return served(get_object_or_404(request.user.attachments, pk=pk).engine)


@signed_in("POST")
def remove_attachment(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Forget what waits to be sent; one that is gone already is gone."""
    request.user.attachments.filter(pk=pk).delete()
    return HttpResponse(status=204)


@in_conversation("GET")
def show_block(_request: Request, own: Conversation, seq: int, index: int) -> HttpResponse:
    """Return what was sent with a message."""
    return served(row_pages.message_block(own, seq, index))


def served(block: condense.Block | None) -> HttpResponse:
    """Return an image to be shown, or a file's text to be kept; anything else is not found."""
    image = bytes_of(block) if isinstance(block, condense.ImageBlock) else None
    if image:
        kind, data = image
        answer = HttpResponse(data, content_type=kind)
    elif isinstance(block, condense.TextBlock) and kind_of(block) == FILE:
        name = f"{names_of([block])}.txt"
        answer = download(text_of(block), name, "text/plain; charset=utf-8")
    else:
        raise Http404
    answer["Content-Security-Policy"] = _SEALED
    return answer
