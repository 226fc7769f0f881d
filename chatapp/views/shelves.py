"""Where conversations are found in the sidebar: pinned, in folders, in the archive."""

import uuid

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from chatapp import services
from chatapp.live import turns
from chatapp.models import Folder
from chatapp.views.common import Request, done, own_conversation, read_number, signed_in

CHANGED = "list-changed"
MOVE = "move"


@require_http_methods(["GET", "POST"])
@signed_in
def shelve_conversation(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Show where a conversation is and can be put, or put it there."""
    conversation = own_conversation(request, pk)
    folders = Folder.objects.owned_by(request.user)
    if request.method == "GET":
        context = {"conversation": conversation, "folders": folders}
        return render(request, "conversations/_shelve.html", context)
    action = request.POST.get("action", "")
    if action == MOVE:
        chosen, named = request.POST.get("folder", ""), request.POST.get("named", "")
        folder = get_object_or_404(folders, pk=read_number(chosen)) if chosen else None
        services.move_conversation(conversation=conversation, folder=folder, named=named)
    else:
        services.place_conversation(conversation=conversation, action=action)
    return announce(request, reverse("chat", args=[pk]))


@require_http_methods(["GET", "POST"])
@signed_in
def change_folder(request: Request, pk: int) -> HttpResponse:
    """Show what can be done with a folder, or rename or remove it; its conversations stay."""
    folder = get_object_or_404(Folder.objects.owned_by(request.user), pk=pk)
    if request.method == "GET":
        return render(request, "conversations/_folder.html", {"folder": folder})
    if "remove" in request.POST:
        folder.delete()
    else:
        services.rename_folder(folder=folder, name=request.POST.get("name", ""))
    return announce(request, reverse("conversations"))


def announce(request: Request, to: str) -> HttpResponse:
    """Have all open pages of the user's show the list as it is now."""
    turns.announce_list(request.user.pk)
    return done(request, event=CHANGED, to=to)
