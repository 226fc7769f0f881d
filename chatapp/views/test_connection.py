"""What a profile's server can do, tried before the profile is saved."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from chatapp.accounts import accounts
from chatapp.accounts.profiles import probe_profile
from chatapp.formats import number
from chatapp.forms.profiles import ProfileForm, plain
from chatapp.models import Profile
from chatapp.models.errors import DecryptionFailed
from chatapp.providers.model_servers import Report, find_local_servers
from chatapp.providers.specs import ListedModel
from chatapp.views.common import Request, refuse, signed_in


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether one thing works, in words; its ``state`` is "works", "lacks" or "untried"."""

    name: str
    state: str
    words: str


@require_POST
@signed_in
def try_profile(request: Request, pk: int | None = None) -> HttpResponse:
    """Try a profile as it stands in its form, and say what works; nothing is saved."""
    stored = Profile(owner=request.user)
    if pk is not None:
        stored = get_object_or_404(request.user.profiles, pk=pk)
    form = ProfileForm(request.POST, instance=stored)
    profile = form.draft()
    if profile is None:
        return refuse(request, _("Enter a provider, an address that can be called and a model."))
    try:
        report = asyncio.run(probe_profile(profile))
    except DecryptionFailed:
        return refuse(request, _("The stored key can't be read: enter it again."))
    return render(request, "profiles/_connection.html", _context(report, profile))


@require_POST
@signed_in
def look_around(request: Request) -> HttpResponse:
    """Offer the models that run on this machine; it is looked for them once."""
    if not accounts.note_look_around(request.user):
        return HttpResponse()
    found = asyncio.run(find_local_servers())
    return render(request, "profiles/_nearby.html", {"found": found})


@require_POST
@signed_in
def use_local_server(request: Request) -> HttpResponse:
    """Let a model on this machine answer from now on."""
    url = request.POST.get("url", "")
    found = asyncio.run(find_local_servers()) if accounts.is_alone(request.user) else []
    server = next((one for one in found if one.preset.url == url), None)
    if server is None:
        return refuse(request, _("This server does not answer any more."))
    profile = accounts.add_local_profile(
        owner=request.user, provider=server.provider, preset=server.preset, model=server.models[0]
    )
    messages.success(request, _("New conversations use “%s”.") % profile)
    return redirect("conversations")


def _context(report: Report, profile: Profile) -> dict[str, Any]:
    told = report.find_model(profile.model)
    return {
        "report": report,
        "profile": profile,
        "findings": [*_findings(report, told)],
        "fields": _fields(told, report.images),
        "models": [
            {"id": one.id, "window": one.context_window, "fields": _fields(one)}
            for one in report.models
        ],
    }


def _fields(model: ListedModel | None, sees_images: bool | None = None) -> str:
    """Return what is known of a model, as the form names its fields."""
    figures = dict(model.figures) if model else {}
    if sees_images is not None:
        figures["text_only"] = not sees_images
    return json.dumps(
        {name: plain(one) if isinstance(one, Decimal) else one for name, one in figures.items()}
    )


def _findings(report: Report, told: ListedModel | None) -> Iterator[Finding]:
    yield _finding(_("Address"), report.address, _("answers"), _("does not answer"))
    yield _finding(_("Key"), report.key, _("accepted"), _("not accepted"))
    count = len(report.models)
    listed = _("%(count)s listed") % {"count": number(count)}
    yield _finding(_("Models"), report.listing, listed, _("not listed"))
    yield _finding(_("Streaming"), report.streaming, _("works"), _("no text came"))
    yield _finding(_("Usage"), report.usage, _("reported"), _("not reported: it is estimated"))
    yield _finding(_("Tools"), report.tools, _("taken"), _("not taken: the model only talks"))
    yield _finding(_("Images"), report.images, _("taken"), _("not taken: they are named instead"))
    yield _finding(_("Counting"), report.counting, _("works"), _("none: sizes are estimated"))
    if told and told.context_window:
        words = _("%(tokens)s tokens, as the server says") % {"tokens": number(told.context_window)}
        yield Finding(_("Context window"), "works", words)


def _finding(name: str, works: bool | None, yes: str, no: str) -> Finding:
    if works is None:
        return Finding(name, "untried", _("not tried"))
    return Finding(name, "works", yes) if works else Finding(name, "lacks", no)
