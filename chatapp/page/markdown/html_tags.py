"""HTML in markdown: a tag counts only with its partner in the same block."""

import re
import tomllib
from collections.abc import Sequence
from html import escape, unescape
from itertools import zip_longest
from pathlib import Path

from markdown_it.token import Token

_TABLE = tomllib.loads(Path(__file__).with_name("html_tags.toml").read_text("utf-8"))
_ELEMENTS = {
    tag: {"itself": tag, "nothing": ""}.get(element, element)
    for element, tags in _TABLE.items() for tag in tags
}  # fmt: skip
DRAWN = frozenset(filter(None, _ELEMENTS.values()))
_LAYOUT = "|".join([name for name, element in _ELEMENTS.items() if not element])
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)[^<>]*>", re.IGNORECASE)
_ADDRESS = re.compile(r"""\s(?:src|href)=["']?(https?://[^/"'\\\s][^"'\s>]*)""", re.IGNORECASE)
# What only lays out, at the beginning of a line, and what a fold that begins there is called.
LAYOUT = re.compile(
    r"(?im)<details[^<>]*>\s*<summary[^<>]*>\s*([^\n]{0,300}?)\s{0,9}</summary>[ \t]*(?=(\S)?)"
    r"|</details>(?=[ \t]*(?:<|$))"
    rf"|^[ \t]*(?:(?:</?(?:{_LAYOUT})(?:\s[^<>]*)?/?>|<!--[^<>]*-->)[ \t]*)+$"
)
# What begins a line behind itself.
_BLOCKS = {"dd", "div", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "p"}
_MAX_DEPTH = 20  # tags in one another


def place_tags(tokens: Sequence[Token], *, is_open: bool) -> None:
    """Turn HTML in a block's tokens into elements; an open block may still get its end."""
    opened: list[tuple[str, Token]] = []
    for token, behind in zip_longest(tokens, tokens[1:]):
        if token.type != "html_inline":
            continue
        written, tag = token.content, _TAG.fullmatch(token.content)
        name = tag[2].lower() if tag else ""
        token.content = escape(written)
        if written.startswith("<!--") or name in {"br", "hr", "wbr"}:
            token.content = "<br>" if name == "br" else ""
        elif name == "img" and (image := _ADDRESS.search(written)):
            token.type, token.attrs, token.children = "image", {"src": unescape(image[1])}, []
        elif tag and not tag[1] and name in _ELEMENTS and len(opened) < _MAX_DEPTH:
            opened.append((name, token))
        elif tag and tag[1] and name in [one for one, _ in opened]:
            while (opening := opened.pop())[0] != name:
                pass
            element = _ELEMENTS[name]
            if name == "a":
                _link(opening[1], token)
                continue
            opening[1].content = element and f"<{element}>"
            token.content = element and f"</{element}>"
            ends = behind is None or behind.type == "softbreak" or behind.content.startswith("</")
            token.content += "<br>" * (name in _BLOCKS and not ends)
    for _, token in opened if is_open else ():
        token.content = ""


def _link(opening: Token, closing: Token) -> None:
    """Make a pair of tags a link, unless that leads to no page."""
    if address := _ADDRESS.search(unescape(opening.content)):
        opening.type, opening.attrs = "link_open", {"href": unescape(address[1])}
        closing.type = "link_close"
        opening.tag = closing.tag = "a"
        opening.nesting, closing.nesting = 1, -1
