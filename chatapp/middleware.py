"""What every request passes before a view sees it."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

GetResponse = Callable[[HttpRequest], HttpResponseBase]

UNSUPPORTED = 415


def only_utf_8(get_response: GetResponse) -> GetResponse:
    """Refuse a request that says it is written in anything but UTF-8, as no browser's is.

    Django would read its address and its fields in that encoding, and fail where it can't.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if (request.encoding or "utf-8").lower() not in {"utf-8", "utf8"}:
            return HttpResponse(status=UNSUPPORTED)
        return get_response(request)

    return middleware
