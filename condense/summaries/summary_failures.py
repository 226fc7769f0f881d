"""Failed calls: is one a context overflow, and its technical details, safe to store.

Told without importing any SDK: every vendor says it in other words and other places: as an HTTP
status, a code, a sentence, a nested body, in the middle of a stream, or as a reply's stop reason.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

# A response body can echo the whole prompt; a bug report needs its beginning.
MAX_DETAILS = 10_000  # characters
_SECRETS = (
    re.compile(r"\b(?:sk|pk|rk|key)-[A-Za-z0-9_-]{12,}"),
    re.compile(r"(?i)(?<=bearer )[A-Za-z0-9._~+/=-]{8,}"),
    re.compile(r"""(?i)(?<=["']x-api-key["']: ["'])[^"']+"""),
    re.compile(r"""(?i)(?<=["']api_key["']: ["'])[^"']+"""),
)
MAX_DEPTH = 6
BAD_REQUEST, TOO_LARGE, MISSING = 400, 413, None
_NO_ERROR, _HTTP_ERRORS = range(100, 400), range(400, 600)
_STATUS = re.compile(r"\d{3}", re.ASCII)

_STATUS_KEYS = ("status", "status_code", "http_status", "httpStatusCode", "HTTPStatusCode")
_CODE_KEYS = (
    "code", "type", "name", "Code", "error_type", "stop_reason", "stopReason", "finish_reason",
)  # fmt: skip
_TEXT_KEYS = ("message", "Message", "msg", "detail", "details", "raw", "error", "reason", "body")
_NESTED_KEYS = (
    "error", "body", "response", "metadata", "detail", "details", "errors", "cause", "raw",
    "$metadata", "ResponseMetadata", "Error", "__cause__", "exceptions", "choices", "delta",
)  # fmt: skip

