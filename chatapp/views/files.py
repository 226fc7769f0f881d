"""Files of a conversation's workspace: listed, downloaded and uploaded."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatapp.agent.errors import ToolError
from chatapp.files import folder_transfer
from chatapp.models import Conversation
from chatapp.number_formats import number
from chatapp.toolbox.toolbox import is_own, outputs_of, workspace_of
from chatapp.tools.long_outputs import find_output
from chatapp.tools.workspace import Workspace
from chatapp.turns import actions
from chatapp.views.common import Request, download, in_conversation, limited_upload, refuse

# What was left out is named, as far as anybody would read on.
NAMED = 5
BYTES = "application/octet-stream"


@limited_upload(lambda: (folder_transfer.MAX_BYTES, str(folder_transfer.too_much())))
@in_conversation("GET", "POST")
def show_files(request: Request, conversation: Conversation) -> HttpResponse:
    """List the files, or put in what was sent."""
    if request.method == "GET":
        files = list(folder_transfer.list_files(Workspace(workspace_of(conversation))))
        more = len(files) >= folder_transfer.MAX_LISTED
        context = {"conversation": conversation, "files": files, "more": more}
        return render(request, "chat/files.html", context)
    # Nothing else works in the workspace meanwhile.
    actions.close_left_over(conversation)
    if not (is_own(conversation) or request.user.is_superuser):
        return refuse(request, _("This folder belongs to the server. Put files into it there."))
    sent, paths = request.FILES.getlist("files"), request.POST.getlist("paths")
    if not sent:
        return refuse(request, _("Choose files first."))
    # A folder's files come with their paths beside them.
    paths = paths if len(paths) == len(sent) else [""] * len(sent)
    named = [(path or file.name or "", file) for path, file in zip(paths, sent, strict=True)]
    done = folder_transfer.import_files(folder=workspace_of(conversation), files=named)
    words = ngettext("%s file uploaded.", "%s files uploaded.", done.count)
    messages.success(request, words % number(done.count))
    left_out = _("Not uploaded: %(path)s. %(why)s")
    for path, why in done.left_out[:NAMED]:
        messages.error(request, left_out % {"path": path[:100], "why": why})
    return redirect("files", conversation.pk)


@in_conversation("GET")
def download_file(request: Request, conversation: Conversation) -> HttpResponse:
    """Return one file, to be kept and never to be shown: it may be anything."""
    path = request.GET.get("path", "")
    try:
        data = Workspace(workspace_of(conversation)).read_bytes(path)
    except ToolError as error:
        return refuse(request, str(error))
    return download(data, path.rpartition("/")[2], BYTES)


@in_conversation("GET")
def download_files(request: Request, conversation: Conversation) -> HttpResponse:
    """Return all files as an archive."""
    packed = folder_transfer.pack_workspace(workspace_of(conversation))
    return download(packed, "workspace.zip", BYTES)


@in_conversation("GET")
def download_output(request: Request, conversation: Conversation, name: str) -> HttpResponse:
    """Return the whole output of a command, of which the model got both ends."""
    try:
        path = find_output(outputs_of(conversation.pk), name)
    except ToolError:
        return refuse(request, _("This output is no longer stored."))
    return download(path.read_bytes(), f"output-{name}.txt", BYTES)
