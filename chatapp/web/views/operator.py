"""The operator's page: users and their costs, and the settings of the server."""

import logging
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from allauth.account.decorators import reauthentication_required
from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from chatapp.accounts import invitations, users
from chatapp.models import Invitation, Profile, ServerSettings
from chatapp.models.account_deletions import people
from chatapp.project.sentences import translate
from chatapp.turns import actions
from chatapp.web.forms.server_settings import ServerSettingsForm
from chatapp.web.views.common import UserRequest, View, refuse, signed_in

log = logging.getLogger(__name__)

# These let an operator into an account, so that their session alone is not enough.
OPENING = ("/factor/", "/password/")

# The session's key for the token of its last invitation.
_MADE = "made_invitation"


def for_operators(*methods: str) -> Callable[[View], View]:
    """Admit only operators, as ``signed_in`` admits users; for others the page does not exist."""

    def decorate(view: View) -> View:
        def guarded(request: UserRequest, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_superuser:
                raise Http404
            return view(request, **kwargs)

        return signed_in(*methods)(guarded)

    return decorate


class InvitationForm(forms.Form):
    """The role of an invited person."""

    role = forms.ChoiceField(label=_("role"), choices=Invitation.Role.choices)


class BudgetForm(forms.Form):
    """USD that a user may spend in a month."""

    budget = forms.DecimalField(
        required=False, min_value=Decimal("0.01"), max_digits=12, decimal_places=2
    )


@for_operators("GET")
def list_users(request: UserRequest) -> HttpResponse:
    """Show the users, a page at a time."""
    found = users.list_users(after=request.GET.get("after", ""))
    context = {
        "users": found[: users.USERS_PER_PAGE],
        "more": found[users.USERS_PER_PAGE - 1].user.username
        if len(found) > users.USERS_PER_PAGE
        else "",
        "form": InvitationForm(),
        "open_invitations": Invitation.objects.usable().select_related("invited_by"),
    }
    return render(request, "operator/page.html", context)


@for_operators("GET", "POST")
def show_server(request: UserRequest) -> HttpResponse:
    """Show the settings of the server, and save all of them at once."""
    sent = request.POST if request.method == "POST" else None
    form = ServerSettingsForm(sent, instance=ServerSettings.read(), operator=request.user)
    if form.is_valid():
        form.save()
        messages.success(request, translate("Settings saved."))
        return redirect("server")
    return render(request, "operator/server.html", {"form": form}, status=422 if sent else 200)


@for_operators("GET", "POST")
def invite(request: UserRequest) -> HttpResponse:
    """Make an invitation; or show the link of the last one, in the session that made it."""
    if request.method == "GET":
        if not invitations.usable(token := request.session.get(_MADE, "")):
            return redirect("users")
        link = request.build_absolute_uri(reverse("invitation", args=[token]))
        shared = Profile.objects.filter(is_shared=True).order_by("name")
        context = {"days": invitations.LIFETIME.days, "shared": shared}
        return _show_link(request, translate("Invitation"), link, **context)
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return refuse(request, translate("An invitation needs a role."))
    request.session[_MADE] = invitations.invite(by=request.user, role=form.cleaned_data["role"])
    return redirect("invite")


@for_operators("POST")
def revoke_invitation(request: UserRequest, pk: int) -> HttpResponse:
    """Revoke an invitation."""
    get_object_or_404(Invitation.objects.usable(), pk=pk).delete()
    messages.success(request, translate("The invitation was revoked."))
    return redirect("users")


@for_operators("POST")
@reauthentication_required(enabled=lambda request: request.path.endswith(OPENING))  # type: ignore[untyped-decorator] # it has no types
def change_user(request: UserRequest, pk: int, action: str) -> HttpResponse:
    """Do one thing to a user's account; refused if it leaves no operator."""
    user = get_object_or_404(people(), pk=pk)
    log.info("an operator asks this of user %s: %s", user.pk, action)
    match action:
        case "member" | "operator":
            users.give_role(user, action)
        case "deactivate" | "activate":
            users.set_active(user, active=action == "activate")
            if not user.is_active:
                actions.stop_all(user.pk)
        case "factor":
            users.remove_factors(user)
        case "end-sessions":
            users.end_sessions(user, tokens="revoke_tokens" in request.POST)
        case "budget":
            form = BudgetForm(request.POST)
            if not form.is_valid():
                reason = translate("A budget is an amount of at least 0.01 USD, or empty.")
                return refuse(request, reason)
            users.give_budget(user, form.cleaned_data["budget"])
        case "password":
            link = request.build_absolute_uri(users.password_link(user))
            return _show_link(request, translate("New password of {user}", user=user), link)
        case _:
            raise Http404
    messages.success(request, translate("{user} was changed.", user=user))
    return redirect("users")


def _show_link(request: UserRequest, heading: str, link: str, **more: Any) -> HttpResponse:
    return render(request, "operator/link.html", {"heading": heading, "link": link, **more})
