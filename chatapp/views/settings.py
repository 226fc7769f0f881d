"""How condensing and the agent work for the user: one page, one Save."""

import re
from collections.abc import Sequence
from decimal import Decimal

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from chatapp.accounts import accounts, api_tokens
from chatapp.condensation.cost_forecast import cost_of_draft
from chatapp.forms.preferences import PreferencesForm, ThresholdChoice, default_prompt
from chatapp.forms.sign_in import TokenForm
from chatapp.forms.slash_commands import CommandFormSet, command_forms
from chatapp.models import Preferences, Profile
from chatapp.tools.shell import bubblewrap
from chatapp.turns import actions
from chatapp.views.common import Request, refuse, signed_in

CHOICE = re.compile(r"profile-\d+-mode")


@require_http_methods(["GET", "POST"])
@signed_in
def show_settings(request: Request) -> HttpResponse:
    """Show every setting with its effect, and save them all at once."""
    preferences = accounts.preferences_of(request.user)
    sent = request.POST if request.method == "POST" else None
    form = PreferencesForm(sent, instance=preferences)
    thresholds = [make_choice(profile, sent) for profile in request.user.profiles.all()]
    chosen = [one for one in thresholds if one.is_bound]
    kept = command_forms(sent, request.user)
    # Each says what is wrong with it, so that nobody mends one mistake after the other.
    valid = [form.is_valid(), not kept.is_bound or kept.is_valid()]
    valid += [one.is_valid() for one in chosen]
    if sent is not None and all(valid):
        save(request, form, chosen, kept)
        # Before the commit, what is told would find all as it was.
        actions.announce_changes(request.user.pk)
        return redirect("settings")
    context = {
        "form": form,
        "thresholds": thresholds,
        "own_commands": kept,
        "default_prompt": default_prompt(),
        "commands": describe_commands(),
        "draft_cost": dearest_draft(request.user, preferences),
        "tokens": request.user.api_tokens.all(),
        "token_form": TokenForm(),
    }
    return render(request, "settings/page.html", context, status=200 if sent is None else 422)


def describe_commands() -> str:
    """Say whether the agent can run commands here, and what keeps them from doing harm."""
    if not settings.ALLOW_COMMANDS:
        return _("Commands: off. The operator of this server can allow them with ALLOW_COMMANDS.")
    if bubblewrap():
        return _(
            "Commands: allowed where you say so, in bubblewrap. They see the workspace and the "
            "system's programs, and neither the network nor other files."
        )
    return _(
        "Commands: allowed where you say so, without a sandbox, since bubblewrap is not installed. "
        "They have no keys in their environment, but can read and change what the server can."
    )


def dearest_draft(user: User, preferences: Preferences) -> dict[str, object]:
    """Return what a draft costs at most that is not used, and with which of the profiles."""
    costs = ((cost_of_draft(one, preferences), one) for one in user.profiles.all())
    known = [(cost, one.name) for cost, one in costs if cost is not None]
    cost, profile = max(known, default=(Decimal(0), ""))
    return {"cost": cost, "profile": profile}


def make_choice(profile: Profile, sent: QueryDict | None) -> ThresholdChoice:
    """Return the profile's form; one that was made in another tab since is not in what was sent."""
    prefix = f"profile-{profile.pk}"
    return ThresholdChoice(
        sent if sent and f"{prefix}-mode" in sent else None, instance=profile, prefix=prefix
    )


@transaction.atomic
def save(
    request: Request,
    form: PreferencesForm,
    chosen: Sequence[ThresholdChoice],
    kept: CommandFormSet,
) -> None:
    """Save all of it, and say what can't be saved any more."""
    form.save()
    if kept.is_bound:
        kept.save()
    for one in chosen:
        request.user.profiles.filter(pk=one.instance.pk).update(threshold=one.instance.threshold)
    messages.success(request, _("Settings saved."))
    if {*filter(CHOICE.fullmatch, request.POST)} - {one.add_prefix("mode") for one in chosen}:
        text = _("A profile was removed in another tab. There was no threshold of its own to save.")
        messages.info(request, text)


@require_POST
@signed_in
def create_token(request: Request) -> HttpResponse:
    """Make a token and show it, this once."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return refuse(request, _("A token needs a name of at most 60 characters."))
    token = api_tokens.create_api_token(owner=request.user, **form.cleaned_data)
    return render(request, "settings/token.html", {"token": token, "form": form})


@require_POST
@signed_in
def revoke_token(request: Request, pk: int) -> HttpResponse:
    """End a token; whoever uses it is not let in any more."""
    token = get_object_or_404(request.user.api_tokens, pk=pk)
    token.delete()
    messages.success(request, _("“%s” was revoked.") % token)
    return redirect(f"{reverse('settings')}#tokens")
