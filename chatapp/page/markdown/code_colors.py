"""Code to HTML with pygments' short class names; `static/css/code.css` colours them."""

import functools
import itertools
import re
import time
from collections.abc import Iterator
from html import escape
from operator import itemgetter

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES, _TokenType
from pygments.util import ClassNotFound

# Characters of a part: code is coloured in parts, so that its length does not matter. A longer line
# stays plain.
MAX_PART = 10_000
MAX_COLORED_LINE = 2_000

# Most lexers need quadratic time for some texts, so their processor time is limited: seconds for a
# part, and for each of its characters.
_SECONDS = 0.2
_SECONDS_EACH = 0.000_02

# Tokens that the style sheet leaves in the colour of the text, such as names and operators.
_PLAIN = {"", "n", "nx", "o", "p", "pm", "w"}

_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")
_LONG_LINE = re.compile(rf"^([^\n]{{{MAX_COLORED_LINE + 1},}}\n?)", re.MULTILINE)
# Something new begins here more often than within a text of several lines.
_BREAK = re.compile(r"\n\n(?=\S)")


def read_language(info: str) -> str:
    """Return the language a fence names, in lower case, or an empty string."""
    match = _LANGUAGE.match(info.strip())
    return match.group().lower() if match else ""


def highlight_code(code: str, language: str) -> str:
    """Return the code as escaped HTML, in colour if the language is known.

    Long lines stay plain, and so does all from a part on that can't be coloured.
    """
    lexer = _find_lexer(language) if language else None
    if lexer is None or not code:
        return escape(code)
    html: list[str] = []
    parts = _cut(code)
    for part in parts:
        coloured = _highlight(part, lexer)
        html.append(escape(part) if coloured is None else coloured)
        if coloured is None:
            break
    html += map(escape, parts)
    # The browser leaves out parts that are out of view.
    return "".join(f'<span class="part">{one}</span>' for one in html) if html[1:] else html[0]


def _cut(code: str) -> Iterator[str]:
    """Yield the code in parts, each of whole lines; a long line is a part of its own."""
    for index, text in enumerate(_LONG_LINE.split(code)):
        start = 0
        while start < len(text):
            end = len(text) if index % 2 else start + MAX_PART
            if end < len(text):
                breaks = [one.end() for one in _BREAK.finditer(text, start + MAX_PART // 2, end)]
                end = breaks[-1] if breaks else text.rindex("\n", start, end) + 1
            yield text[start:end]
            start = end


# While a long list streams, its finished code blocks are asked for again and again.
@functools.lru_cache(maxsize=128)
def _highlight(part: str, lexer: Lexer) -> str | None:
    """Return a part as HTML, None if it takes too long, or the lexer leaves anything out."""
    if len(part) > MAX_COLORED_LINE and "\n" not in part[:-1]:
        return escape(part)
    html, read = list[str](), list[str]()
    end = time.thread_time() + _SECONDS + len(part) * _SECONDS_EACH
    tokens = ((_class_name(kind), text) for kind, text in lexer.get_tokens(part))
    for name, run in itertools.groupby(tokens, key=itemgetter(0)):
        text = ""
        for _, piece in run:
            text += escape(piece)
            read.append(piece)
            if time.thread_time() > end:
                return None
        html.append(f'<span class="{name}">{text}</span>' if name else text)
    return "".join(html) if "".join(read) == part else None


# An unknown name makes pygments search all installed packages, so misses are remembered too.
@functools.lru_cache(maxsize=256)
def _find_lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(
            "xml" if language == "svg" else language, stripnl=False, ensurenl=False
        )
    except ClassNotFound:
        return None


@functools.cache
def _class_name(kind: _TokenType) -> str:
    while kind not in STANDARD_TYPES and kind.parent is not None:
        kind = kind.parent
    name = STANDARD_TYPES.get(kind, "")
    return "" if name in _PLAIN else name
