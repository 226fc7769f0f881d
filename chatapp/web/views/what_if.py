"""Condensing before it is done: other settings side by side, its cost, the end of a part."""

from decimal import Decimal
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

import condense
from chatapp.condensing import costs
from chatapp.conversations.context import trial_settings
from chatapp.conversations.context.condense_requests import find_ends
from chatapp.conversations.context.trial_settings import Variant
from chatapp.models import Conversation, errors, message_store
from chatapp.models.errors import DecryptionFailed
from chatapp.project.languages import in_words
from chatapp.project.sentences import money
from chatapp.project.sentences import translate as _
from chatapp.turns import actions
from chatapp.web import what_if
from chatapp.web.forms.what_if import WhatIfForm
from chatapp.web.views.common import (
    REFUSED_STATUS,
    UserRequest,
    in_conversation,
    read_float,
    refuse,
    show_in_inspector,
)

# The cost may be this much higher than the confirmed one: without the cache it costs more.
LEEWAY = Decimal("1.05")
UNKNOWN_COST = "unknown"
# Ends in one list; users who want more condense all, or begin further down.
MOST_ENDS = 300


@in_conversation("GET", "POST")
def show_what_if(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Compare settings, show their results, and put one variant in force."""
    show = partial(show_in_inspector, request, "what_if", "what_if/_what_if.html")
    try:
        terms = what_if.terms_of(conversation)
    except errors.Refused as refusal:
        return show({"conversation": conversation, "problem": in_words(str(refusal))})
    sent = request.POST if request.method == "POST" else None
    form = WhatIfForm(sent, terms=terms)
    context: dict[str, Any] = {"conversation": terms.conversation, "form": form}
    if sent is None or not form.is_valid():
        # htmx swaps in no refusal.
        return show(context, status=200 if sent is None or request.htmx else REFUSED_STATUS)
    if button := sent.get("use") or sent.get("ask"):
        variant = form.chosen(button)
        if variant is None:
            return refuse(request, _("This was not compared. Compare again."))
        if not sent.get("use"):
            return _ask(request, form, variant)
        trial_settings.use_variant(terms=terms, variant=variant)
        actions.announce_changes(request.user.pk)
        messages.success(request, _("Your settings are these from now on. Nothing was condensed."))
        return redirect("what_if", pk=conversation.pk)
    baseline = what_if.read_baseline(terms)
    tried = what_if.try_all(baseline, form.variants(), form.cleaned_data["thresholds"])
    context["cards"] = [what_if.card_of(baseline, one) for one in tried]
    context["shared"] = what_if.shared_course([one for one in tried if not one.error])
    context["nothing"] = not any(one.reduction or one.predicted for one in tried)
    return show(context)


@in_conversation("GET")
def show_forecast(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Show the predicted cost of condensing by hand, with the settings in force."""
    terms = what_if.terms_of(conversation)
    baseline = what_if.read_baseline(terms, message_store.read_outline(conversation.pk)[0])
    predicted = what_if.predict_cost(baseline, Variant.in_force(terms))
    context = {"predicted": predicted, "writer": terms.writer}
    return render(request, "what_if/_forecast.html", context)


@in_conversation("GET")
def show_range(request: UserRequest, conversation: Conversation, seq: int) -> HttpResponse:
    """Ask for the last message of a part to condense, which starts at this one."""
    try:
        ends = find_ends(message_store.read_effective(conversation.pk), seq)[:MOST_ENDS]
    except condense.NothingToCondense as reason:
        return refuse(request, str(reason))
    # Most would end before the next message of the user.
    asked = (place for place, end in enumerate(ends) if end.by_user and place)
    usual = ends[next(asked, len(ends)) - 1].seq
    terms = what_if.terms_of(conversation)
    forecast = [(one, *costs.forecast_part(terms, one.tokens)) for one in ends]
    return render(request, "chat/_range.html", {"first": seq, "ends": forecast, "usual": usual})


def _ask(request: UserRequest, form: WhatIfForm, variant: Variant) -> HttpResponse:
    """Run a variant with a model, after its predicted cost was confirmed, and return its card."""
    baseline = what_if.read_baseline(form.terms)
    tried = what_if.try_all(baseline, [variant], form.cleaned_data["thresholds"])[0]
    if tried.predicted is not None:
        # The user was shown about this cost, or that it is unknown.
        cost, confirmed = tried.predicted_cost, request.POST.get("predicted", "")
        if cost is None and confirmed != UNKNOWN_COST:
            raise errors.Refused(_("Nobody knows what it may cost. Compare again to confirm that."))
        if cost is not None and cost > LEEWAY * Decimal(read_float(confirmed) or 0):
            said = _("It may cost {cost} now. Compare again to confirm that.", cost=money(cost))
            raise errors.Refused(said)
        try:
            tried = what_if.try_with_model(baseline, tried)
        except DecryptionFailed:
            return refuse(request, _("The stored key can't be read: enter it again."))
    card = what_if.card_of(baseline, tried)
    context = {"conversation": form.terms.conversation, "card": card}
    return render(request, "what_if/_card.html", context)
