"""Refusals of the Messages API: their status, and what part of a request they are about."""

import re

import anthropic
import httpx2

from chatapp.providers.call_errors import BAD_REQUEST, SERVER_ERROR, Refusal

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


def refusal(error: anthropic.APIStatusError) -> Refusal:
    """Return what the vendor said when it refused a call."""
    status = error.status_code
    if status < 300:  # noqa: PLR2004 - an error event in mid-stream
        status = _STATUS_OF_TYPE.get(str(error.type), SERVER_ERROR)
    return Refusal(
        status,
        said=(error.api_message or f"HTTP {error.status_code}").strip(),
        type=error.type or "",
        answered=error.status_code,
        request_id=error.request_id,
        headers=error.response.headers,
        body=error.body,
    )


def part_refused(refusal: Refusal) -> str:
    """Return which part of a request is refused that it can do without, "" where none is.

    A "compaction" is not made, or not taken back: it was signed for another model, system prompt or
    set of tools, or other words. "thinking" of the history is not taken back either. A server may
    take no "late system" message among the others, and no question about its cache: "diagnostics".
    """
    said = refusal.said
    if refusal.status != BAD_REQUEST:
        return ""
    if "compaction" in f"{said} {refusal.body}":
        return "compaction"
    if "thinking" in said and any(word in said for word in _OF_THINKING):
        return "thinking"
    if _OF_ROLES.search(said):
        return "late system"
    return "diagnostics" if "diagnostics" in said else ""
