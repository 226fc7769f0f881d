"""Settings: condensing, the agent, saved commands and API tokens, on one page."""

import re
from collections.abc import Sequence

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from chatapp.accounts import accounts, credentials
from chatapp.condensation.threshold import cost_of_draft
from chatapp.forms.accounts import CommandFormSet, TokenForm, command_forms
from chatapp.forms.preferences import PreferencesForm, ThresholdChoice, default_prompt
from chatapp.turns import actions
from chatapp.views.common import Request, command_mode, refuse, signed_in

CHOICE = re.compile(r"profile-\d+-mode")


@signed_in("GET", "POST")
def show_settings(request: Request) -> HttpResponse:
    """Show every setting with its effect, and save them all at once."""
    preferences = accounts.preferences_of(request.user)
    sent = request.POST if request.method == "POST" else None
    form = PreferencesForm(sent, instance=preferences)
    profiles = request.user.profiles.all()
    thresholds = []
    for profile in profiles:
        prefix = f"profile-{profile.pk}"
        # One that was made in another tab since is not in what was sent.
        data = sent if sent and f"{prefix}-mode" in sent else None
        thresholds.append(ThresholdChoice(data, instance=profile, prefix=prefix))
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
    # What a draft costs at most that is not used, and with which profile.
    drafts = [(cost_of_draft(one, preferences), one.name) for one in profiles]
    cost, dearest = max((one for one in drafts if one[0] is not None), default=(0, ""))
    context = {
        "form": form,
        "thresholds": thresholds,
        "own_commands": kept,
        "default_prompt": default_prompt(),
        "commands": command_mode(),
        "draft_cost": {"cost": cost, "profile": dearest},
        "tokens": request.user.api_tokens.all(),
        "token_form": TokenForm(),
    }
    return render(request, "settings/page.html", context, status=200 if sent is None else 422)


@transaction.atomic
def save(
    request: Request, form: PreferencesForm, chosen: Sequence[ThresholdChoice], kept: CommandFormSet
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


@signed_in("POST")
def create_token(request: Request) -> HttpResponse:
    """Make a token and show it, this once."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return refuse(request, _("A token needs a name of at most 60 characters."))
    token = credentials.create_api_token(owner=request.user, **form.cleaned_data)
    return render(request, "settings/token.html", {"token": token, "form": form})


@signed_in("POST")
def revoke_token(request: Request, pk: int) -> HttpResponse:
    """End a token; whoever uses it is not let in any more."""
    token = get_object_or_404(request.user.api_tokens, pk=pk)
    token.delete()
    messages.success(request, _("“%s” was revoked.") % token)
    return redirect(f"{reverse('settings')}#tokens")
