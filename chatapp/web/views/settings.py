"""Settings: one page in sections, of which one is in view, saved all at once."""

import re
import uuid
from itertools import chain

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext_lazy as _

from chatapp.accounts import credentials
from chatapp.condensing.costs import cost_of_draft
from chatapp.conversations.embedding.embedders import embedder_for
from chatapp.models import ApiToken, accounts
from chatapp.project import languages
from chatapp.project.sentences import translate
from chatapp.turns import actions
from chatapp.web.forms.accounts import GatewayForm, TokenForm, forms_of_saved
from chatapp.web.forms.preferences import (
    SETTINGS_SECTIONS,
    PreferencesForm,
    ProfileChoice,
    default_prompt,
)
from chatapp.web.views.account import sessions_of
from chatapp.web.views.common import UserRequest, command_mode, refuse, signed_in

CHOICE = re.compile(r"profile-\d+-mode")
# The sections in their order; one is in view.
LABELS = {
    "general": _("General"),
    "context": _("Context"),
    "agent": _("Agent and tools"),
    "prompts": _("Prompts"),
    "budget": _("Budget"),
    "tokens": _("API tokens"),
    "gateway": _("Gateway"),
    "account": _("Account"),
}


class SentSettings:
    """Every form of the page, filled with the ``sent`` values or the stored ones."""

    def __init__(self, user: User, sent: QueryDict | None) -> None:
        self.form = PreferencesForm(sent, instance=accounts.preferences_of(user))
        self.saved = forms_of_saved(sent, user)
        self.profiles: list[ProfileChoice] = []
        for profile in user.profiles.all():
            prefix = f"profile-{profile.pk}"
            # A profile that was made in another tab since is not in the form.
            data = sent if sent and f"{prefix}-mode" in sent else None
            self.profiles.append(ProfileChoice(data, instance=profile, prefix=prefix))

    def wrong_sections(self) -> list[str]:
        """Return the sections with invalid fields; all forms are checked."""
        places = {name: one for one in LABELS for name in SETTINGS_SECTIONS.get(one, ())}
        places["condensing_prompt"] = "prompts"
        fields = chain(self.form.errors, *[one.errors for one in self.profiles])
        texts = [one for one in self.saved.values() if one.is_bound and not one.is_valid()]
        return [*[places.get(one, "context") for one in fields], *["prompts" for _one in texts]]


@signed_in("GET", "POST")
def show_settings(request: UserRequest, name: str = "context") -> HttpResponse:
    """Show a section of the settings, and save all of them at once."""
    if name not in LABELS:
        raise Http404
    sent = request.POST if request.method == "POST" else None
    page = SentSettings(request.user, sent)
    wrong = page.wrong_sections() if sent is not None else []
    if sent is not None and not wrong:
        save(request, page)
        # Before the commit, pages would find all as it was.
        actions.announce_changes(request.user.pk)
        answer = redirect(request.path)
        languages.keep(answer, page.form.instance.language)
        return answer
    # The highest cost of a draft that is not used, and its profile.
    preferences = page.form.instance
    profiles = [one.instance for one in page.profiles]
    drafts = [(cost_of_draft(one, preferences), one.name) for one in profiles]
    cost, dearest = max((one for one in drafts if one[0] is not None), default=(0, ""))
    context = {
        "form": page.form,
        "thresholds": page.profiles,
        "saved": page.saved,
        "sections": LABELS,
        "section": wrong[0] if wrong and name not in wrong else name,
        "default_prompt": default_prompt(preferences),
        "commands": command_mode(request.user),
        "draft_cost": {"cost": cost, "profile": dearest},
        "tokens": request.user.api_tokens.exclude(scope=ApiToken.Scope.GATEWAY),
        "token_form": TokenForm(),
        "gateway_tokens": request.user.api_tokens.filter(scope=ApiToken.Scope.GATEWAY),
        "gateway_form": GatewayForm(),
        "reachable": [one for one in profiles if one.spec.url],
        "sessions": sessions_of(request),
        "embedder": embedder_for(uuid.UUID(int=0)),
    }
    return render(request, "settings/page.html", context, status=200 if sent is None else 422)


@transaction.atomic
def save(request: UserRequest, page: SentSettings) -> None:
    """Save all forms, and report profiles that are gone."""
    page.form.save()
    chosen = [one for one in page.profiles if one.is_bound]
    for one in chosen:
        named = one.instance.condensing_prompt_id
        changed = {"threshold": one.instance.threshold, "condensing_prompt": named}
        request.user.profiles.filter(pk=one.instance.pk).update(**changed)
    # A prompt that is removed here is then chosen nowhere.
    for saved in page.saved.values():
        if saved.is_bound:
            saved.save()
    # Said on the next page, in the language that was chosen just now.
    accepts = request.headers.get("Accept-Language", "")
    languages.Reader.of(page.form.instance.language, accepts).enter()
    messages.success(request, translate("Settings saved."))
    if len([*filter(CHOICE.fullmatch, request.POST)]) > len(chosen):
        text = translate("A profile was removed in another tab. It has no threshold to save.")
        messages.info(request, text)


@signed_in("POST")
@reauthentication_required  # type: ignore[untyped-decorator] # it has no types
def create_token(request: UserRequest) -> HttpResponse:
    """Make a token and show it, this once."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return refuse(request, translate("A token needs a name of at most 60 characters."))
    token = credentials.create_api_token(owner=request.user, **form.cleaned_data)
    return render(request, "settings/token.html", {"token": token, "form": form})


@signed_in("POST")
@reauthentication_required  # type: ignore[untyped-decorator] # it has no types
def create_gateway_token(request: UserRequest) -> HttpResponse:
    """Make a token of the gateway and show it, this once, with the lines for each client."""
    form = GatewayForm(request.POST)
    form.fields["profile"].queryset = request.user.profiles.all()  # type: ignore[attr-defined] # it has one
    if not form.is_valid():
        return refuse(request, translate("A token needs a name of at most 60 characters."))
    scope = ApiToken.Scope.GATEWAY
    token = credentials.create_api_token(owner=request.user, scope=scope, **form.cleaned_data)
    address, own_key = request.build_absolute_uri("/gateway"), "own_key" in request.POST
    profile = form.cleaned_data["profile"]
    context = {"token": token, "form": form, "address": address, "own_key": own_key}
    context["speaks"] = profile.provider if profile else ""
    return render(request, "settings/token.html", context)


@signed_in("POST")
def revoke_token(request: UserRequest, pk: int) -> HttpResponse:
    """Revoke a token; its holder has no access any more."""
    token = get_object_or_404(request.user.api_tokens, pk=pk)
    token.delete()
    messages.success(request, translate("“{name}” was revoked.", name=token))
    section = "gateway" if token.scope == ApiToken.Scope.GATEWAY else "tokens"
    return redirect("settings_section", section)
