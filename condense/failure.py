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
    """Return message, HTTP status, error code and response of a call, without secrets.

    The order is the one Roo Code users know from its error reports.
    """
    text = f"Error: {error}"
    if status := _first(error, "status", "status_code"):
        text += f"\n\nHTTP Status: {status}"
    if code := _first(error, "code"):
        text += f"\nError Code: {code}"
    if response := _first(error, "response"):
        text += f"\n\nAPI Response:{_serialized(response)}"
    if body := _first(error, "body"):
        text += f"\n\nResponse Body:{_serialized(body)}"
    if details := _first(error, "details"):
        text += f"\n\n{details}"
    return make_safe(text)


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
