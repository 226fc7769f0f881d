"""HTML in markdown: tags that dress text are drawn, and those that only lay it out are left out.

A tag counts only with its other in the same paragraph or cell, so none reaches any further.
"""

import re
from collections.abc import Sequence
from html import unescape
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

# Key in the environment: blocks that reach this line are still being written.
OPEN_AT_LINE = "open_at_line"

_LAYOUT = "a abbr big center details div font hr img p section span wbr !".split()
# The element that each tag becomes; "" stands for none, but for what is between the tags.
DRAWN = frozenset("br code em kbd li mark ol rp rt ruby s small strong sub sup u ul".split())
_ELEMENTS = {
    **{name: name for name in DRAWN},
    **dict.fromkeys("b summary h1 h2 h3 h4 h5 h6".split(), "strong"),
    **{"i": "em", "var": "em", "del": "s", "strike": "s", "ins": "u", "samp": "code", "tt": "code"},
    **dict.fromkeys(_LAYOUT, ""),
}
_SINGLE = frozenset({"br", "hr", "img", "wbr", "!"})
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)(?:\s[^<>]{0,1000})?/?>|<(!)--.*?-->", re.I | re.DOTALL)
_ATTRIBUTE = re.compile(r"""\s(href|src|alt)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.I)

# The end of a text that may become such a tag.
_BEGUN = re.compile(rf"<(?:{'|'.join(_LAYOUT)})\s+(?:[\w-]+=[^<>\n]{{0,300}})?\Z", re.I)

# Tags in one another: no more than people write.
_MAX_DEPTH = 20


def add_tags(parser: MarkdownIt) -> None:
    """Let the parser draw the tags that are known."""
    parser.inline.ruler.before("autolink", "tag", _read_tag)
    parser.core.ruler.after("inline", "tags", _place_tags)


def cut_tag(text: str) -> str:
    """Return a text without a tag at its end that is not whole yet."""
    return _BEGUN.sub("", text)


def _read_tag(state: StateInline, silent: bool) -> bool:
    rest = state.src[state.pos : state.pos + 2]
    if rest[:1] != "<" or (rest == "<!" and state.html_terminator_last("-->") < state.pos):
        return False
    found = _TAG.match(state.src, state.pos, state.posMax)
    name = (found[2] or found[3]).lower() if found else ""
    if found is None or name not in _ELEMENTS:
        return False
    if not silent:
        token = state.push("tag", name, 0)
        token.info, token.content = found[1] or "", found[0]
    state.pos = found.end()
    return True


def _place_tags(state: StateCore) -> None:
    for before, block, after in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        children = block.children or []
        if not any(one.type == "tag" for one in children):
            continue
        _pair(children, state.md)
        for at, one in enumerate(children):
            if one.type == "tag":
                around = [*children[max(at - 1, 0) : at], *children[at + 1 : at + 2]]
                lays_out = not _ELEMENTS[one.tag] and all(map(_is_empty, around))
                if lays_out or (OPEN_AT_LINE in state.env and not one.info):
                    _draw(one, "")
                else:
                    one.type, one.tag = "text", ""
        if before.type == "paragraph_open" and all(map(_is_empty, children)):
            before.hidden = after.hidden = True
            block.children = []


def _pair(children: Sequence[Token], parser: MarkdownIt) -> None:
    """Draw what stands for itself, and each tag that has its other."""
    opened: list[int] = []
    for at, one in enumerate(children):
        if one.type == "tag" and one.tag in _SINGLE:
            _draw_single(one, parser)
        elif one.type == "tag" and not one.info and len(opened) < _MAX_DEPTH:
            opened.append(at)
        elif one.type == "tag" and one.tag in [children[place].tag for place in opened]:
            while children[start := opened.pop()].tag != one.tag:
                pass
            if children[start].level == one.level:
                _draw_pair(children[start : at + 1], parser)


def _draw_single(tag: Token, parser: MarkdownIt) -> None:
    said = _attributes(tag)
    address = parser.normalizeLink(said.get("src", ""))
    if tag.tag != "img":
        _draw(tag, _ELEMENTS[tag.tag])
    elif parser.validateLink(address):
        tag.type, tag.attrs = "image", {"src": address}
        tag.children = [Token("text", "", 0, content=said.get("alt", ""))]


def _draw_pair(tokens: Sequence[Token], parser: MarkdownIt) -> None:
    opening, *inner, closing = tokens
    address = parser.normalizeLink(_attributes(opening).get("href", ""))
    is_link = opening.tag == "a" and parser.validateLink(address)
    element = _ELEMENTS[opening.tag]
    for one in inner:
        one.level += 1
    _draw(opening, element, 1)
    _draw(closing, element, -1)
    if is_link and not any(one.type == "link_open" for one in inner):
        opening.type, opening.tag, opening.attrs = "link_open", "a", {"href": address}
        closing.type, closing.tag = "link_close", "a"
        opening.hidden = closing.hidden = False


def _draw(tag: Token, element: str, nesting: Literal[-1, 0, 1] = 0) -> None:
    tag.type, tag.tag, tag.nesting, tag.content = "html", element, nesting, ""
    tag.hidden = not element


def _attributes(tag: Token) -> dict[str, str]:
    return {name.lower(): unescape("".join(said)) for name, *said in _ATTRIBUTE.findall(tag.content)}


def _is_empty(token: Token) -> bool:
    """Whether a token shows nothing of its own in its line."""
    return token.type in {"tag", "html", "softbreak", "hardbreak"} or (
        token.type == "text" and not token.content.strip()
    )
