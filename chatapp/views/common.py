"""What the pages share: who is asking, what is theirs, and how a refusal is told."""

import math
import uuid
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import wraps
from itertools import groupby
from typing import Concatenate, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import TooManyFilesSent
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from chatapp import errors
from chatapp.formats import ZONE_COOKIE, zone_named
from chatapp.models import Conversation
from chatapp.turns import actions

# htmx shows the text of this answer instead of swapping it in.
REFUSED = 422

# Bytes of a form around its files, and digits of a request's length that are looked at.
FRAMING = 2_000_000
LONGEST_LENGTH = 18

# Digits; what is counted or numbered here has fewer.
LONGEST_NUMBER = 9


class Request(HttpRequest):
    """A request of someone who is signed in."""

    user: User
    htmx: HtmxDetails


def signed_in[**P](
    view: Callable[Concatenate[Request, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Let only signed-in people in, and tell a refusal as a sentence instead of an error."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return send_to_sign_in(request)
        own = cast("Request", request)
        try:
            with errors.saving() if request.method == "POST" else nullcontext():
                answer = view(own, *args, **kwargs)
        except errors.Refused as refusal:
            answer = refuse(own, str(refusal))
        # What was said here stays on no disk but the server's.
        add_never_cache_headers(answer)
        return answer

    return guarded


def limited_upload[**P](
    limit: Callable[[], tuple[int, str]],
) -> Callable[
    [Callable[Concatenate[HttpRequest, P], HttpResponseBase]],
    Callable[Concatenate[HttpRequest, P], HttpResponseBase],
]:
    """Refuse a form that is longer than ``limit`` in bytes, with its sentence, before it is read.

    More files than a form may have are refused with the same sentence.
    """

    def limited(
        view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
    ) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
        checked = csrf_protect(view)

        @csrf_exempt
        @wraps(view)
        def answer(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            most, sentence = limit()
            length = request.headers.get("Content-Length", "")
            if length.isdecimal() and int(length[:LONGEST_LENGTH]) > most + FRAMING:
                return refuse(cast("Request", request), sentence)
            try:
                return checked(request, *args, **kwargs)
            except TooManyFilesSent:
                return refuse(cast("Request", request), sentence)

        return answer

    return limited


def read_number(text: str) -> int | None:
    """Return the whole number that a part of an address or a form spells, if one can be meant."""
    return int(text) if text.isdecimal() and len(text) <= LONGEST_NUMBER else None


def read_float(text: str) -> float | None:
    """Return the number that a part of an address spells, if one can be meant."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def send_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect to the sign-in page; a fragment request moves the whole page."""
    htmx: HtmxDetails = cast("Request", request).htmx
    if htmx:
        back = htmx.current_url_abs_path or reverse("conversations")
        return HttpResponseClientRedirect(redirect_to_login(back).url)
    return redirect_to_login(request.get_full_path())


def refuse(request: Request, reason: str) -> HttpResponse:
    """Say why nothing was done, where the user was."""
    if request.htmx:
        return HttpResponse(reason, status=REFUSED, content_type="text/plain; charset=utf-8")
    messages.error(request, reason)
    return redirect(previous_page(request))


def previous_page(request: HttpRequest) -> str:
    """Return the page of this site that the user came from, or the first one."""
    address = request.headers.get("Referer", "")
    if url_has_allowed_host_and_scheme(address, {request.get_host()}):
        return address
    return reverse("conversations")


def done(request: Request, *, event: str, to: str) -> HttpResponse:
    """Tell scripts that ``event`` happened, or take a page without scripts to ``to``."""
    if request.htmx:
        return HttpResponse(status=204, headers={"HX-Trigger": event})
    return redirect(to)


def own_conversation(request: Request, pk: uuid.UUID) -> Conversation:
    """Return the user's conversation and its profile; a deleted or foreign one is not found."""
    conversations = Conversation.objects.owned_by(request.user).present()
    return get_object_or_404(conversations.select_related("profile"), pk=pk)


def resting_conversation(request: Request, pk: uuid.UUID) -> Conversation:
    """Return the user's conversation, without what is only on record as running in it."""
    conversation = own_conversation(request, pk)
    actions.close_left_over(conversation)
    return conversation


def as_uuid(text: str) -> uuid.UUID | None:
    """Return the UUID that ``text`` spells, or None."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


_WEEK = 7  # days


@dataclass(frozen=True, slots=True)
class Day[T]:
    """What belongs to one day or more; ``goes_on`` when a page before this one named it."""

    name: str
    items: tuple[T, ...]
    goes_on: bool


def zone_of(request: HttpRequest) -> tzinfo:
    """Return the reader's time zone, UTC until their browser has said it."""
    return zone_named(request.COOKIES.get(ZONE_COOKIE, ""))


def name_day(when: datetime, *, now: datetime, zone: tzinfo) -> str:
    """Return "Today", "Yesterday", "Previous 7 days" or "Earlier"."""
    days = (now.astimezone(zone).date() - when.astimezone(zone).date()).days
    if days <= 0:
        return _("Today")
    if days == 1:
        return _("Yesterday")
    return _("Previous 7 days") if days <= _WEEK else _("Earlier")


def group_by_day[T](
    items: Iterable[T], day_of: Callable[[T], str], *, last: str = ""
) -> list[Day[T]]:
    """Return the items by day, in their order; ``last`` is the day that the page before ended."""
    return [Day(name, tuple(group), name == last) for name, group in groupby(items, key=day_of)]
