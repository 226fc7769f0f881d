"""Previews: the sealed frame that draws a message's code, and the script that draws diagrams."""

import gzip
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.csp import CSP
from django.views.decorators.cache import cache_control
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_GET

DAY = 86_400
# The code is a model's: it runs in an origin of its own, and may load or send nothing.
SEALED: dict[str, list[str]] = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.UNSAFE_INLINE],
    "style-src": [CSP.UNSAFE_INLINE],
    "img-src": ["data:"],
    "font-src": ["data:"],
    "media-src": ["data:"],
    "form-action": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "frame-ancestors": [CSP.SELF],
    "sandbox": ["allow-scripts"],
    "require-trusted-types-for": ["'script'"],
    "trusted-types": ["default"],
}


@require_GET
@csp_override(SEALED)
def show_preview(request: HttpRequest) -> HttpResponse:
    """Return the frame's page, which draws code from the page around it."""
    answer = render(request, "chat/preview.html")
    answer["X-DNS-Prefetch-Control"] = "off"
    return answer


@require_GET
@cache_control(public=True, max_age=DAY)
def draw_diagrams(_request: HttpRequest) -> HttpResponse:
    """Return Mermaid's script."""
    kind = "text/javascript; charset=utf-8"
    return HttpResponse(_mermaid(), content_type=kind, headers={"Content-Encoding": "gzip"})


@cache
def _mermaid() -> bytes:
    # The package is not imported: it only carries the file.
    script = distribution("artoo-mermaid").locate_file("artoo_mermaid/assets/mermaid.min.js")
    return gzip.compress(Path(str(script)).read_bytes())
