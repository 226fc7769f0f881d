"""Files: put up for a message, and those of a workspace, listed, downloaded and uploaded."""

import uuid

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

import condense
from chatapp.agent.annotated_blocks import FILE, kind_of, names_of, text_of
from chatapp.agent.errors import ToolError
from chatapp.conversations.composer.attachments import attach_file
from chatapp.conversations.files import folder_transfer
from chatapp.conversations.files.storage_use import measure_again, room_for
from chatapp.conversations.toolbox.toolbox import is_own, outputs_of, workspace_of
from chatapp.models import Attachment, Conversation, accounts, errors
from chatapp.page.transcript import row_pages
from chatapp.project.languages import in_words
from chatapp.project.sentences import translate as _
from chatapp.tools.documents import bytes_of
from chatapp.tools.long_outputs import find_output
from chatapp.tools.workspace import FolderEntry, Workspace, WritableWorkspace
from chatapp.turns import actions
from chatapp.web.views.common import (
    REFUSED_STATUS,
    UserRequest,
    as_uuid,
    download,
    in_conversation,
    limited_upload,
    own_conversation,
    refuse,
    signed_in,
)

# A file that is opened by its address may be anything: it runs nothing, and reaches nothing.
_SEALED = "default-src 'none'; sandbox"
# Files that were left out are named, up to this many.
LEFT_OUT_NAMED = 5
BYTES = "application/octet-stream"


def _limit() -> tuple[int, str]:
    megabytes = settings.LARGEST_ATTACHMENT
    reason = _("This file is too large: a file can have up to {size:,} MB.", size=megabytes)
    return megabytes << 20, reason


@limited_upload(_limit)
@signed_in("POST")
def put_attachment(request: UserRequest) -> HttpResponse:
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
def show_attachments(request: UserRequest) -> HttpResponse:
    """Return the chips of the attachments with these ids, in their order."""
    ids = [one for text in request.GET.getlist("id")[:1000] if (one := as_uuid(text))]
    found = {one.pk: one for one in request.user.attachments.filter(pk__in=ids)}
    return _chips(request, [found[one] for one in ids if one in found])


def _chips(request: UserRequest, attachments: list[Attachment]) -> HttpResponse:
    return render(request, "chat/_attachments.html", {"attachments": attachments})


@signed_in("GET")
def show_attachment(request: UserRequest, pk: uuid.UUID) -> HttpResponse:
    """Return an attachment that waits to be sent: an image as it is, a file as its text."""
    return served(get_object_or_404(request.user.attachments, pk=pk).engine)


@signed_in("POST")
def remove_attachment(request: UserRequest, pk: uuid.UUID) -> HttpResponse:
    """Remove an attachment that waits to be sent; succeed also if it is gone."""
    request.user.attachments.filter(pk=pk).delete()
    return HttpResponse(status=204)


@in_conversation("GET")
def show_block(_request: UserRequest, own: Conversation, seq: int, index: int) -> HttpResponse:
    """Return an attachment of a message."""
    return served(row_pages.message_block(own, seq, index))


def served(block: condense.Block | None) -> HttpResponse:
    """Return an image to be shown, or a file's text to be downloaded; raise Http404 otherwise."""
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


@limited_upload(lambda: (folder_transfer.MAX_TRANSFER_BYTES, str(folder_transfer.too_much())))
@in_conversation("GET", "POST")
def show_files(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """List the files, or add uploaded ones."""
    if request.method == "GET":
        files, more, status = list[FolderEntry](), False, 200
        try:
            files, more = folder_transfer.list_files(Workspace(workspace_of(conversation)))
        except errors.Refused as reason:
            # It may be the page that the user would be sent back to.
            messages.error(request, in_words(str(reason)))
            status = REFUSED_STATUS
        context = {"conversation": conversation, "files": files, "more": more}
        return render(request, "chat/files.html", context, status=status)
    # Nothing else works in the workspace meanwhile.
    actions.close_left_over(conversation)
    if not (is_own(conversation) or request.user.is_superuser):
        return refuse(request, _("This folder belongs to the server. Put files into it there."))
    sent, paths = request.FILES.getlist("files"), request.POST.getlist("paths")
    if not sent:
        return refuse(request, _("Choose files first."))
    # A folder's files come with their paths.
    paths = paths if len(paths) == len(sent) else [""] * len(sent)
    named = [(path or file.name or "", file) for path, file in zip(paths, sent, strict=True)]
    with room_for(request.user, sum(file.size or 0 for file in sent)):
        try:
            done = folder_transfer.import_files(folder=workspace_of(conversation), files=named)
        finally:
            measure_again(request.user)
    words = _("{count:,} file uploaded.", "{count:,} files uploaded.", count=done.count)
    messages.success(request, words)
    for path, why in done.left_out[:LEFT_OUT_NAMED]:
        words = _("Not uploaded: {path}. {why}", path=path[:100], why=in_words(why))
        messages.error(request, words)
    if (others := len(done.left_out) - LEFT_OUT_NAMED) > 0:
        messages.error(request, _("… and one more.", "… and {count} more.", count=others))
    return redirect("files", conversation.pk)


@in_conversation("GET")
def download_file(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Return one file, to be kept and never to be shown: it may be anything."""
    path = request.GET.get("path", "")
    try:
        data = Workspace(workspace_of(conversation)).read_bytes(path)
    except ToolError as error:
        return refuse(request, str(error))
    return download(data, path.rpartition("/")[2], BYTES)


@in_conversation("POST", resting=True)
def remove_file(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Remove one file of a folder that is the user's."""
    path = request.POST.get("path", "")
    if not (is_own(conversation) or request.user.is_superuser):
        return refuse(request, _("This folder belongs to the server. Remove files there."))
    try:
        WritableWorkspace(workspace_of(conversation)).remove(path)
    except ToolError as error:
        return refuse(request, str(error))
    measure_again(request.user)
    messages.success(request, _("“{name}” was removed.", name=path))
    return redirect("files", conversation.pk)


@in_conversation("GET")
def download_files(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Return all files as an archive."""
    packed = folder_transfer.pack_workspace(workspace_of(conversation))
    return download(packed, "workspace.zip", BYTES)


@in_conversation("GET")
def download_output(request: UserRequest, conversation: Conversation, name: str) -> HttpResponse:
    """Return the whole output of a command, of which the model got both ends."""
    try:
        path = find_output(outputs_of(conversation.pk), name)
    except ToolError:
        return refuse(request, _("This output is no longer stored."))
    return download(path.read_bytes(), f"output-{name}.txt", BYTES)
