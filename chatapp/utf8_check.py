"""Middleware: the client's address, and the encoding that requests have to be in."""

from collections.abc import Callable
from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

GetResponse = Callable[[HttpRequest], HttpResponseBase]

UNSUPPORTED = 415


def client_address(get_response: GetResponse) -> GetResponse:
    """Set ``REMOTE_ADDR`` to the client's address where ``TRUSTED_PROXIES`` pass it on.

    Each proxy adds to ``X-Forwarded-For`` whom it was asked by, so the last address is the one that
    a trusted proxy has seen; those before it are believed as far as trusted proxies go.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        forwarded = request.headers.get("X-Forwarded-For", "").split(",")
        hops = [hop.strip() for hop in forwarded if hop.strip()]
        while hops and _is_trusted(request.META.get("REMOTE_ADDR", "")):
            request.META["REMOTE_ADDR"] = hops.pop()
        return get_response(request)

    return middleware


def _is_trusted(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in settings.TRUSTED_PROXIES)


def only_utf_8(get_response: GetResponse) -> GetResponse:
    """Refuse a request that says it is written in anything but UTF-8, as no browser's is.

    Django would read its address and its fields in that encoding, and fail where it can't.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if (request.encoding or "utf-8").lower() not in {"utf-8", "utf8"}:
            return HttpResponse(status=UNSUPPORTED)
        return get_response(request)

    return middleware
