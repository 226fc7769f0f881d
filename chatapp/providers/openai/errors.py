"""Refusals of chat completions: their status and words, in whichever shape a server has."""

from collections.abc import Mapping

import httpx2
import openai

from chatapp.providers.call_errors import SERVER_ERROR, Refusal

# What the SDK lets out: its own errors, its transport's, and data that is no JSON.
FAILURES = (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, OSError, ValueError)

# Errors in mid-stream come with the stream's status, 200: their code or type has to tell.
_STATUS_OF_WORD = {
    "invalid_request_error": 400,
    "exceed_context_size_error": 400,
    "context_length_exceeded": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "insufficient_quota": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "requests": 429,
    "tokens": 429,
    "unavailable_error": 503,
    "overloaded_error": 529,
}
_REFUSALS = {400, 404, 422, 500, 501}


def refusal(error: openai.APIStatusError) -> Refusal:
    """Return what a server said when it refused a call, in whichever of the usual shapes."""
    body = error.body
    kind = next((word for word in (error.code, error.type) if word and not word.isdigit()), "")
    return Refusal(
        _status(error, body),
        said=said_in(body) or f"HTTP {error.status_code}",
        type=kind,
        answered=error.status_code,
        request_id=error.request_id,
        headers=error.response.headers,
        body=body,
    )


def is_about_the_request(refusal: Refusal) -> bool:
    """Whether another request might be taken: it was not the key, a limit or the network."""
    return refusal.status in _REFUSALS


def said_in(body: object) -> str:
    """Return the sentence in an error's body."""
    match body:
        case str():
            return body.strip()
        case {"message": str(text), "metadata": {"raw": str(raw)}}:
            # What the server behind a gateway said.
            return f"{text.strip()} {raw}".strip()
        case {"message": str(text)}:
            return text.strip()
        case {"error": inner} | {"detail": inner} | {"message": inner} if inner is not body:
            return said_in(inner)
        case [*items]:
            return "; ".join(filter(None, map(_item, items)))
    return ""


def _item(item: object) -> str:
    """Return one finding of a validator: where it is, and what is wrong."""
    match item:
        case {"loc": [*where], "msg": str(text)}:
            return f"{'.'.join(map(str, where))}: {text}"
        case {"error": dict(inner)}:
            return said_in(inner)
    return said_in(item) if isinstance(item, str | Mapping) else ""


def _status(error: openai.APIStatusError, body: object) -> int:
    words = {error.code, error.type}
    if "insufficient_quota" in words:
        return _STATUS_OF_WORD["insufficient_quota"]
    if error.status_code >= 300:  # noqa: PLR2004 - no success
        return error.status_code
    code = body.get("code") if isinstance(body, Mapping) else None
    if type(code) is int and 400 <= code < 600:  # noqa: PLR2004 - the statuses of errors
        return code
    known = (_STATUS_OF_WORD[word] for word in words if word in _STATUS_OF_WORD)
    return next(known, SERVER_ERROR)
