"""The files of a conversation's workspace: seen, taken out, and put in."""

import uuid
from collections.abc import Iterator
from typing import IO

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods

from chatapp.agent.errors import ToolError
from chatapp.files import folder_transfer
from chatapp.formats import number
from chatapp.toolbox.toolbox import is_own, outputs_of, workspace_of
from chatapp.tools.long_outputs import find_output
from chatapp.tools.workspace import Workspace
from chatapp.views.common import (
    Request,
    limited_upload,
    own_conversation,
    refuse,
    resting_conversation,
    signed_in,
)

# What was left out is named, as far as anybody would read on.
NAMED = 5


@require_http_methods(["GET", "POST"])
@limited_upload(lambda: (folder_transfer.MAX_BYTES, str(folder_transfer.too_much())))
@signed_in
def show_files(request: Request, pk: uuid.UUID) -> HttpResponse:
    """List the files, or put in what was sent."""
    if request.method == "POST":
        return put_files(request, pk)
    conversation = own_conversation(request, pk)
    files = folder_transfer.list_workspace(workspace_of(conversation))
    context = {
        "conversation": conversation,
        "files": files,
        "more": len(files) >= folder_transfer.MAX_LISTED,
    }
    return render(request, "chat/files.html", context)


def put_files(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Put files and archives into the workspace, while nothing works in it."""
    conversation = resting_conversation(request, pk)
    if not (is_own(conversation) or request.user.is_superuser):
        return refuse(request, _("This folder belongs to the server. Files go into it there."))
    sent = list(sent_files(request))
    if not sent:
        return refuse(request, _("Choose files first."))
    done = folder_transfer.import_files(folder=workspace_of(conversation), files=sent)
    words = ngettext("%s file was put in.", "%s files were put in.", done.count)
    messages.success(request, words % number(done.count))
    for path, why in done.left_out[:NAMED]:
        messages.error(request, _("Left out: %(path)s %(why)s") % {"path": path[:100], "why": why})
    return redirect("files", pk)


def sent_files(request: Request) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield what was sent; a folder's files come with their paths beside them."""
    files = request.FILES.getlist("files")
    paths = request.POST.getlist("paths")
    for place, file in enumerate(files):
        path = paths[place] if len(paths) == len(files) and paths[place] else file.name or ""
        yield path, file


@require_GET
@signed_in
def download_file(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Return one file, to be kept and never to be shown: it may be anything."""
    path = request.GET.get("path", "")
    try:
        data = Workspace(workspace_of(own_conversation(request, pk))).read_bytes(path)
    except ToolError as error:
        return refuse(request, str(error))
    return attached(data, path.rpartition("/")[2])


@require_GET
@signed_in
def download_files(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Return all files as an archive."""
    conversation = own_conversation(request, pk)
    return attached(folder_transfer.pack_workspace(workspace_of(conversation)), "workspace.zip")


@require_GET
@signed_in
def download_output(request: Request, pk: uuid.UUID, name: str) -> HttpResponse:
    """Return the whole output of a command, of which the model got both ends."""
    conversation = own_conversation(request, pk)
    try:
        path = find_output(outputs_of(conversation.pk), name)
    except ToolError:
        return refuse(request, _("This output is not kept any more."))
    return attached(path.read_bytes(), f"output-{name}.txt")


def attached(data: bytes, name: str) -> HttpResponse:
    """Return bytes that a browser keeps."""
    answer = HttpResponse(data, content_type="application/octet-stream")
    answer["Content-Disposition"] = content_disposition_header(True, name)
    answer["X-Content-Type-Options"] = "nosniff"
    return answer
