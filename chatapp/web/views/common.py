"""Shared parts of the pages: sign-in, the user's own rows, refusals and downloads."""

import math
import uuid
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from datetime import tzinfo
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import TooManyFilesSent
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.http import content_disposition_header, url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from chatapp.accounts.rate_limits import count_request
from chatapp.models import Conversation, ServerSettings, errors
from chatapp.project.languages import in_words
from chatapp.project.sentences import ZONE_COOKIE, zone_named
from chatapp.tools.shell import bubblewrap
from chatapp.turns import actions

# htmx shows the text of this answer instead of swapping it in.
REFUSED_STATUS = 422

# Bytes of a form around its files, and digits of a request's length that are looked at.
FRAMING = 2_000_000
LONGEST_LENGTH = 18


class UserRequest(HttpRequest):
    """A request of a signed-in user."""

    user: User
    htmx: HtmxDetails


type View = Callable[..., HttpResponseBase]


def signed_in(*methods: str) -> Callable[[View], View]:
    """Admit only signed-in users, by these methods; answer a refusal with its reason."""

    def decorate(view: View) -> View:
        @require_http_methods(methods)
        @wraps(view)
        def guarded(request: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return ask_to_sign_in(request)
            try:
                count_request(request.user)
            except errors.LimitReached as limit:
                return tell_limit(request, limit)
            try:
                with errors.saving() if request.method == "POST" else nullcontext():
                    answer = view(request, **kwargs)
            except errors.Refused as refusal:
                answer = refuse(request, str(refusal))
            # A user's pages stay on no disk but the server's.
            add_never_cache_headers(answer)
            return answer

        return guarded

    return decorate


def tell_limit(request: UserRequest, limit: errors.LimitReached) -> HttpResponse:
    """Return the refusal of a rate limit with the time to wait; the text is one step back."""
    reason = in_words(str(limit))
    if request.htmx:
        answer = HttpResponse(reason, content_type="text/plain; charset=utf-8")
    else:
        answer = render(request, "429.html", {"reason": reason})
    answer.status_code, answer["Retry-After"] = limit.status, limit.retry_after
    return answer


def ask_to_sign_in(request: Any) -> HttpResponse:
    """Redirect to the sign-in page, and from there back to the user's page."""
    if not request.htmx:
        is_page = request.method == "GET"
        return redirect_to_login(request.get_full_path() if is_page else came_from(request))
    # A fragment moves the whole page.
    back = request.htmx.current_url_abs_path or reverse("conversations")
    return HttpResponseClientRedirect(redirect_to_login(back).url)


def came_from(request: HttpRequest) -> str:
    """Return the address of the form's page, the first page's if the browser sends none."""
    address = request.headers.get("Referer", "")
    here = url_has_allowed_host_and_scheme(address, {request.get_host()})
    return address if here else reverse("conversations")


def in_conversation(*methods: str, resting: bool = False) -> Callable[[View], View]:
    """Admit users like ``signed_in``, and pass the view their conversation in place of its key.

    In a ``resting`` one, turns that no process runs any more are ended first.
    """

    def decorate(view: View) -> View:
        @signed_in(*methods)
        @wraps(view)
        def found(request: UserRequest, pk: uuid.UUID, **kwargs: Any) -> HttpResponseBase:
            conversation = own_conversation(request, pk)
            if resting:
                actions.close_left_over(conversation)
            return view(request, conversation, **kwargs)

        return found

    return decorate


def limited_upload(limit: Callable[[], tuple[int, str]]) -> Callable[[View], View]:
    """Refuse a form that is longer than ``limit`` in bytes, with its sentence, before it is read.

    More files than a form may have are refused with the same sentence.
    """

    def decorate(view: View) -> View:
        checked = csrf_protect(view)

        @csrf_exempt
        @wraps(view)
        def limited(request: UserRequest, **kwargs: Any) -> HttpResponseBase:
            most, sentence = limit()
            length = request.headers.get("Content-Length", "")
            if length.isdecimal() and int(length[:LONGEST_LENGTH]) > most + FRAMING:
                return refuse(request, sentence)
            try:
                return checked(request, **kwargs)
            except TooManyFilesSent:
                return refuse(request, sentence)

        return limited

    return decorate


def read_float(text: str) -> float | None:
    """Return the finite number in a part of an address, None for other text."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def refuse(request: UserRequest, reason: str) -> HttpResponse:
    """Show the reason of a refusal on the page that the user came from."""
    reason = in_words(reason)
    if request.htmx:
        return HttpResponse(reason, status=REFUSED_STATUS, content_type="text/plain; charset=utf-8")
    messages.error(request, reason)
    return redirect(came_from(request))


def done(request: UserRequest, *, event: str, to: str) -> HttpResponse:
    """Send scripts the ``event``, or redirect a page without scripts to ``to``."""
    if request.htmx:
        return HttpResponse(status=204, headers={"HX-Trigger": event})
    return redirect(to)


def lead(request: UserRequest, to: Any, *args: Any) -> HttpResponse:
    """Redirect to a page; for a fragment, the whole page is redirected."""
    place = redirect(to, *args)
    return HttpResponseClientRedirect(place.url) if request.htmx else place


def announce(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Announce to every open page of the conversation that its transcript changed."""
    actions.announce_change(conversation.pk)
    return done(request, event="transcript-changed", to=reverse("chat", args=[conversation.pk]))


def own_conversation(request: UserRequest, pk: uuid.UUID) -> Conversation:
    """Return the user's conversation and its profile; a deleted or foreign one is not found."""
    conversations = Conversation.objects.owned_by(request.user).present()
    return get_object_or_404(conversations.select_related("profile__owner"), pk=pk)


def command_mode(user: User) -> str:
    """Return the mode of a user's commands: "off", "denied", "sandboxed" or "open"."""
    if not settings.ALLOW_COMMANDS:
        return "off"
    if not ServerSettings.binding(user).commands_allowed:
        return "denied"
    return "sandboxed" if bubblewrap() else "open"


def wants_page(request: UserRequest) -> bool:
    """Return True if the request is for a whole page, not for a part of one."""
    return not request.htmx or request.htmx.boosted


def show_in_inspector(
    request: UserRequest, tab: str, part: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """Return a tab of the inspector: a template for its panel, or that as a page."""
    template = "inspector/page.html" if wants_page(request) else part
    return render(request, template, {"tab": tab, "part": part} | context, status=status)


def download(content: bytes | str | Iterable[bytes | str], name: str, kind: str) -> HttpResponse:
    """Return a file of a media type that a browser keeps under a name and never shows."""
    answer = HttpResponse(content, content_type=kind)
    answer["Content-Disposition"] = content_disposition_header(True, name)
    return answer


def as_uuid(text: str) -> uuid.UUID | None:
    """Return the UUID that ``text`` spells, or None."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def zone_of(request: HttpRequest) -> tzinfo:
    """Return the reader's time zone, UTC until their browser has said it."""
    return zone_named(request.COOKIES.get(ZONE_COOKIE, ""))
