"""Monitoring: is the server alive and ready, and its metrics."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.turns import monitoring


@require_GET
@never_cache
def tell(request: HttpRequest) -> HttpResponse:
    """Answer whoever watches over this process."""
    return monitoring.answer(request.path_info, request.headers.get("Authorization", ""))
