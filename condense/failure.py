"""Technical details of a failed call, to copy into a bug report and safe to store."""

import json
import re
from typing import Any

UNSERIALIZABLE = "[Unable to serialize]"
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
    sections = [f"Error: {error}"]
    if status := _first(error, "status", "status_code"):
        sections.append(f"HTTP Status: {status}")
    code = _first(error, "code")
    if code:
        joined = "\n" if status else "\n\n"
        sections[-1] += f"{joined}Error Code: {code}"
    if response := _first(error, "response"):
        sections.append(f"API Response:\n{_serialized(response)}")
    if body := _first(error, "body"):
        joined = "\n" if response else "\n\n"
        sections[-1] += f"{joined}Response Body:\n{_serialized(body)}"
    if details := _first(error, "details"):
        sections.append(str(details))
    return make_safe("\n\n".join(sections))


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
        return json.dumps(value, indent=2, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return UNSERIALIZABLE
