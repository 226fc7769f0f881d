"""How condensing and the agent work for the user: one page, one Save."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from chatapp import services
from chatapp.forms import PreferencesForm, ProfileThresholds, default_prompt
from chatapp.views.common import Request, signed_in


@require_http_methods(["GET", "POST"])
@signed_in
def show_settings(request: Request) -> HttpResponse:
    """Show every setting with its effect, and save them all at once."""
    preferences = services.preferences_of(request.user)
    form = PreferencesForm(request.POST or None, instance=preferences)
    thresholds = ProfileThresholds(
        request.POST or None, queryset=request.user.profiles.all(), prefix="profiles"
    )
    if request.method == "POST" and form.is_valid() and thresholds.is_valid():
        form.save()
        thresholds.save()
        messages.success(request, _("Settings saved."))
        return redirect("settings")
    context = {"form": form, "thresholds": thresholds, "default_prompt": default_prompt()}
    return render(request, "settings/page.html", context, status=422 if form.errors else 200)
