"""What replies state as a result: figures with a unit or a sign, amounts, dates and codes."""

import re
from collections.abc import Iterator

from condense.receipts.wording import own_words

LINE = 200  # characters in which a question ends
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
_CODE = re.compile(r"[A-Z0-9]{1,8}(?:-[A-Z0-9]{1,8})+")


def results_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield each figure of a reply with the words around it; what a line asks is no result."""
    if not any(map(str.isdigit, text)):
        return
    text = own_words(text)
    for match in _FIGURES.finditer(text):
        if _asks(text, match.end()):
            continue
        figure = match.group().strip(" .,")
        is_code = "-" in figure and any(map(str.isalpha, figure))
        if not is_code or _CODE.fullmatch(figure):
            yield figure, around(text, match.start(), match.end())


def _asks(text: str, end: int) -> bool:
    line, _, _ = text[end : end + LINE].partition("\n")
    return line.rstrip(" *_)").endswith(("?", "\uff1f", "\u061f"))


def around(text: str, start: int, end: int) -> str:
    """Return what stands at a place of a text, with the words beside it in its line."""
    first = max(start - AROUND, text.rfind("\n", 0, start) + 1)
    last = text.find("\n", end, end + AROUND)
    return text[first : last if last >= 0 else end + AROUND].strip()
