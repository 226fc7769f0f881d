"""Tokens with which a user's programs ask for what is theirs."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from chatapp import services
from chatapp.forms.access import TokenForm
from chatapp.views.common import Request, refuse, signed_in


@require_POST
@signed_in
def create_token(request: Request) -> HttpResponse:
    """Make a token and show it, this once."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return refuse(request, _("A token needs a name of at most 60 characters."))
    token = services.create_api_token(owner=request.user, **form.cleaned_data)
    return render(request, "settings/token.html", {"token": token, "form": form})


@require_POST
@signed_in
def revoke_token(request: Request, pk: int) -> HttpResponse:
    """End a token; whoever uses it is not let in any more."""
    token = get_object_or_404(request.user.api_tokens, pk=pk)
    token.delete()
    messages.success(request, _("“%s” was revoked.") % token)
    return redirect(f"{reverse('settings')}#tokens")
