"""Middleware at the edge: the client's address, the server's own, and refused requests."""

import re
import uuid
from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.http.request import split_domain_port
from django.http.response import HttpResponseBase
from django.utils.translation import gettext_noop

from chatapp.project import logs, static_files
from chatapp.project.sentences import translate as _

GetResponse = Callable[[HttpRequest], HttpResponseBase]

UNSUPPORTED = 415

# An id that a proxy may give a request, and the addresses that name a conversation.
SANE = re.compile(r"[\w.-]{8,64}", re.ASCII)
CONVERSATION = re.compile(r"(?:/api/conversations|/c)/([0-9a-f-]{36})(?:/|$)")

# Requested by programs that monitor a process, under any host name.
MONITORING = ("/healthz", "/readyz", "/metrics")

# The cookie of a browser that was redirected to the public address, and its seconds.
LED, LED_FOR = "led", 10

# Features that no page here uses, so that an injected page has none of them either.
DENIED = ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")


def request_ids(get_response: GetResponse) -> GetResponse:
    """Give each request an id, which its log lines and the answer have; or keep a trusted proxy's.

    Stands before ``client_address``, while the address is still that of the connection.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get("X-Request-ID", "")
        is_known = SANE.fullmatch(given) and _is_trusted(request.META.get("REMOTE_ADDR", ""))
        own = given if is_known else uuid.uuid4().hex
        at = CONVERSATION.match(request.path)
        # Django logs a refusal after the middleware, while the request's context still holds.
        logs.begin(request=own, conversation=at and at[1])
        answer = get_response(request)
        answer.headers["X-Request-ID"] = own
        return answer

    return middleware


def for_monitors(get_response: GetResponse) -> GetResponse:
    """Answer HEAD as GET, for monitors and programs that look at links; servers omit the body.

    A monitor's address is asked without a session, which would be read from the database.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.method == "HEAD":
            request.method = "GET"
        if request.path in MONITORING:
            request.COOKIES.clear()
        return get_response(request)

    return middleware


def client_address(get_response: GetResponse) -> GetResponse:
    """Set ``REMOTE_ADDR`` to the client's address if ``TRUSTED_PROXIES`` pass it on.

    Each proxy adds its own client to ``X-Forwarded-For``, so the last address is the one that
    a trusted proxy has seen; those before it are believed as far as trusted proxies go.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        forwarded = request.headers.get("X-Forwarded-For", "").split(",")
        hops = [hop.strip() for hop in forwarded if hop.strip()]
        while hops and _is_trusted(request.META.get("REMOTE_ADDR", "")):
            hop = hops.pop()
            # Some proxies add the port, which is another one each time.
            address = split_domain_port(hop)[0].strip("[]") or hop
            try:
                request.META["REMOTE_ADDR"] = str(ip_address(address))
            except ValueError:
                break
        return get_response(request)

    return middleware


def _is_trusted(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in settings.TRUSTED_PROXIES)


def permissions_policy(get_response: GetResponse) -> GetResponse:
    """Deny every page the camera, microphone and the like."""
    policy = ", ".join(f"{feature}=()" for feature in DENIED)

    def middleware(request: HttpRequest) -> HttpResponseBase:
        answer = get_response(request)
        answer.headers.setdefault("Permissions-Policy", policy)
        return answer

    return middleware


def files_version(get_response: GetResponse) -> GetResponse:
    """Give each answer the version of its scripts and styles: an older page is loaded anew."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        answer = get_response(request)
        answer.headers["Content-Version"] = static_files.version()
        return answer

    return middleware


def one_address(get_response: GetResponse) -> GetResponse:
    """Redirect requests for other names, or without TLS, to ``PUBLIC_URL``, if that is set.

    From here on the request has that address, and so have the links that are made of it. Without
    one, a request for a name that is not allowed is refused, but for those of monitors.
    """
    public = urlsplit(settings.PUBLIC_URL)
    own, needs_tls = public.netloc, public.scheme == "https"
    name, _port = split_domain_port(own)

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if own:
            asked, _port = split_domain_port(request.META.get("HTTP_HOST", ""))
            is_there = asked == name and (request.is_secure() or not needs_tls)
            if not is_there and request.path not in MONITORING:
                return _lead_on(request)
            # A proxy may pass the name on without its port.
            request.META["HTTP_HOST"] = own
            return get_response(request)
        try:
            request.get_host()
        except DisallowedHost:
            if request.path in MONITORING:
                request.META["HTTP_HOST"] = settings.ALLOWED_HOSTS[0].removeprefix(".")
                return get_response(request)
            said = gettext_noop(
                "Nobody told this server that it has this name: set PUBLIC_URL to the address that "
                "people type, or name it in ALLOWED_HOSTS."
            )
            return _refuse(request, said)
        return get_response(request)

    return middleware


def _lead_on(request: HttpRequest) -> HttpResponse:
    address = settings.PUBLIC_URL
    if request.method != "GET":
        said = gettext_noop("This server's address is {own}: nothing is taken by another name.")
        return _refuse(request, said, own=address)
    if LED in request.COOKIES:
        said = gettext_noop(
            "The proxy in front of this server hides the address that people type: have it set the "
            "headers Host and X-Forwarded-Proto."
        )
        return _refuse(request, said)
    # Not for good: a new address would lead browsers round in circles.
    answer = HttpResponseRedirect(address + request.get_full_path())
    # A browser that returns with it was at that address already; it is kept over TLS only.
    is_over_tls = address.startswith("https")
    answer.set_cookie(LED, "1", max_age=LED_FOR, secure=is_over_tls, httponly=True, samesite="Lax")
    return answer


def _refuse(request: HttpRequest, said: str, **values: str) -> HttpResponse:
    # Settings import this module.
    from chatapp.project.languages import reader_of  # noqa: PLC0415 - only with settings

    # Stands before the middleware that chooses a language.
    with reader_of(request, user=None).reading():
        words = _(said, **values)
    return HttpResponseBadRequest(words, content_type="text/plain; charset=utf-8")


def only_utf_8(get_response: GetResponse) -> GetResponse:
    """Refuse a request that says it is written in anything but UTF-8, as no browser's is.

    Django would read its address and its fields in that encoding, and could fail.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if (request.encoding or "utf-8").lower() not in {"utf-8", "utf8"}:
            return HttpResponse(status=UNSUPPORTED)
        return get_response(request)

    return middleware
