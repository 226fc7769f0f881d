"""Errors of calls, for every vendor: sentences for people and facts for handlers.

Servers send some as a success: in a stream, in a choice of it, or as its end.
"""

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import condense
from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.project.network import HOST_SILENT as NOT_IN_TIME
from chatapp.project.network import PASSING, PROXIED, host_of, why_unreached
from condense import noop, say

PROVIDER_SILENT = noop("The provider stopped answering.")
BROKE_OFF = noop("The stream broke off before the reply was complete.")
DECLINED = noop("The model declined to answer this.")
NO_MODEL = noop("{host} answered, but not as a model does. Check the base URL in Profiles.")
EMPTY = noop("The model sent an empty answer.")
ONLY_THOUGHT = noop("The model reached the longest allowed length before it answered.")
NO_KEY = noop("There is no API key for this profile. Enter one in Profiles.")
REDIRECTED = noop(
    "{host} redirects to another address. Your key and conversation were not sent "
    "there. Enter the final address in Profiles."
)
UNREACHED = noop("The provider could not be reached at {host}. {why}")

BAD_REQUEST, UNAUTHORIZED, SERVER_ERROR = 400, 401, 500
_RETRYABLE = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
_SENTENCES = {
    401: noop("The provider did not accept the API key. Check it in Profiles."),
    402: noop("The provider account cannot pay for this call. Check its billing."),
    403: noop("This API key may not use this model or feature."),
    404: noop(
        "The provider does not know the model {model}. Check it, and the base URL, in Profiles."
    ),
    407: PROXIED,
    429: noop("The provider's rate limit is reached."),
    529: noop("The provider is overloaded at the moment."),
}
# Of a profile's key, or of the model and the address that it names.
_OF_THE_PROFILE = {
    NO_MODEL,
    NO_KEY,
    REDIRECTED,
    UNREACHED,
    *[_SENTENCES[one] for one in (401, 403, 404)],
}
# Fewer words of a provider say nothing that the sentence for its status does not.
FEW_WORDS = 3
LONGEST_BODY = 10_000
_WAIT = re.compile(
    r"(?:again|retry(?:.?(?:delay|after(?:.seconds)?))?)[\W_]{1,6}"
    r"(?:(?:in|after) )?(?:about )?(?=\d)"
    r"(?:(\d{1,6}) ?h(?:(?:ou)?rs?)?,? ?)?(?:(\d{1,6}) ?m(?:in\w*)?(?![a-z]),? ?)?"
    r"(?:(\d{1,9}(?:\.\d{1,9})?)(?: ?(ms|s(?:ec\w*)?)\b|(?=[,}])))?",
    re.IGNORECASE,
)
# A longer wait is no wish: it is a mistake, or a number that no clock can take.
_LONGEST_WISH = 366 * 24 * 3600.0
# Ends of an answer that are failures, and those that are refusals, however a server names them.
FAILED_END = re.compile(
    r"(?i)error|fail|abort|cancel|network|malformed|time.?out|insufficient|overload"
)
REFUSED_END = re.compile(
    r"(?i)content|safety|sensitiv|refus|recitation|prohibit|block|spii|moderat|guard"
)
# The status that an error's code, type or sentence stands for.
_WORDINGS = {
    402: r"(insufficient|not enough|\bno|out of).{0,20}(balance|credit|fund|quota)|in arrears"
    r"|payment required|billing|余额|欠费|充值",
    429: r"rate.?limit|too many requests|throttl|\b[TR]P[MD]\b|quota|exhausted|限流|频率|频繁|并发",
    529: r"overload|at capacity|server.{0,9}busy|try again later|过载|繁忙",
    401: r"(invalid|incorrect|missing|expired).{0,20}api.?key|unauthori[sz]ed|authentication",
    403: r"permission",
    404: r"not.found",
    400: r"invalid.request|context|too (long|large)|maximum|filter|safety|sensitiv|content.policy"
    r"|inappropriate|data.?inspection|risk.control|敏感|违规",
}
_SAYING = ("message", "Message", "msg", "detail", "error_msg", "errmsg", "status_msg", "errors")
_KEYS = frozenset(_SAYING)
_QUOTED = re.compile(r'\s*\{.*?"message":\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)
_PAGE = re.compile(
    r"\s*<(?:!doctype|html|head|\?xml)\b(?:.{0,5000}?<(?:title|h1)[^>]*>([^<]*))?",
    re.IGNORECASE | re.DOTALL,
)


class ErrorEvent(Exception):
    """The stream reported that the call failed; ``body`` is its report."""

    def __init__(self, body: object) -> None:
        super().__init__(str(body))
        self.body = body


class Undocumented(ValueError):
    """An event is not of the shape that the API's documentation gives it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A vendor's refusal of a call, before the reply or in the middle of it."""

    status: int  # HTTP status, of the error itself if it came in a stream
    said: str
    type: str = ""
    answered: int = 0  # the response's HTTP status
    request_id: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: object = None


@dataclass(frozen=True, slots=True)
class CallTarget:
    """The model and the host of a call, and the environment's proxy to it."""

    model: str
    host: str
    proxy: str | None = None


def no_reply(asked: CallTarget, details: str = "") -> ProviderError:
    """Return the error for a server that answers, but not as its API does."""
    return ProviderError(NO_MODEL.format(host=asked.host), details=details, profile_at_fault=True)


def explain_refusal(error: Exception, refusal: Refusal, asked: CallTarget) -> ProviderError:
    """Return the error for a call that the vendor refused; its details are for a bug report."""
    status, said = refusal.status, refusal.said
    # Members must not read the address of an operator's profile.
    quoted = said.replace(asked.host, "…") if asked.host else said
    lines = [f"model: {asked.model}", f"host: {asked.host}", f"HTTP status: {refusal.answered}"]
    lines += [f"error type: {refusal.type}"] if refusal.type else []
    lines += [f"request id: {refusal.request_id}"] if refusal.request_id else []
    lines.append(f"message: {said}")
    if 300 <= refusal.answered < 400:  # noqa: PLR2004 - the redirects
        redirected = REDIRECTED.format(host=asked.host)
        lines.append(f"redirects to: {host_of(refusal.headers.get('location', ''))}")
        details = "\n".join(lines)
        return ProviderError(redirected, status=status, details=details, profile_at_fault=True)
    details = "\n".join(lines)
    if condense.is_context_overflow(error):
        too_long = say("The prompt does not fit the model's context window: {said}", said=quoted)
        overflow = ContextOverflow(too_long, status=status, details=details)
        overflow.window = condense.named_window(error)
        return overflow
    sentence = _SENTENCES.get(status, "").format(model=asked.model)
    if not sentence and status >= SERVER_ERROR:
        sentence = say("The provider has a problem of its own (HTTP {status}).", status=status)
    # Of a key its sentence says enough. In a success nothing but its words tells what it is.
    is_told = status != UNAUTHORIZED and len(said.split()) > FEW_WORDS
    if sentence and (refusal.answered < 300 or is_told):  # noqa: PLR2004
        sentence = say("{error} The provider said: {said}", error=sentence, said=quoted)
    return ProviderError(
        sentence or say("The provider refused the request: {said}", said=quoted),
        retryable=status in _RETRYABLE,
        retry_after=retry_after(refusal.headers, f"{said} {refusal.body}"),
        status=status,
        details=details,
        profile_at_fault=is_of_profile(sentence),
    )


def explain_loss(error: Exception, asked: CallTarget, *, started: bool) -> ProviderError:
    """Return the error for a call that got no answer, or no whole one."""
    chain = [error, error.__cause__ or error.__context__]
    lines = [f"{type(one).__name__}: {one}" for one in chain if one is not None]
    details = "\n".join([f"model: {asked.model}", f"host: {asked.host}", *lines])
    why = why_unreached(error, asked.proxy)
    if why == NOT_IN_TIME:
        return ProviderError(PROVIDER_SILENT, retryable=True, details=details)
    if started:
        return ProviderError(BROKE_OFF, retryable=True, details=details)
    if isinstance(error, ValueError):
        return no_reply(asked, details)
    return ProviderError(
        say(UNREACHED, host=asked.host, why=why),
        retryable=why in PASSING,
        details=details,
        profile_at_fault=True,
    )


def is_of_profile(error: str) -> bool:
    """Return True if a change of the profile mends this error, or one that it contains."""
    return not _OF_THE_PROFILE.isdisjoint(condense.templates_in(error))


def retry_after(headers: Mapping[str, str], said: str = "") -> float | None:
    """Return the seconds a response asks to wait: in milliseconds, in seconds, or until a date.

    Without a header the words that it ``said`` count. A wait that nobody can mean is none; neither
    nan nor infinity is one.
    """
    seconds = math.nan
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        with suppress(ValueError):
            seconds = float(headers.get(name, "")) / unit
            break
    else:
        with suppress(ValueError, OverflowError):
            until = parsedate_to_datetime(headers.get("retry-after", ""))
            # A date of -0000 says that it knows no zone; such dates are in UTC.
            until = until if until.tzinfo else until.replace(tzinfo=UTC)
            seconds = (until - datetime.now(UTC)).total_seconds()
    if math.isnan(seconds) and (found := _WAIT.search(said[:LONGEST_BODY])) and any(found.groups()):
        hours, minutes, number, scale = found.groups(default="0")
        seconds = float(number) / (1000 if scale.lower() == "ms" else 1)
        seconds += int(hours) * 3600 + int(minutes) * 60
    return max(0.0, seconds) if seconds <= _LONGEST_WISH else None


def error_in(said: object) -> object:
    """Return the error that a value of a stream holds, or None."""
    if not isinstance(said, dict):
        return None
    choices, base = said.get("choices"), said.get("base_resp")
    choice = choices[0] if isinstance(choices, list) and choices else None
    choice = choice if isinstance(choice, dict) else {}
    inner, delta = choice.get("delta"), said.get("delta")
    for place in (said, choice, inner, said.get("response")):
        if isinstance(place, dict) and (why := place.get("error")):
            return said if why is True else why
    if isinstance(base, dict) and isinstance(code := base.get("status_code"), int) and code:
        return base
    end = choice.get("finish_reason") or (isinstance(delta, dict) and delta.get("stop_reason"))
    if isinstance(end, str) and FAILED_END.search(end):
        return {"message": f"finish_reason: {end}"}
    if _KEYS.isdisjoint(said) or choices or str(said.get("code")) in {"0", "200"}:
        return None
    return said if any(isinstance(said.get(key), str | list) for key in _SAYING) else None


def said_in(body: object) -> str:
    """Return the sentence in an error's body."""
    match body:
        case {"message": str(text), "metadata": {"raw": str(raw)}}:
            # The words of the server behind a gateway.
            return f"{text.strip()} {said_in(raw)}".strip()
        # One finding of a validator: where it is, and what is wrong.
        case {"loc": [*where], "msg": str(text)}:
            return f"{'.'.join(map(str, where))}: {text}"
        case str(text):
            # Of a web page, its title.
            text = text[:LONGEST_BODY]
            found = _PAGE.match(text) or _QUOTED.match(text)
            return (found[1] or "" if found else text).strip()
        case [*items]:
            return "; ".join(filter(None, map(said_in, items)))
        case Mapping():
            return next(filter(None, (said_in(body.get(key)) for key in ("error", *_SAYING))), "")
    return ""


def refusal_of(body: object, answered: int, headers: Mapping[str, str], request_id: str) -> Refusal:
    """Return the refusal that an error's body holds, in any of the usual shapes."""
    # A success that is none has the status that the same refusal would have had.
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    named = map(inner.get, ("code", "type", "status")) if isinstance(inner, Mapping) else ()
    words = [str(word)[:LONGEST_BODY] for word in named if isinstance(word, str | int)]
    found = [int(word) for word in words if re.fullmatch("[45][0-9]{2}", word)]
    said = said_in(body)[:LONGEST_BODY] or " ".join(words) or f"HTTP {answered}"
    for sentence in (" ".join(words), said):
        found += [one for one, how in _WORDINGS.items() if re.search(f"(?i){how}", sentence)]
    status = next(iter(found), SERVER_ERROR) if answered < 300 else answered  # noqa: PLR2004
    status = 402 if "insufficient_quota" in words else status
    kind, id_ = next((word for word in words if not word.isdigit()), ""), headers.get(request_id)
    return Refusal(status, said, kind, answered, id_, headers, body)
