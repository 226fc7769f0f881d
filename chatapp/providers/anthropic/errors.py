"""Turn what goes wrong in a call into sentences for people and facts for handlers."""

import re

import anthropic
import httpx2

from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.providers.failures import (
    BAD_REQUEST,
    SERVER_ERROR,
    Asked,
    Refusal,
    explain_loss,
    explain_refusal,
)

# What the SDK lets out: its own errors, its transport's, and data that is no JSON.
FAILURES = (anthropic.APIError, httpx2.HTTPError, httpx2.StreamError, OSError, ValueError)

# Errors in mid-stream come with the stream's status, 200: their type has to tell.
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}

# What a refusal says of thinking that a request can do without, or must have and has not.
_OF_THINKING = ("signature", "modified", "Expected")

# How the vendor and others that speak its API refuse a role.
_OF_ROLES = re.compile(r"\brole\b.*(\bsystem\b|'user' or 'assistant')")


class ThinkingRefused(ProviderError):
    """The vendor does not take a thinking block of the history back."""


class CompactionRefused(ProviderError):
    """The vendor makes no compaction, or does not take one back: it was signed for something else.

    That is another model, system prompt or set of tools, or other words.
    """


class DiagnosticsRefused(ProviderError):
    """The server does not say why its cache could not be used, and takes no question about it."""


class LateSystemRefused(ProviderError):
    """The server takes no system message among the others."""


def explain(error: Exception, asked: Asked, *, started: bool, shown: bool) -> ProviderError:
    """Return the error to raise; a reply that was ``shown`` in part is not to be retried."""
    if isinstance(error, anthropic.APIStatusError):
        explained = _refused(error, asked)
    else:
        timed_out = isinstance(error, anthropic.APITimeoutError)
        explained = explain_loss(error, asked, started=started, timed_out=timed_out)
    explained.retryable = explained.retryable and not shown
    return explained


def _refused(error: anthropic.APIStatusError, asked: Asked) -> ProviderError:
    status = error.status_code
    if status < 300:  # noqa: PLR2004 - an error event in mid-stream
        status = _STATUS_OF_TYPE.get(str(error.type), SERVER_ERROR)
    said = (error.api_message or f"HTTP {error.status_code}").strip()
    refusal = Refusal(
        status,
        said,
        error.type or "",
        error.status_code,
        error.request_id,
        error.response.headers,
    )
    explained = explain_refusal(error, refusal, asked)
    if status != BAD_REQUEST or isinstance(explained, ContextOverflow):
        return explained
    kind = _kind(said, error.body)
    if kind is None:
        return explained
    return kind(str(explained), status=status, details=explained.details)


def _kind(said: str, body: object) -> type[ProviderError] | None:
    """Return what a refusal is about, where a request can do without it."""
    if "compaction" in f"{said} {body}":
        return CompactionRefused
    if "thinking" in said and any(word in said for word in _OF_THINKING):
        return ThinkingRefused
    if _OF_ROLES.search(said):
        return LateSystemRefused
    return DiagnosticsRefused if "diagnostics" in said else None
