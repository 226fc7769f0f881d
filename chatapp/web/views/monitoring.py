"""Monitoring: liveness, readiness and metrics of the server."""

import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.models import errors
from chatapp.project import logs
from chatapp.project.languages import in_words
from chatapp.turns import monitoring


@require_GET
@never_cache
def tell(request: HttpRequest) -> HttpResponse:
    """Answer a request for the process's health or metrics."""
    return monitoring.answer(request.path_info, request.headers.get("Authorization", ""))


def tell_failure(_request: HttpRequest) -> HttpResponse:
    """Return the page of a server error, with its id in the log; reads no database."""
    reason = in_words(errors.why_unread(sys.exception()))
    page = render_to_string("500.html", {"request_id": logs.request_id(), "reason": reason})
    return HttpResponse(page, status=500)
