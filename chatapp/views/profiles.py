"""Profiles: which models answer, with which limits, prices and keys."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatapp.accounts import accounts
from chatapp.agent.prompts import SYSTEM_PROMPT
from chatapp.condensation.threshold import CondensingPoint
from chatapp.context.turn_context import budget_for
from chatapp.forms.conversations import PoliciesForm
from chatapp.forms.profiles import ProfileForm, model_defaults, provider_traits
from chatapp.models import Preferences, Profile
from chatapp.toolbox.toolbox import specs_for
from chatapp.turns import actions
from chatapp.views.common import Request, signed_in


@require_GET
@signed_in
def list_profiles(request: Request) -> HttpResponse:
    """List the user's profiles with where condensing starts in each."""
    preferences = accounts.preferences_of(request.user)
    automatic = preferences.auto_condense
    profiles = [
        (profile, CondensingPoint.of_budget(budget_for(profile, preferences), automatic=automatic))
        for profile in request.user.profiles.all()
    ]
    context = {"profiles": profiles, "preferences": preferences}
    return render(request, "profiles/page.html", context)


@require_http_methods(["GET", "POST"])
@signed_in
def create_profile(request: Request) -> HttpResponse:
    """Add a profile."""
    return edit(request, Profile(owner=request.user))


@require_http_methods(["GET", "POST"])
@signed_in
def edit_profile(request: Request, pk: int) -> HttpResponse:
    """Change a profile; its key is only ever replaced or removed."""
    return edit(request, get_object_or_404(request.user.profiles, pk=pk))


@require_POST
@signed_in
def choose_default(request: Request, pk: int) -> HttpResponse:
    """Let new conversations start with this profile."""
    profile = get_object_or_404(request.user.profiles, pk=pk)
    accounts.preferences_of(request.user)
    Preferences.objects.filter(owner=request.user).update(default_profile=profile)
    messages.success(request, _("New conversations use “%s”.") % profile)
    return redirect("profiles")


@require_http_methods(["GET", "POST"])
@signed_in
def delete_profile(request: Request, pk: int) -> HttpResponse:
    """Ask, then remove a profile and its key; conversations stay."""
    profile = get_object_or_404(request.user.profiles, pk=pk)
    if request.method == "POST":
        profile.delete()
        actions.announce_changes(request.user.pk)
        messages.success(request, _("“%s” was removed.") % profile)
        return redirect("profiles")
    return render(request, "profiles/delete.html", {"profile": profile})


def edit(request: Request, profile: Profile) -> HttpResponse:
    """Show the form of a profile, or save what was sent."""
    sent = request.POST if request.method == "POST" else None
    form = ProfileForm(sent, instance=profile)
    specs = specs_for(profile.mcp_servers).values()
    tools = PoliciesForm(sent, specs=specs, decided=profile.tool_policies, inherited={})
    if sent is not None and form.is_valid() and tools.is_valid():
        profile.tool_policies = tools.policies()
        form.save()
        actions.announce_changes(request.user.pk)
        messages.success(request, _("“%s” was saved.") % profile)
        return redirect("profiles")
    context: dict[str, Any] = {
        "form": form,
        "tools": tools,
        "profile": profile,
        "preferences": accounts.preferences_of(request.user),
        "default_prompt": SYSTEM_PROMPT,
        "model_defaults": model_defaults(),
        "provider_traits": provider_traits(),
    }
    return render(request, "profiles/form.html", context, status=200 if not form.errors else 422)
