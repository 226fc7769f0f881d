"""The account section in Settings: name and sessions; django-allauth has its other pages."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO

from allauth.account.adapter import get_adapter
from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext

from chatapp.transfer.account_export import write_account
from chatapp.views.common import Request, refuse, signed_in

# Bytes of an archive that are read at once.
PIECE = 1_000_000


def sessions_of(request: Request) -> list[UserSession]:
    """Return where the user is signed in, the last visit first."""
    sessions: list[UserSession] = UserSession.objects.purge_and_list(request.user)
    return sorted(sessions, key=lambda one: one.last_seen_at, reverse=True)


@signed_in("POST")
def rename_account(request: Request) -> HttpResponse:
    """Give the account another name to sign in with."""
    name = request.POST.get("username", "").strip()
    try:
        get_adapter().clean_username(name)
    except ValidationError as error:
        return refuse(request, " ".join(error.messages))
    User.objects.filter(pk=request.user.pk).update(username=name)
    messages.success(request, gettext("You sign in as “%s” from now on.") % name)
    return redirect("settings_section", "account")


@signed_in("POST")
def end_session(request: Request, pk: int) -> HttpResponse:
    """End one of the user's sessions: its pages and sockets stop within a second."""
    get_object_or_404(UserSession, pk=pk, user=request.user).end()
    messages.success(request, gettext("That session was ended."))
    return redirect("settings_section", "account")


@signed_in("GET")
def download_account(request: Request) -> HttpResponseBase:
    """Return all that is stored of the user as one archive."""
    with ExitStack() as stack:
        # It can be larger than what memory there is; who reads it closes it.
        file = stack.enter_context(TemporaryFile())
        write_account(request.user, file)
        file.seek(0)
        stack.pop_all()
    answer = StreamingHttpResponse(_pieces(file), content_type="application/zip")
    answer["Content-Disposition"] = 'attachment; filename="palimpsest.zip"'
    return answer


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece
