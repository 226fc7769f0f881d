"""Links that sign in or invite, and the answer to a forged form."""

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.csrf import csrf_failure
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from chatapp.accounts import credentials, invitations
from chatapp.web.views.common import ask_to_sign_in, came_from


def refuse_forgery(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Refuse a forged form; redirect to the sign-in page if one of our pages lost its session."""
    ours = request.headers.get("Referer") == came_from(request)
    is_inside = not request.path.startswith(reverse("account_login"))
    if ours and is_inside and not request.user.is_authenticated:
        return ask_to_sign_in(request)
    return csrf_failure(request, reason)


@require_http_methods(["GET", "POST"])
@never_cache
def sign_in_with_token(request: HttpRequest, token: str) -> HttpResponse:
    """Sign in the holder of a fresh link after a press of its button; a used one shows the form."""
    # A GET, such as that of programs that preview links, does not use the link up.
    holder = credentials.holder_of_sign_in_token(token=token)
    if holder is None:
        if request.user.is_authenticated:
            return redirect("conversations")
        return render(request, "sign_in/used.html", status=403)
    if request.user != holder:
        if request.method == "GET":
            return render(request, "sign_in/link.html")
        if credentials.redeem_sign_in_token(token=token):
            login(request, holder, backend=settings.AUTHENTICATION_BACKENDS[0])
    return redirect("conversations")


@require_http_methods(["GET", "POST"])
@never_cache
def show_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Show an invitation; its button leads the holder to the form for a new account."""
    invitation = invitations.usable(token)
    if invitation is None:
        return invitations.say_used(request)
    if request.method == "POST":
        request.session[invitations.HELD] = token
        return redirect("account_signup")
    return render(request, "sign_in/invitation.html", {"by": invitation.invited_by})
