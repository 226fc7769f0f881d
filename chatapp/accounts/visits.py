"""Visits: a user's sessions with time, address and browser, for the user and the operator."""

from collections.abc import Callable
from contextlib import suppress

from allauth.usersessions.models import UserSession
from django.core.cache import caches
from django.db import OperationalError
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from chatapp.project import logs
from chatapp.project.sentences import translate as _

# Seconds between two notes of a visit, so that few pages need a write.
VISIT_PRECISION = 600


def note_visits(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Note a signed-in user's visit before the view runs, and the user in log lines."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        key = request.session.session_key
        if key and request.user.is_authenticated:
            logs.note(user=request.user.pk)
            if caches["visits"].add(key, True, VISIT_PRECISION):
                # On a full disk the page can still be read.
                with suppress(OperationalError):
                    UserSession.objects.create_from_request(request)
        return get_response(request)

    return middleware


# Browsers and systems by the names in their headers; the first that is found fits.
_BROWSERS = ("Edg:Edge", "OPR:Opera", "Firefox", "Chromium", "Chrome", "CriOS:Chrome", "Safari")
_SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Mac OS X:macOS", "CrOS:ChromeOS", "Linux")


def browser(header: str) -> str:
    """Return a browser's name and its system's, or its header without either."""
    found = [
        next((name or mark for mark, _colon, name in known if mark in header), "")
        for known in ([one.partition(":") for one in names] for names in (_BROWSERS, _SYSTEMS))
    ]
    told = _("{browser} on {system}", browser=found[0], system=found[1])
    return told if all(found) else header
