"""HTML in markdown: tags that dress text are drawn, those that only lay it out are left out.

A tag counts only with its other in the same paragraph or cell, so none reaches any further.
"""

import re
from collections.abc import Iterable
from html import escape, unescape

from markdown_it.token import Token

# The element that each tag becomes; "" stands for none, but for what is between the tags.
DRAWN = frozenset("br code em kbd li mark ol rp rt ruby s small strong sub sup u ul".split())
_LAYOUT = "a|abbr|big|center|details|div|font|hr|p|section|span|wbr"
_ELEMENTS = {
    **{name: name for name in DRAWN},
    **dict.fromkeys(_LAYOUT.split("|"), ""),
    **dict.fromkeys("b summary h1 h2 h3 h4 h5 h6".split(), "strong"),
    **{"i": "em", "var": "em", "del": "s", "strike": "s", "ins": "u", "samp": "code", "tt": "code"},
}
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)[^<>]*>", re.IGNORECASE)
_SAID = re.compile(r"""\s(href|src|alt)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.I)

_SINGLE = frozenset({"br", "hr", "img", "wbr"})
# Tags in one another: no more than people write.
_MAX_DEPTH = 20

# An address without a scheme would lead into this application, with the reader's session.
SAFE_ADDRESS = re.compile(r"(?:https?://[^/\\]|mailto:.)", re.IGNORECASE)

# What only lays out, at the beginning of a line, and at the end of a text that is still written.
_ALONE = re.compile(
    rf"^[ \t]*(?:(?:</?(?:{_LAYOUT})(?:\s[^<>]*)?/?>|<!--[^<>]*-->)[ \t]*)+(?=\n|\Z|<summary)",
    re.IGNORECASE | re.MULTILINE,
)
_BEGUN = re.compile(rf"<(?:img|{_LAYOUT})\s+(?:[\w-]+=[^<>\n]{{0,300}})?\Z", re.IGNORECASE)


def drop_layout(text: str) -> str:
    """Return the text of a block without lines that only lay out what is around them."""
    return _ALONE.sub("", text) if "<" in text else text


def cut_tag(text: str) -> str:
    """Return a text without a tag at its end that is not whole yet."""
    return _BEGUN.sub("", text)


def place_tags(tokens: Iterable[Token], *, is_open: bool) -> None:
    """Make HTML in a block's tokens what is drawn; while it is open, what closes it may come."""
    opened: list[tuple[str, Token, str]] = []
    for token in tokens:
        tag = _TAG.fullmatch(token.content) if token.type == "html_inline" else None
        name = tag[2].lower() if tag else ""
        said = {key.lower(): unescape("".join(value)) for key, *value in _SAID.findall(token.content)}
        if token.type == "html_inline":
            token.content = "" if token.content.startswith("<!--") else escape(token.content)
        if name in _SINGLE:
            _draw_single(name, token, said)
        elif tag and not tag[1] and name in _ELEMENTS and len(opened) < _MAX_DEPTH:
            opened.append((name, token, said.get("href", "")))
        elif name in [one for one, *_ in opened]:
            while (opening := opened.pop())[0] != name:
                pass
            _draw_pair(opening, token)
    for _, token, _ in opened if is_open else ():
        token.content = ""


def _draw_single(name: str, token: Token, said: dict[str, str]) -> None:
    if name == "img" and SAFE_ADDRESS.match(said.get("src", "")):
        token.type, token.attrs = "image", {"src": said["src"]}
        token.children = [Token("text", "", 0, content=said.get("alt", ""))]
    elif name != "img":
        token.content = "<br>" if name == "br" else ""


def _draw_pair(opening: tuple[str, Token, str], end: Token) -> None:
    name, begin, address = opening
    element = _ELEMENTS[name]
    begin.content, end.content = (f"<{element}>", f"</{element}>") if element else ("", "")
    if name == "a" and SAFE_ADDRESS.match(address):
        begin.type, end.type, begin.nesting, end.nesting = "link_open", "link_close", 1, -1
        begin.tag = end.tag = "a"
        begin.attrs = {"href": address}
