"""What replies state as a result: figures with a unit or a sign, amounts, dates and codes."""

import re
from collections.abc import Iterator

from condense.receipts.wording import own_words

AROUND = 40  # characters on each side with which a figure was said
UNITS = (
    "ms|s|sec|seconds?|min|minutes?|h|hours?|days?|weeks?|months?|years?|kb|mb|gb|tb|kib|mib|gib|kg|g"
    "|km|m|cm|mm|°c|hz|mhz|ghz|kw|kwh|rows?|tokens?|users?|people|persons?|votes?|requests?|usd|eur"
    "|euros?|dollars?|stunden?|tage?|tagen|wochen?|monate?|stimmen|zeilen|jours|heures|días|horas"
)
_MONTHS = (
    "jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli"
    "|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|okt(?:ober)?|nov(?:ember)?|de[cz](?:ember)?"
)
_FIGURES = re.compile(
    # An amount, a percentage, a number with its unit.
    r"[€$£¥]\s?\d[\d.,]{0,20}"
    rf"|\d(?<![\w.,/-]\d)(?:[\d.,]{{0,20}}\d)?\s?(?:[%€$£¥‰](?! sure)|(?:{UNITS})\b)"
    r"|\d(?:[\d.,]{0,20}\d)?\s?(?:万|亿|元|円|年|月\d{1,2}日|月|日間?|时|小时|时间"
    r"|時間?|分钟|分|秒|个\w{1,2}|人|台|دينار\w?)"
    # A date, and a code of capital letters and digits.
    r"|(?<![\w/-])\d{4}-\d\d-\d\d(?![\w-])"
    rf"|\b\d{{1,2}}\.? (?:{_MONTHS})\b|\b(?:{_MONTHS}) \d{{1,2}}\b"
    r"|(?<![\w/.-])(?=[\w-]{0,12}\d)(?=[\w-]{0,12}[A-Z])[A-Z0-9]{1,8}(?:-[A-Z0-9]{1,8}){1,3}\b"
    r"|(?<![\w/&])#\d{3,}\b",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_ASKS = re.compile(r"[^.!?\u3002\uff1f\u061f]{0,200}+[?\uff1f\u061f]")
_CODE = re.compile(r"[A-Z0-9]{1,8}(?:-[A-Z0-9]{1,8})+")


def results_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield each figure of a reply with the words around it; what a sentence asks is no result."""
    if not _DIGIT.search(text):
        return
    for line in filter(_DIGIT.search, own_words(text).split("\n")):
        for match in _FIGURES.finditer(line):
            figure = match.group().strip(" .,")
            is_code = "-" in figure and any(map(str.isalpha, figure))
            asks = _ASKS.match(line, match.end())
            if not asks and (not is_code or _CODE.fullmatch(figure)):
                yield figure, around(line, match.start(), match.end())


def around(text: str, start: int, end: int) -> str:
    """Return what stands at a place of a text, with the words beside it in its line."""
    first = max(start - AROUND, text.rfind("\n", 0, start) + 1)
    last = text.find("\n", end, end + AROUND)
    return text[first : last if last >= 0 else end + AROUND].strip()
