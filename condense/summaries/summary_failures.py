"""Failed calls: recognise a context overflow, and describe a failure without secrets.

Recognised without importing any SDK: every vendor reports it in other words and other places: as an
HTTP status, a code, a sentence, a nested body, in the middle of a stream, or as a reply's stop
reason.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

# A response body can echo the whole prompt; a bug report needs its beginning.
MAX_DETAILS = 10_000  # characters
_SECRETS = (
    re.compile(r"\b(?:sk|pk|rk|key)-[A-Za-z0-9_-]{12,}"),
    re.compile(r"(?i)(?<=bearer )[A-Za-z0-9._~+/=-]{8,}"),
    re.compile(r"""(?i)(?<=["']x-api-key["']: ["'])[^"']+"""),
    re.compile(r"""(?i)(?<=["']api_key["']: ["'])[^"']+"""),
)
MAX_ERROR_DEPTH, MAX_LAYERS = 6, 1_000
BAD_REQUEST, TOO_LARGE, MISSING = 400, 413, None
_NO_ERROR, _HTTP_ERRORS = range(100, 400), range(400, 600)
_STATUS = re.compile(r"\d{3}", re.ASCII)

# The words of errors; the file says what each rule is for.
_WORDINGS = resources.files(__package__).joinpath("overflows.toml").read_text("utf-8")
_TABLE = tomllib.loads(_WORDINGS)
_KEYS = _TABLE.pop("keys")
_RULES = {name: re.compile(rule) for name, rule in _TABLE.items()}


@dataclass(slots=True)
class _Facts:
    """The facts about an error from all its layers, outermost first."""

    statuses: list[int] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


_SCALARS = (str, bytes, bool, int, float, type(None))


def is_context_overflow(error: object) -> bool:
    """Return True if an exception, error body or reply reports an exceeded context window.

    Never true for a rate limit that waiting helps, nor for one parameter's range.
    """
    facts = _gather(error)
    codes, texts, status = facts.codes, facts.texts, next(iter(facts.statuses), MISSING)
    rates = [found.groups() for found in _found("never_passes", texts)]
    if any(_number(asked) > _number(limit) for limit, asked in rates):
        return True
    if any(_found("rate_codes", codes)) or any(_found("rate_text", texts)):
        return False
    other = any(_found("other_thing", texts))
    if any(_found("codes", codes)) or (status == TOO_LARGE and not other):
        return True
    if status not in {BAD_REQUEST, MISSING, 422, 500, 502}:
        return False
    if any(_found("plain", texts)):
        return True
    invalid = "invalid_request_error" in codes and any(_found("invalid_request", texts))
    likely = invalid or any(_found("likely", texts))
    may_be = status in {BAD_REQUEST, MISSING} and not any(_found("other_cause", texts))
    return likely and may_be and not other


def _found(rule: str, texts: Sequence[str]) -> Iterator[re.Match[str]]:
    return filter(None, map(_RULES[rule].search, texts))


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def named_window(error: object) -> int | None:
    """Return the tokens that a model takes, as a context overflow names them; None without any."""
    found = next(_found("window", _gather(error).texts), None)
    return _number(found["before"] or found["behind"]) if found else None


def _gather(error: object) -> _Facts:
    facts, seen, layers = _Facts(), set[int](), [(error, 0)]
    while layers and len(seen) < MAX_LAYERS:
        layer, depth = layers.pop(0)
        if isinstance(layer, _SCALARS) or id(layer) in seen or depth > MAX_ERROR_DEPTH:
            continue
        seen.add(id(layer))
        _note(layer, facts)
        inner = layer if isinstance(layer, Sequence) else [_read(layer, k) for k in _KEYS["nested"]]
        layers += [(one, depth + 1) for one in inner]
    # Between beginning and end it may quote a whole prompt.
    facts.texts = [
        f"{one[:MAX_DETAILS]}\n{one[MAX_DETAILS:][-MAX_DETAILS:]}" for one in facts.texts
    ]
    facts.codes = [one[:MAX_DETAILS] for one in facts.codes]
    return facts


def _note(layer: object, facts: _Facts) -> None:
    # An error in the middle of a stream arrives under the 200 the stream began with.
    given = _numbers([_read(layer, key) for key in _KEYS["statuses"]])
    facts.statuses += [status for status in given if status not in _NO_ERROR]
    codes = [_read(layer, key) for key in _KEYS["codes"]]
    code = _numbers([_read(layer, "code")])
    facts.statuses += [status for status in code if status in _HTTP_ERRORS]
    facts.codes += [code for code in codes if code and isinstance(code, str)]
    for text in [_read(layer, key) for key in _KEYS["texts"]]:
        if text and isinstance(text, str):
            facts.texts.append(text)
        elif isinstance(text, list | tuple):
            # Some gateways send a message as a list of sentences.
            facts.texts.append(", ".join([item for item in text if isinstance(item, str)]))
    if isinstance(layer, BaseException):
        facts.codes.append(f"class:{type(layer).__name__}")
        with suppress(Exception):  # its __str__ may raise anything
            facts.texts.append(str(layer))


def _read(layer: object, key: str) -> Any:
    """Return a key or an attribute; None if it is missing or reading it raises."""
    if isinstance(layer, Mapping):
        return layer.get(key)
    try:
        return getattr(layer, key, None)
    except Exception:  # noqa: BLE001 - a property of a foreign class may raise anything
        return None


def _numbers(values: Sequence[Any]) -> list[int]:
    found = [int(v) if isinstance(v, str) and _STATUS.fullmatch(v) else v for v in values]
    return [one for one in found if isinstance(one, int) and not isinstance(one, bool)]


def describe(error: Exception) -> str:
    """Return the message and other details of a failed call, without secrets.

    Those are the error's own ``details`` if it has some, otherwise HTTP status, error code and
    response, in the order that users of Roo Code know from its error reports.
    """
    text = f"Error: {error}"
    if details := _read(error, "details"):
        return make_safe(f"{text}\n\n{details}")
    if status := _read(error, "status") or _read(error, "status_code"):
        text += f"\n\nHTTP Status: {status}"
    if code := _read(error, "code"):
        text += f"\nError Code: {code}"
    for title, name in (("API Response", "response"), ("Response Body", "body")):
        if value := _read(error, name):
            try:
                told = "\n" + json.dumps(value, indent=2, ensure_ascii=False)
            except (TypeError, ValueError, RecursionError):
                told = " [Unable to serialize]"
            text += f"\n\n{title}:{told}"
    return make_safe(text)


def make_safe(text: str) -> str:
    """Return the text with keys and tokens blotted out, cut after ``MAX_DETAILS`` characters."""
    for secret in _SECRETS:
        text = secret.sub("[redacted]", text)
    if len(text) > MAX_DETAILS:
        return f"{text[:MAX_DETAILS]}\n[{len(text) - MAX_DETAILS} more characters]"
    return text
