"""The addresses below /api/, and the description of them that programs and people read."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from chatapp.web.api import conversations, history, mcp_server, settings, turns
from chatapp.web.api.auth import api

API_PREFIX = "/api/"
# The form of every refusal.
PROBLEM = {
    "description": "Why it was not done, as a sentence.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {"detail": {"type": "string"}},
                "required": ["detail"],
            }
        }
    },
}

for router in (
    conversations.router,
    conversations.attachments,
    history.everywhere,
    settings.router,
    mcp_server.router,
):
    api.add_router("", router)
for router in (
    *(conversations.conversation, conversations.pins),
    *(turns.router, history.router, history.records),
):
    api.add_router("/conversations/{uuid:pk}", router)


def describe() -> dict[str, Any]:
    """Return the OpenAPI document."""
    schema = api.get_openapi_schema(path_prefix=API_PREFIX)
    for methods in schema["paths"].values():
        for operation in methods.values():
            operation["responses"]["default"] = PROBLEM
            operation["summary"] = operation["summary"].capitalize()
    return schema


@require_safe
def show_schema(_request: HttpRequest) -> HttpResponse:
    """Send the OpenAPI document, which holds no user's data."""
    return JsonResponse(describe())


@require_safe
def show_docs(request: HttpRequest) -> HttpResponse:
    """Show the same as a page, made here: it loads nothing from elsewhere."""
    schema = describe()
    operations = [
        {"method": method.upper(), "path": address, **operation}
        for address, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    shapes = schema["components"]["schemas"]
    return render(request, "api/docs.html", {"operations": operations, "shapes": shapes})


urlpatterns = [path("openapi.json", show_schema), path("docs", show_docs), path("", api.urls)]
