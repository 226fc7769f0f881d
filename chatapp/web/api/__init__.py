"""The JSON API; its framework is loaded with the first request."""

from django.http import Http404, HttpRequest, HttpResponseNotAllowed, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import resolve
from django.utils.cache import add_never_cache_headers
from django.views.decorators.csrf import csrf_exempt

from chatapp.project.sentences import translate as _


# No cookie opens anything here, so no other site can use one.
@csrf_exempt
def enter_api(request: HttpRequest, rest: str) -> HttpResponseBase:
    """Answer a program's request."""
    try:
        # Some languages write a UUID in capitals.
        found = resolve(f"/{rest.lower()}", "chatapp.web.api.urls")
        answer: HttpResponseBase = found.func(request, *found.args, **found.kwargs)
    except Http404:
        return JsonResponse({"detail": _("There is nothing at this address.")}, status=404)
    if isinstance(answer, HttpResponseNotAllowed):
        sentence = _("This address doesn't accept that method.")
        allowed = {"Allow": answer["Allow"].replace("GET", "GET, HEAD")}
        answer = JsonResponse({"detail": sentence}, status=405, headers=allowed)
    add_never_cache_headers(answer)
    return answer
