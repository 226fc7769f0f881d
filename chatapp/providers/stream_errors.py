"""Errors that servers send as a success: in a stream, in a choice of it, or as its end."""

import re
from collections.abc import Mapping

from chatapp.providers.call_errors import SERVER_ERROR, Refusal

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


def error_in(said: object) -> object:
    """Return the error that a value of a stream holds, or None."""
    if not isinstance(said, dict):
        return None
    choices, base = said.get("choices"), said.get("base_resp")
    choice = choices[0] if isinstance(choices, list) and choices else None
    choice = choice if isinstance(choice, dict) else {}
    inner, delta = choice.get("delta"), said.get("delta")
    for place in (said, choice, inner):
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
            found = _PAGE.match(text) or _QUOTED.match(text)
            return (found[1] or "" if found else text).strip()
        case [*items]:
            return "; ".join(filter(None, map(said_in, items)))
        case Mapping():
            return next(filter(None, (said_in(body.get(key)) for key in ("error", *_SAYING))), "")
    return ""


def refusal_of(body: object, answered: int, headers: Mapping[str, str], request_id: str) -> Refusal:
    """Return the refusal that an error's body holds, in any of the usual shapes.

    A success that is none has the status that the same refusal would have had.
    """
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    named = map(inner.get, ("code", "type", "status")) if isinstance(inner, Mapping) else ()
    words = [str(word) for word in named if isinstance(word, str | int)]
    found = [int(word) for word in words if re.fullmatch("[45][0-9]{2}", word)]
    said = said_in(body) or " ".join(words) or f"HTTP {answered}"
    for sentence in (" ".join(words), said):
        found += [one for one, how in _WORDINGS.items() if re.search(f"(?i){how}", sentence)]
    status = next(iter(found), SERVER_ERROR) if answered < 300 else answered  # noqa: PLR2004
    status = 402 if "insufficient_quota" in words else status
    kind, id_ = next((word for word in words if not word.isdigit()), ""), headers.get(request_id)
    return Refusal(status, said, kind, answered, id_, headers, body)
