"""Whether the server is alive and ready, for whatever watches over it; open to everybody."""

import functools
import logging

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.environment import folder_problem
from chatapp.live import turns
from chatapp.models import Conversation

log = logging.getLogger(__name__)

UNREADABLE = "The database can't be read."


@require_GET
@never_cache
def show_alive(_request: HttpRequest) -> HttpResponse:
    """Answer "ok", or 503 where a new start may help: conversations can't be read."""
    try:
        Conversation.objects.exists()
    except DatabaseError:
        log.exception("the database can't be read")
        return _no(UNREADABLE)
    return _ok()


@require_GET
@never_cache
def show_ready(_request: HttpRequest) -> HttpResponse:
    """Answer "ok", or 503 with the reason while no turn may begin here."""
    if turns.front.closing:
        return _no("The server is being stopped.")
    try:
        missing = _migrations() - MigrationRecorder(connection).applied_migrations().keys()
    except DatabaseError:
        log.exception("the database can't be read")
        return _no(UNREADABLE)
    if missing:
        return _no("The database has to be migrated.")
    if folder_problem("DATA_DIR", settings.DATA_DIR):
        return _no("The disk can't be written.")
    return _ok()


@functools.cache
def _migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations)


def _ok() -> HttpResponse:
    return HttpResponse("ok", content_type="text/plain")


def _no(reason: str) -> HttpResponse:
    return HttpResponse(reason, status=503, content_type="text/plain")
