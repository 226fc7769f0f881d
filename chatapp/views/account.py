"""The account section in Settings: name and sessions; django-allauth has its other pages."""

from allauth.account.adapter import get_adapter
from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext

from chatapp.views.common import Request, refuse, signed_in


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
