"""Monitoring: is the server alive and ready, and its metrics."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.maintenance import monitoring
from chatapp.turns import actions


@require_GET
@never_cache
def tell(request: HttpRequest) -> HttpResponse:
    """Answer whoever watches over this process."""
    authorization = request.headers.get("Authorization", "")
    said = monitoring.answer(request.path_info, authorization, actions.front)
    return HttpResponse(
        said.text, status=said.status, content_type=said.content_type, headers=said.headers
    )
