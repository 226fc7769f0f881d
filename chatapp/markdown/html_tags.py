"""HTML in markdown: tags count with their other in the same block, so none reaches further."""

import re
import tomllib
from collections.abc import Sequence
from html import escape, unescape
from pathlib import Path

from markdown_it.token import Token

_ELEMENTS = tomllib.loads(Path(__file__).with_name("html_tags.toml").read_text("utf-8"))
DRAWN = frozenset(filter(None, _ELEMENTS.values()))
_LAYOUT = "|".join([name for name, element in _ELEMENTS.items() if not element])
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)[^<>]*>", re.IGNORECASE)
_IMAGE = re.compile(r"""\ssrc=["']?(https?://[^/"'\\\s][^"'\s>]*)""", re.IGNORECASE)
# What only lays out, at the beginning of a line, and what a fold that begins there is called.
LAYOUT = re.compile(
    r"(?im)<details[^<>]*>\s*<summary[^<>]*>([^\n]{0,300}?)</summary>"
    rf"|^[ \t]*(?:(?:</?(?:{_LAYOUT})(?:\s[^<>]*)?/?>|<!--[^<>]*-->)[ \t]*)+$"
)
_MAX_DEPTH = 20  # tags in one another


def place_tags(tokens: Sequence[Token], *, is_open: bool) -> None:
    """Make HTML in a block's tokens what is drawn; while it is open, what closes it may come."""
    opened: list[tuple[str, Token]] = []
    for token in [one for one in tokens if one.type == "html_inline"]:
        written, tag = token.content, _TAG.fullmatch(token.content)
        name = tag[2].lower() if tag else ""
        token.content = escape(written)
        if written.startswith("<!--") or name in {"br", "hr", "wbr"}:
            token.content = "<br>" if name == "br" else ""
        elif name == "img" and (image := _IMAGE.search(written)):
            token.type, token.attrs, token.children = "image", {"src": unescape(image[1])}, []
        elif tag and not tag[1] and name in _ELEMENTS and len(opened) < _MAX_DEPTH:
            opened.append((name, token))
        elif name in [one for one, _ in opened]:
            while (opening := opened.pop())[0] != name:
                pass
            element = _ELEMENTS[name]
            opening[1].content = element and f"<{element}>"
            token.content = element and f"</{element}>"
    for _, token in opened if is_open else ():
        token.content = ""
