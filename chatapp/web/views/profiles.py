"""Profiles: models with their limits, prices and keys, and tests of them."""

import asyncio
import json
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django_htmx.http import retarget, trigger_client_event

from chatapp.accounts import new_profiles
from chatapp.accounts.new_profiles import ConnectionResult
from chatapp.agent.prompts import SYSTEM_PROMPT
from chatapp.conversations.context.sizes import CondensingPoint
from chatapp.conversations.context.turn_context import configuration_for
from chatapp.models import Conversation, Preferences, Profile, accounts
from chatapp.models.database import lock
from chatapp.models.errors import DecryptionFailed
from chatapp.project.sentences import translate as _
from chatapp.providers import refusals
from chatapp.providers.model_servers import LOCAL_PATIENCE, find_local_servers, list_models, probe
from chatapp.providers.specs import ListedModel
from chatapp.turns import actions
from chatapp.web.forms.conversations import PoliciesForm
from chatapp.web.forms.profiles import (
    ELSEWHERE,
    ConnectForm,
    ProfileForm,
    model_defaults,
    provider_traits,
    shown_figures,
)
from chatapp.web.views.common import UserRequest, refuse, signed_in


@signed_in("GET")
def list_profiles(request: UserRequest) -> HttpResponse:
    """List the user's profiles, with the size at which each condenses."""
    preferences = accounts.preferences_of(request.user)
    profiles = [
        (profile, CondensingPoint.of(profile, preferences))
        for profile in request.user.profiles.all()
    ]
    return render(request, "profiles/page.html", {"profiles": profiles, "preferences": preferences})


def own_profile(request: UserRequest, pk: int | None) -> Profile:
    """Return the user's profile, or a new one; a copy of a server profile is the operator's."""
    if pk is None:
        return Profile(owner=request.user)
    return get_object_or_404(request.user.profiles, pk=pk, origin=None)


@signed_in("GET", "POST")
def edit_profile(request: UserRequest, pk: int | None = None) -> HttpResponse:
    """Add a profile, or change one; its key is only ever replaced or removed."""
    profile = own_profile(request, pk)
    sent = request.POST if request.method == "POST" else None
    form = ProfileForm(sent, instance=profile)
    tools = PoliciesForm(sent, profile=profile, decided=profile.tool_policies, inherited={})
    if sent is not None and form.is_valid() and tools.is_valid():
        profile.tool_policies = tools.policies()
        form.save(commit=False)
        new_profiles.look_up_limits(profile)
        new_profiles.store_profile(profile)
        actions.announce_changes(request.user.pk)
        messages.success(request, _("“{name}” was saved.", name=profile))
        return redirect("profiles")
    preferences = accounts.preferences_of(request.user)
    context = {
        "form": form,
        "tools": tools,
        "profile": profile,
        "preferences": preferences,
        "buffer": configuration_for(profile, preferences).buffer,
        "default_prompt": SYSTEM_PROMPT,
        "model_defaults": model_defaults(),
        "provider_traits": provider_traits(),
        "refused": refusals.shown(profile.refused),
    }
    return render(request, "profiles/form.html", context, status=200 if not form.errors else 422)


@signed_in("POST")
def choose_default(request: UserRequest, pk: int) -> HttpResponse:
    """Let new conversations start with this profile."""
    profile = get_object_or_404(request.user.profiles, pk=pk)
    accounts.preferences_of(request.user)
    Preferences.objects.filter(owner=request.user).update(default_profile=profile)
    messages.success(request, _("New conversations use “{name}”.", name=profile))
    return redirect("profiles")


@signed_in("GET", "POST")
def delete_profile(request: UserRequest, pk: int) -> HttpResponse:
    """Ask, then remove a profile and its key; conversations stay."""
    profile = own_profile(request, pk)
    if request.method == "POST":
        with transaction.atomic():
            # A turn that begins meanwhile, here or elsewhere, names the profile.
            answered = Conversation.objects.filter(profile=profile).values_list("pk", flat=True)
            if pks := [*answered]:
                lock(Conversation, *pks)
            lock(Profile, profile.pk)
            profile.delete()
        actions.announce_changes(request.user.pk)
        messages.success(request, _("“{name}” was removed.", name=profile))
        return redirect("profiles")
    return render(request, "profiles/delete.html", {"profile": profile})


@signed_in("POST")
def try_profile(request: UserRequest, pk: int | None = None) -> HttpResponse:
    """Test a profile as entered in its form, and show the result; nothing is saved."""
    profile = ProfileForm(request.POST, instance=own_profile(request, pk)).unsaved()
    if profile is None:
        return refuse(request, _("Enter a provider, an address that can be called and a model."))
    # No budget counts a test call.
    trying = list_models if profile.has_fixed_prices else probe
    try:
        report = asyncio.run(trying(accounts.provider_to_try(profile)))
    except DecryptionFailed:
        return refuse(request, _("The stored key can't be read: enter it again."))
    listed = report.find_model(profile.model)
    context = {
        "report": report,
        "profile": profile,
        "listed_model": listed,
        "fields": _fields(listed, report.images),
        "models": [
            {"id": one.id, "window": one.context_window, "fields": _fields(one)}
            for one in report.models
        ],
    }
    return render(request, "profiles/_connection.html", context)


def _fields(model: ListedModel | None, sees_images: bool | None = None) -> str:
    """Return the known figures of a model as JSON, by the form's field names."""
    figures: dict[str, Any] = dict(model.figures) if model else {}
    if sees_images is not None:
        figures["text_only"] = not sees_images
    return json.dumps(shown_figures(figures))


@signed_in("POST")
def look_around(request: UserRequest) -> HttpResponse:
    """Offer the models that run on this machine to its owner; a second look is more patient."""
    if not accounts.is_alone(request.user):
        return HttpResponse()
    again = "again" in request.POST
    found = asyncio.run(find_local_servers(LOCAL_PATIENCE * (3 if again else 1)))
    context = {"found": found, "to": ELSEWHERE, "again": again}
    return render(request, "profiles/_nearby.html", context)


@signed_in("POST")
def connect(request: UserRequest) -> HttpResponse:
    """Connect a model by a key or an address; show a failure's reason next to the field."""
    form = ConnectForm(request.POST)
    outcome = (
        new_profiles.connect(form.profile(request.user)) if form.is_valid() else ConnectionResult()
    )
    if outcome.profile is None:
        context = {"form": form, "outcome": outcome}
        return render(request, "profiles/_connect_answer.html", context)
    actions.announce_changes(request.user.pk)
    if not request.htmx:
        return redirect("conversations")
    profiles = request.user.profiles.all()
    context = {"profile": outcome.profile, "profiles": profiles, "chosen": outcome.profile.pk}
    answer = render(request, "profiles/_connected.html", context)
    return trigger_client_event(retarget(answer, "#connect"), "connected", after="settle")
