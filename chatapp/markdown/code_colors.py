"""Code to HTML with pygments' short class names; `static/css/code.css` colours them."""

import functools
import re
import time
from html import escape

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES, _TokenType
from pygments.util import ClassNotFound

# Larger code stays plain: characters in all, and in a line.
MAX_CODE = 50_000
MAX_LINE = 2_000

# Most lexers need quadratic time for some text: of processor time they get several times what code
# takes, in seconds for a block and for each of its characters.
_SECONDS = 0.2
_SECONDS_EACH = 0.000_02

_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")


def read_language(info: str) -> str:
    """Return the language a fence names, in lower case, or an empty string."""
    match = _LANGUAGE.match(info.strip())
    return match.group().lower() if match else ""


def highlight_code(code: str, language: str) -> str:
    """Return the code as escaped HTML, in colour where the language is known and the size sane."""
    if not language or len(code) > MAX_CODE or max(map(len, code.split("\n"))) > MAX_LINE:
        return escape(code)
    return _highlight(code, language)


# While a long list streams, its finished code blocks are asked for again and again.
@functools.lru_cache(maxsize=32)
def _highlight(code: str, language: str) -> str:
    lexer = _find_lexer(language)
    if lexer is None:
        return escape(code)
    html = []
    end = time.thread_time() + _SECONDS + len(code) * _SECONDS_EACH
    for kind, text in lexer.get_tokens(code):
        name = _class_name(kind)
        html.append(f'<span class="{name}">{escape(text)}</span>' if name else escape(text))
        if time.thread_time() > end:
            return escape(code)
    return "".join(html)


# An unknown name makes pygments search all installed packages, so misses are remembered too.
@functools.lru_cache(maxsize=256)
def _find_lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@functools.cache
def _class_name(kind: _TokenType) -> str:
    while kind not in STANDARD_TYPES and kind.parent is not None:
        kind = kind.parent
    return STANDARD_TYPES.get(kind, "")
