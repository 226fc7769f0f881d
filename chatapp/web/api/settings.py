"""Settings and profiles: shown, and changed as by their pages."""

from typing import Any

from django.db.models import QuerySet
from django.forms import model_to_dict
from django.shortcuts import get_object_or_404
from ninja import Router

import condense
from chatapp.models import Preferences, Profile, accounts
from chatapp.turns import actions
from chatapp.web.api import schemas
from chatapp.web.api.auth import ApiRequest, keepers, refuse
from chatapp.web.forms.preferences import PreferencesForm
from chatapp.web.forms.profiles import ProfileForm

router = Router(tags=["Settings"])


@router.get("/profiles", response=schemas.many(schemas.ProfileShape))
def list_profiles(request: ApiRequest) -> QuerySet[Profile]:
    """List the models that can answer, with limits and prices; no key is ever shown."""
    return Profile.objects.filter(owner=request.auth).select_related("condensing_prompt")


@router.patch("/profiles/{int:profile_pk}", response=schemas.ProfileShape, auth=keepers)
def change_profile(request: ApiRequest, profile_pk: int, change: schemas.ProfileChange) -> Profile:
    """Change the named settings of a profile; its provider, address and key stay as they are."""
    profile = get_object_or_404(Profile, owner=request.auth, pk=profile_pk, origin=None)
    wanted: dict[str, Any] = dict(change)
    threshold = wanted.pop("threshold", profile.threshold)
    own = {"mode": "own", "own_threshold": threshold}
    chosen = {"mode": "inherit"} if threshold == condense.INHERIT else own
    stored = model_to_dict(profile, fields=ProfileForm.Meta.fields)
    form = ProfileForm({**stored, **chosen, **wanted}, instance=profile)
    for name in ("context_window", "max_output"):
        # A program has no page that would look it up.
        form.fields[name].required = True
    _save(form)
    actions.announce_changes(request.auth.pk)
    return profile


@router.get("/settings", response=schemas.SettingsShape)
def show_settings(request: ApiRequest) -> Preferences:
    """Show the settings of condensing and the agent."""
    return accounts.preferences_of(request.auth)


@router.patch("/settings", response=schemas.SettingsShape, auth=keepers)
def change_settings(request: ApiRequest, change: schemas.SettingsChange) -> Preferences:
    """Change the settings that are named."""
    preferences = accounts.preferences_of(request.auth)
    wanted: dict[str, Any] = dict(change)
    if wanted.get("default_profile") is not None:
        pk = wanted["default_profile"]
        preferences.default_profile = get_object_or_404(Profile, owner=request.auth, pk=pk)
    stored = model_to_dict(preferences, fields=PreferencesForm.Meta.fields)
    _save(PreferencesForm({**stored, **wanted}, instance=preferences))
    actions.announce_changes(request.auth.pk)
    return preferences


def _save(form: PreferencesForm | ProfileForm) -> None:
    """Save a valid form; refuse another with its reasons."""
    if not form.is_valid():
        raise refuse(form)
    form.save()
    form.instance.refresh_from_db()
