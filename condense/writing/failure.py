"""Technical details of a failed call, to copy into a bug report and safe to store."""

import json
import re
from typing import Any

# A response body can echo the whole prompt; a bug report needs its beginning.
MAX_DETAILS = 10_000  # characters
_SECRETS = (
    re.compile(r"\b(?:sk|pk|rk|key)-[A-Za-z0-9_-]{12,}"),
    re.compile(r"(?i)(?<=bearer )[A-Za-z0-9._~+/=-]{8,}"),
    re.compile(r"""(?i)(?<=["']x-api-key["']: ["'])[^"']+"""),
    re.compile(r"""(?i)(?<=["']api_key["']: ["'])[^"']+"""),
)


def describe(error: Exception) -> str:
    """Return the message and what else is known of a failed call, without secrets.

    That is the error's own ``details`` where it has some, otherwise HTTP status, error code and
    response, in the order that users of Roo Code know from its error reports.
    """
    details = _first(error, "details")
    return make_safe(f"Error: {error}" + (f"\n\n{details}" if details else _facts(error)))


def _facts(error: Exception) -> str:
    text = ""
    if status := _first(error, "status", "status_code"):
        text += f"\n\nHTTP Status: {status}"
    if code := _first(error, "code"):
        text += f"\nError Code: {code}"
    if response := _first(error, "response"):
        text += f"\n\nAPI Response:{_serialized(response)}"
    if body := _first(error, "body"):
        text += f"\n\nResponse Body:{_serialized(body)}"
    return text


def make_safe(text: str) -> str:
    """Return the text with keys and tokens blotted out, cut where it gets long."""
    for secret in _SECRETS:
        text = secret.sub("[redacted]", text)
    if len(text) > MAX_DETAILS:
        return f"{text[:MAX_DETAILS]}\n[{len(text) - MAX_DETAILS} more characters]"
    return text


def _first(error: Exception, *names: str) -> Any:
    """Return the first truthy attribute of a vendor's error."""
    return next((value for name in names if (value := _attribute(error, name))), None)


def _attribute(error: Exception, name: str) -> Any:
    try:
        return getattr(error, name, None)
    except Exception:  # noqa: BLE001 - a property may raise, but describing must not
        return None


def _serialized(value: Any) -> str:
    try:
        return "\n" + json.dumps(value, indent=2, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return " [Unable to serialize]"
