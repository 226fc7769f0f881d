"""Coming in, and going out."""

from django.contrib.auth import login
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp import services

BACKEND = "django.contrib.auth.backends.ModelBackend"

sign_in = LoginView.as_view(template_name="sign_in/page.html", redirect_authenticated_user=True)
sign_out = LogoutView.as_view()


@require_GET
@never_cache
def sign_in_with_token(request: HttpRequest, token: str) -> HttpResponse:
    """Sign the holder of a fresh link in; a used or old one leads to the form."""
    user = services.redeem_sign_in_token(token=token)
    if user is None:
        if request.user.is_authenticated:
            return redirect("conversations")
        return render(request, "sign_in/used.html", status=403)
    login(request, user, backend=BACKEND)
    return redirect("conversations")


@require_GET
def show_health(_request: HttpRequest) -> HttpResponse:
    """Answer "ok" to whoever watches over the server."""
    return HttpResponse("ok", content_type="text/plain")
