"""Errors that servers send as a success: in a stream, in a choice of it, or as its end."""

import re
from collections.abc import Iterator, Mapping

from chatapp.providers.call_errors import SERVER_ERROR, ErrorEvent, Refusal

# Ends of an answer that are failures, and those that are refusals, however a server names them.
FAILED = re.compile(
    r"error|fail|abort|cancel|network|malformed|time.?out|insufficient|overload|unavailable"
    r"|exception|interrupt|unexpected",
    re.IGNORECASE,
)
DECLINED = re.compile(
    r"filter|safety|sensitiv|refus|recitation|prohibit|block|spii|moderat|guardrail|policy|risk",
    re.IGNORECASE,
)
# The status that an error's code, type or sentence stands for.
_WORDINGS = (
    (
        402,
        r"(insufficient|not enough|\bno|out of|exhausted).{0,20}(balance|credit|fund|quota)"
        r"|in arrears|payment required|billing|余额|欠费|充值",
    ),
    (429, r"rate.?limit|too many requests|throttl|\b[TR]P[MD]\b|quota|exhausted|限流|频率|频繁|并发"),
    (529, r"overload|at capacity|server.{0,9}busy|try again later|过载|繁忙"),
    (503, r"unavailable"),
    (504, r"time.?out"),
    (401, r"(invalid|incorrect|missing|expired).{0,20}api.?key|unauthori[sz]ed|authentication"),
    (403, r"permission"),
    (404, r"not.found"),
    (400, r"invalid.request|context|too (long|large)|maximum|filter|safety|sensitiv|content.policy"),
)
_SAYING = ("message", "msg", "detail", "error_msg", "status_msg", "errors", "errorMessage")
_FINE = (0, 200, "0", "200", "", None)


def error_in(said: object) -> object:
    """Return what a value of a stream says of the call's failure, None where it says nothing."""
    match said:
        case {"error": error} if error:
            return said if error is True else error
        case {"base_resp": {"status_code": code} as error} if code not in _FINE:
            return error
        case {"choices": [{"error": error}, *_]} if error:
            return error
        case {"choices": [{"finish_reason": str(end)}, *_]} | {"delta": {"stop_reason": str(end)}}:
            failed = FAILED.search(end)
            return {"message": f"finish_reason: {end}", "code": end} if failed else None
        case {"choices": [_, *_]} | {"code": 0 | 200 | "0" | "200"}:
            return None
        case Mapping() if any(isinstance(said.get(key), str | list) for key in _SAYING):
            return said
    return None


def said_in(body: object) -> str:
    """Return the sentence in an error's body."""
    match body:
        case {"message": str(text), "metadata": {"raw": str(raw)}}:
            # What the server behind a gateway said.
            return f"{text.strip()} {raw}".strip()
        # One finding of a validator: where it is, and what is wrong.
        case {"loc": [*where], "msg": str(text)}:
            return f"{'.'.join(map(str, where))}: {text}"
        case str(text):
            return text.strip()
        case [*items]:
            return "; ".join(filter(None, map(said_in, items)))
        case Mapping():
            inner = (said_in(body[key]) for key in ("error", *_SAYING) if body.get(key))
            return next(filter(None, inner), "")
    return ""


def refusal_of(error: ErrorEvent, request_id: str) -> Refusal:
    """Return what the server said, with the status that the same refusal would have had."""
    said, words = said_in(error.body), [*_words(error.body)]
    numbers = [int(word) for word in words if re.fullmatch("[45][0-9]{2}", word)]
    sentences = (" ".join(words), said)
    worded = [
        status
        for sentence in sentences
        for status, wording in _WORDINGS
        if re.search(wording, sentence, re.IGNORECASE)
    ]
    status = next(iter([*numbers, *worded]), SERVER_ERROR)
    return Refusal(
        status,
        said=said or f"HTTP {status}",
        type=next((word for word in words if not word.isdigit()), ""),
        answered=200,
        request_id=error.headers.get(request_id),
        headers=error.headers,
        body=error.body,
    )


def _words(body: object) -> Iterator[str]:
    """Yield the codes, types and statuses in an error's body, those of the inner one first."""
    if isinstance(body, Mapping):
        yield from _words(body.get("error"))
        keys = ("code", "type", "status", "status_code")
        yield from (str(body[key]) for key in keys if type(body.get(key)) in (str, int))
