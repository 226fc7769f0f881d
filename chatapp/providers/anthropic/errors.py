"""Turn what goes wrong in a call into sentences for people and facts for handlers."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import anthropic
import httpx2

import condense
from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.network.addresses import host_of
from chatapp.providers.anthropic.connection import Connection

# What the SDK lets out: its own errors, its transport's, and data that is no JSON.
FAILURES = (anthropic.APIError, httpx2.HTTPError, httpx2.StreamError, OSError, ValueError)

SILENT = "The provider stopped answering."
BROKE_OFF = "The stream broke off before the reply was complete."

_RETRYABLE = {408, 409, 429, 500, 502, 503, 504, 529}
# Its key, or the model and the address that it names.
_OF_THE_PROFILE = {401, 403, 404}
_SENTENCES = {
    401: "The provider did not accept the API key. Check it in Profiles.",
    402: "The provider says that the account cannot pay for this call. Check its billing.",
    403: "The API key may not use this model or feature.",
    429: "The provider's rate limit is reached.",
    529: "The provider is overloaded at the moment.",
}
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
_SERVER_ERROR = 500
# A longer wait is no wish: it is a mistake, or a number that no clock can take.
_LONGEST_WISH = 366 * 24 * 3600.0


class ThinkingRefused(ProviderError):
    """The vendor does not take a thinking block of the history back."""


class DiagnosticsRefused(ProviderError):
    """The server does not say why its cache could not be used, and takes no question about it."""


def explain(
    error: Exception, model: str, to: Connection, *, started: bool, shown: bool
) -> ProviderError:
    """Return the error to raise; a reply that was ``shown`` in part is not to be retried."""
    explained = _explain(error, model, to, started=started)
    explained.retryable = explained.retryable and not shown
    return explained


def no_reply(to: Connection, details: str = "") -> ProviderError:
    """Return the error for a server that answers, but not as the Messages API does."""
    return ProviderError(
        f"{to.host} answered with something that is no reply of a model. "
        "Check the base URL in Profiles.",
        details=details,
        profile_at_fault=True,
    )


def _explain(error: Exception, model: str, to: Connection, *, started: bool) -> ProviderError:
    details = _details(error, model, to)
    if isinstance(error, anthropic.APIStatusError):
        if 300 <= error.status_code < 400:  # noqa: PLR2004 - the redirects
            return _redirected(error, to, details)
        return _refused(error, model, details)
    if isinstance(error, TimeoutError | anthropic.APITimeoutError | httpx2.TimeoutException):
        sentence = SILENT
    elif started:
        sentence = BROKE_OFF
    elif isinstance(error, ValueError):
        return no_reply(to, details)
    else:
        return ProviderError(
            f"The provider could not be reached at {to.host}. "
            "Check the network, and the base URL in Profiles.",
            retryable=True,
            details=details,
            profile_at_fault=True,
        )
    return ProviderError(sentence, retryable=True, details=details)


def _redirected(error: anthropic.APIStatusError, to: Connection, details: str) -> ProviderError:
    """Return the error for an answer that would lead key and prompt somewhere else."""
    target = host_of(error.response.headers.get("location", ""))
    return ProviderError(
        f"{to.host} sends calls on to another address. It is not followed, because the key and the "
        "conversation would go there: enter the final address in Profiles.",
        status=error.status_code,
        details=f"{details}\nredirects to: {target}",
    )


def _refused(error: anthropic.APIStatusError, model: str, details: str) -> ProviderError:
    status = error.status_code
    if status < 400:  # noqa: PLR2004 - an error event in mid-stream
        status = _STATUS_OF_TYPE.get(str(error.type), _SERVER_ERROR)
    if condense.is_context_overflow(error):
        sentence = f"The prompt does not fit the model's context window: {_said(error)}"
        return ContextOverflow(sentence, status=status, details=details)
    return _kind(error, status)(
        _sentence(error, model, status),
        retryable=status in _RETRYABLE,
        retry_after=_retry_after(error.response.headers),
        status=status,
        details=details,
        profile_at_fault=status in _OF_THE_PROFILE,
    )


def _sentence(error: anthropic.APIStatusError, model: str, status: int) -> str:
    if status in _SENTENCES:
        return _SENTENCES[status]
    if status == 404:  # noqa: PLR2004 - an HTTP status
        return (
            f"The provider does not know the model {model}. "
            "Check it, and the base URL, in Profiles."
        )
    if status >= _SERVER_ERROR:
        return f"The provider has a problem of its own (HTTP {status})."
    return f"The provider refused the request: {_said(error)}"


def _said(error: anthropic.APIStatusError) -> str:
    return (error.api_message or f"HTTP {error.status_code}").strip()


def _kind(error: anthropic.APIStatusError, status: int) -> type[ProviderError]:
    """Return what a refusal is about, where a request can do without it."""
    said = _said(error)
    if status != 400:  # noqa: PLR2004 - an HTTP status
        return ProviderError
    if "thinking" in said and ("signature" in said or "modified" in said):
        return ThinkingRefused
    return DiagnosticsRefused if "diagnostics" in said else ProviderError


def _details(error: Exception, model: str, to: Connection) -> str:
    """Return lines to copy into a bug report."""
    lines = [f"model: {model}", f"host: {to.host}"]
    if isinstance(error, anthropic.APIStatusError):
        lines.append(f"HTTP status: {error.status_code}")
        lines += [f"error type: {error.type}"] if error.type else []
        lines += [f"request id: {error.request_id}"] if error.request_id else []
        lines.append(f"message: {_said(error)}")
    else:
        chain = [error, error.__cause__ or error.__context__]
        lines += [f"{type(one).__name__}: {one}" for one in chain if one is not None]
    return "\n".join(lines)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds a response asks to wait: in milliseconds, in seconds, or until a date."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return _wish(float(headers.get(name, "")) / unit)
        except ValueError:
            continue
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, OverflowError):
        return None
    # A date of -0000 says that it knows no zone; such dates are in UTC.
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return _wish((until - datetime.now(UTC)).total_seconds())


def _wish(seconds: float) -> float | None:
    """Return a wait that can be meant; neither nan nor infinity is."""
    return max(0.0, seconds) if seconds <= _LONGEST_WISH else None
