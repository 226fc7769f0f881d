"""Visits: a user's sessions with time, address and browser, for the user and the operator."""

from collections.abc import Callable
from contextlib import suppress

from allauth.usersessions.models import UserSession
from django.core.cache import caches
from django.db import OperationalError
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from chatapp.project import logs

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
