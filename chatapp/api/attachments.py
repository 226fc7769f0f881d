"""Files that go with a message: put up, looked at and removed, until it is sent."""

import uuid

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import File, Form, Router
from ninja.files import UploadedFile

from chatapp import services
from chatapp.api.conversations import own_conversation
from chatapp.api.door import Call
from chatapp.api.shapes import AttachmentShape
from chatapp.models import Attachment

router = Router(tags=["Attachments"])


@router.post("/attachments", response={201: AttachmentShape}, summary="Attach a file")
def attach_file(
    request: Call, file: File[UploadedFile], conversation: Form[uuid.UUID | None] = None
) -> Attachment:
    """Keep a file for a message, which names it by its id when it is sent.

    It is refused where the model of that conversation, or of the default profile, can't read it.
    """
    if conversation:
        profile = own_conversation(request, conversation).profile
    else:
        profile = services.preferences_of(request.auth).default_profile
    with services.saving():
        return services.attach_file(
            owner=request.auth, name=file.name or "", data=file.read(), profile=profile
        )


@router.get(
    "/attachments/{uuid:attachment_pk}",
    response=AttachmentShape,
    summary="Show an attachment that waits",
)
def show_attachment(request: Call, attachment_pk: uuid.UUID) -> Attachment:
    """Show what waits to be sent; once it is, it is part of its message."""
    return get_object_or_404(Attachment, owner=request.auth, pk=attachment_pk)


@router.delete(
    "/attachments/{uuid:attachment_pk}", response={204: None}, summary="Remove an attachment"
)
def remove_attachment(request: Call, attachment_pk: uuid.UUID) -> HttpResponse:
    """Forget what waits to be sent."""
    with services.saving():
        show_attachment(request, attachment_pk).delete()
    return HttpResponse(status=204)