# An error may quote a whole prompt. So no word runs on without an end, and where one word must come
# after another, the line is read once: atomic groups from its beginning find the first of each.
_CODES = re.compile(
    r"context_(length|window)_exceeded|exceed_context_size|request_too_large"
    r"|prompt_tokens_exceeded|ContextWindowExceeded|^LengthFinishReasonError$"
)
_RATE_CODES = re.compile(r"rate.?limit|throttl|quota|overloaded|TooManyRequests", re.IGNORECASE)
_RATE_TEXT = re.compile(
    r"rate.?limit|per[ _-]?(minute|min\b|hour|day|second)|tokens?/(min|hour|day|sec)|last minute"
    r"|\b(TPM|RPM|TPD)\b|quota|please wait|throttl",
    re.IGNORECASE,
)
# About one parameter or credential, which no smaller context would mend.
_OTHER_CAUSE = re.compile(
    r"\A(?!.*(context|prompt|input (length|tokens?)\b)).*max_(output_|completion_|new_)?tokens"
    r"|maximum allowed number of output tokens|invalid (auth\w* |access |api )?token",
    re.IGNORECASE | re.DOTALL,
)
# Too large, too many or too dear: something else than the prompt's tokens.
_OTHER_THING = re.compile(
    r"\b(images?|files?|attachments?|audio|videos?|credits?|afford|tools|lifetime|budget)\b"
    r"|maximum tokens you requested|(string|array) too long|range of max_"
    r"|\bmax_\w{0,12}tokens\W{0,3} (value|must be|is too large:)",
    re.IGNORECASE,
)
# A rate limit that this request alone is above, however long it waits.
_NEVER_PASSES = re.compile(
    r"too large .{0,150}tokens? per .{0,80}\blimit:? (\d[\d,]*).{0,40}requested:? (\d[\d,]*)",
    re.IGNORECASE,
)
# Says it beyond doubt, whatever the status is, unless that speaks of something else.
_PLAIN = re.compile(
    r"""
      (prompt|input|context|conversation|messages?)(\ (is|are))?\ too\ (long|large)\b
    | context[_ ](length|window)[_ ]exceeded
    | exceed\w{0,3}\ (the\ |this\ |model'?s?\ |its\ |available\ |max\w{0,4}\ |configured\ )*
      (context|prompt|input|token)[ _](length|window|size|limit)
    | context\ (length|window|size|limit)\ (\w{1,20}\ ){0,2}exceed
    | longer\ than\ the\ (model'?s\ )?(maximum|context)
    | maximum\ (context|prompt|input|model)\ length\ (is|of)\ \d
    | \d\ maximum\ context\ length
    | ^(?>.*?(token\ count|input\ tokens|input\ length)\b).*\bexceed(s|ed)?\b
    | input\ token\ count\ is\ \d+\ but
    | reduce\ the\ (length|size)\ of\ the\ (messages|prompt|input)
    | `?inputs`?\ tokens\ \+\ `?max_new_tokens
    | ^(?>.*?tokens?\ to\ keep\ ).*\bcontext
    | keep\ the\ first\ \d+\ tokens\ when\ context
    | truncate\ prompt\ with\ n_keep
    | expected\ maxLength:\ \d{5,}
    | prompt:\ length:\ 1\.\.\d
    | request\ payload\ size\ exceeds
    | exceed\w{0,3}\ model\ token\ limit
    | prompt\ exceeds\ max\ length
    | range\ of\ input\ length\ should\ be
    | too\ many\ (input|prompt)\ tokens
    | tokens\ in\ the\ prompt\ cannot\ exceed
    | tokens\ in\ request\ more\ than\ max
    | max_tokens\ must\ be\ at\ least\ 1,\ got\ -
    | total\ tokens\b.{0,40}\bexceed | has\ [\d,]+\ tokens,\ but\b
    | exceed\ max\ message\ tokens | reached\ context\ length\ of | prompt\ 超长
    | tokens?\ indices\ sequence\ length\ is\ longer | max\ input\ characters\ is\ \d
    | (输入|上下文|请求|token|提示词).{0,12}(超过|超出|超限|过长)
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
# Enough in an HTTP 400 or an error that carries no status at all.
_LIKELY = re.compile(
    r"""
      \bcontext\s*(length|window)\b
    | \bmaximum\s*context\b
    | \b(input\s*)?tokens?\s*exceed
    | \btoo\s*many\s*tokens?\b
    | \b(prompt|context|input|sequence|conversation|messages|tokens|body)\b[^.;'"]{0,60}
      \b(exceed(s|ed)?|too\ (long|large|big|many)|(long|larg|great)er\ than|(less|more)\ than)\b
    | \b(exceed(s|ed)?|too\ many|(long|larg|great)er\ than|(less|more)\ than)\b[^.;'"]{0,60}
      \b(tokens|context|prompt|max_seq_len|session_len)\b
    """,
    re.IGNORECASE | re.VERBOSE | re.ASCII,
)
# Enough where an "invalid_request_error" says it.
_INVALID_REQUEST = re.compile(
    r"^(?>.*?maximum).*tokens|^(?>.*?context)(?>.*?too).*long|^(?>.*?exceeds).*context"
    r"|^(?>.*?token).*limit",
    re.IGNORECASE | re.MULTILINE,
)

# What stands before the tokens that a model takes, or behind them; no size in other units.
_WINDOW = re.compile(
    r"""
    (?: [<>]=?\s | n_ctx\s\( | max_prompt_tokens\s\( | input\stokens:\s | cannot\sexceed\s
      | \[1,\s | up\sto\s | allowed\s\( | (?<!exceeds\ )limit(\sof|:)?\s\(? | (less|more)\sthan\s
      | (max_seq|session)_len\ (of\ )?\(? | max\ size:\ | 最大长度\s?
      | (context|prompt|model|input)\ (length|size|window)(\ is|\ of(\ only)?|:)?\ \(? )
    (?P<before>\d[\d,]{3,9})\b(?!\ ?(\+|bytes|char)|\)?\ (is\ greater|exceeds))
    | \b(?P<behind>\d[\d,]{3,9})\ maximum\ context\ length
    """,
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(slots=True)
class _Facts:
    """What an error says about itself, gathered from all its layers, outermost first."""

    statuses: list[int] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


_SCALARS = (str, bytes, bool, int, float, type(None))


def is_context_overflow(error: object) -> bool:
    """Whether an exception, error body or reply says that the context window was exceeded.

    Never true for a rate limit that waiting helps, nor for one parameter's range.
    """
    facts = _gather(error)
    codes, texts, status = facts.codes, facts.texts, next(iter(facts.statuses), MISSING)
    if any(asked > limit for limit, asked in _rates(texts)):
        return True
    if any(map(_RATE_CODES.search, codes)) or any(map(_RATE_TEXT.search, texts)):
        return False
    other = any(map(_OTHER_THING.search, texts))
    if any(map(_CODES.search, codes)) or (status == TOO_LARGE and not other):
        return True
    if status not in {BAD_REQUEST, MISSING, 422, 500, 502}:
        return False
    if any(map(_PLAIN.search, texts)):
        return True
    invalid = "invalid_request_error" in codes and any(map(_INVALID_REQUEST.search, texts))
    likely = invalid or any(map(_LIKELY.search, texts))
    may_be = status in {BAD_REQUEST, MISSING} and not any(map(_OTHER_CAUSE.search, texts))
    return likely and may_be and not other


def _rates(texts: Sequence[str]) -> list[list[int]]:
    """Return limits of tokens for a time, each with what one request has asked for."""
    found = filter(None, map(_NEVER_PASSES.search, texts))
    return [[int(number.replace(",", "")) for number in one.groups()] for one in found]


def named_window(error: object) -> int | None:
    """Return the tokens that a model takes, as a context overflow names them; None without any."""
    found = next(filter(None, map(_WINDOW.search, _gather(error).texts)), None)
    return int((found["before"] or found["behind"]).replace(",", "")) if found else None


def _gather(error: object) -> _Facts:
    facts, seen, layers = _Facts(), set[int](), [(error, 0)]
    while layers:
        layer, depth = layers.pop(0)
        if isinstance(layer, _SCALARS) or id(layer) in seen or depth > MAX_DEPTH:
            continue
        seen.add(id(layer))
        _note(layer, facts)
        inner = layer if isinstance(layer, Sequence) else [_read(layer, k) for k in _NESTED_KEYS]
        layers += [(one, depth + 1) for one in inner]
    return facts


def _note(layer: object, facts: _Facts) -> None:
    # An error in the middle of a stream arrives under the 200 the stream began with.
    given = _numbers([_read(layer, key) for key in _STATUS_KEYS])
    facts.statuses += [status for status in given if status not in _NO_ERROR]
    codes = [_read(layer, key) for key in _CODE_KEYS]
    code = _numbers([_read(layer, "code")])
    facts.statuses += [status for status in code if status in _HTTP_ERRORS]
    facts.codes += [code for code in codes if code and isinstance(code, str)]
    for text in [_read(layer, key) for key in _TEXT_KEYS]:
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
    """Return a key or an attribute; None where it is missing or reading it raises."""
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
    """Return the message and what else is known of a failed call, without secrets.

    That is the error's own ``details`` where it has some, otherwise HTTP status, error code and
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
    """Return the text with keys and tokens blotted out, cut where it gets long."""
    for secret in _SECRETS:
        text = secret.sub("[redacted]", text)
    if len(text) > MAX_DETAILS:
        return f"{text[:MAX_DETAILS]}\n[{len(text) - MAX_DETAILS} more characters]"
    return text
