"""The account section in Settings: name and sessions; django-allauth has its other pages."""

import asyncio
from collections.abc import AsyncIterator
from tempfile import TemporaryFile
from typing import IO, Any

from allauth.account.adapter import get_adapter
from allauth.account.decorators import reauthentication_required
from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import FileResponse, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render

from chatapp.accounts import users
from chatapp.models import Deletion
from chatapp.project.sentences import translate as _
from chatapp.records.transfer.record_export import write_account
from chatapp.turns import actions
from chatapp.web.views.common import UserRequest, came_from, refuse, signed_in

# Bytes of an archive that are read at once.
ARCHIVE_PIECE = 1_000_000


def sessions_of(request: UserRequest) -> list[UserSession]:
    """Return the user's sessions, the latest visit first."""
    sessions: list[UserSession] = UserSession.objects.purge_and_list(request.user)
    return sorted(sessions, key=lambda one: one.last_seen_at, reverse=True)


@signed_in("POST")
def rename_account(request: UserRequest) -> HttpResponse:
    """Give the account another name to sign in with."""
    name = request.POST.get("username", "").strip()
    try:
        get_adapter().clean_username(name)
    except ValidationError as error:
        return refuse(request, " ".join(error.messages))
    User.objects.filter(pk=request.user.pk).update(username=name)
    messages.success(request, _("You sign in as “{name}” from now on.", name=name))
    return redirect("settings_section", "account")


@signed_in("POST")
def end_session(request: UserRequest, pk: int) -> HttpResponse:
    """End one of the user's sessions: its pages and sockets stop within a second.

    With ``revoke_tokens`` the API tokens are revoked, too.
    """
    get_object_or_404(UserSession, pk=pk, user=request.user).end()
    if "revoke_tokens" in request.POST:
        request.user.api_tokens.all().delete()
    messages.success(request, _("That session was ended."))
    return redirect("settings_section", "account")


@signed_in("GET")
def download_account(request: UserRequest) -> HttpResponseBase:
    """Return all stored data of the user as one archive."""
    # It can be larger than the memory; the answer closes it.
    file = TemporaryFile()  # noqa: SIM115 - the same
    write_account(request.user, file)
    file.seek(0)
    return _Archive(file, as_attachment=True, filename="palimpsest.zip")


@signed_in("GET", "POST")
@reauthentication_required(allow_get=True)  # type: ignore[untyped-decorator] # it has no types
def delete_account(request: UserRequest) -> HttpResponse:
    """Explain the deletion of the account; schedule it for a week later."""
    if Deletion.objects.filter(user=request.user).exists():
        return redirect("settings_section", "account")
    if request.method == "GET":
        context = {"days": users.GRACE.days, "is_last": users.is_last_operator(request.user)}
        return render(request, "settings/delete_account.html", context)
    users.ask_to_delete(request.user, session_key=request.session.session_key)
    actions.stop_all(request.user.pk)
    return redirect("settings_section", "account")


@signed_in("POST")
def keep_account(request: UserRequest) -> HttpResponse:
    """Cancel the deletion of the account."""
    if users.keep_account(request.user):
        messages.success(request, _("Your account stays."))
    return redirect(came_from(request))


class _Archive(FileResponse):
    """A file that is read in pieces: Django would read all of it before the first is sent."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(file, **options)
        self._file = file
        # It is compressed already.
        self["Content-Encoding"] = "identity"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await asyncio.to_thread(self._file.read, ARCHIVE_PIECE):
            yield piece
