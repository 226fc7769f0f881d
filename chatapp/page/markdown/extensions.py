"""Markdown as people and models write it, beyond CommonMark.

Emphasis and bare addresses in scripts without spaces; fences of markdown that has fences itself;
and HTML, of which a tag counts only with its partner in the same block.
"""

import re
import tomllib
from collections import deque
from collections.abc import Sequence
from functools import partial
from html import escape, unescape
from itertools import zip_longest
from pathlib import Path

from linkify_it import LinkifyIt
from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.parser_inline import RuleFuncInlineType
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import emphasis, strikethrough
from markdown_it.rules_inline.state_inline import Scanned, StateInline
from markdown_it.token import Token

from chatapp.page.markdown.footnotes import MAY_COME

# Scripts without spaces, with their marks, as ranges of a pattern.
SPACELESS = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
)
# Next to these, and to Arabic, Hebrew and emoji, emphasis needs no space.
_FREE = re.compile(rf"[{SPACELESS}\u0590-\u08ff\u1100-\u11ff\u2300-\u2bff\U0001f000-\U0003ffff]")

# Characters that end a bare address, and its host: marks of these scripts, and emphasis.
_MARKS = r"[><*\u2018-\u201f\u2026\u3000-\u3020\u30fb\uff01-\uff0f\uff1a-\uff20\uff5b-\uff65"
_ENDS = {"src_path": _MARKS, "src_host_port_strict": rf"{_MARKS}\u2e80-\u9fff\uac00-\ud7af"}


def know_scripts(parser: MarkdownIt) -> None:
    """Let a parser find emphasis and bare addresses in these scripts, too."""
    parser.inline.ruler.at("emphasis", partial(_read, emphasis.tokenize))
    parser.inline.ruler.at("strikethrough", partial(_read, strikethrough.tokenize))
    # Fuzzy links would turn names of files, such as main.py, into addresses in Paraguay.
    finder = LinkifyIt(options=dict.fromkeys(("fuzzy_link", "fuzzy_email", "fuzzy_ip"), False))
    finder.re |= {part: finder.re[part].replace("[><", marks) for part, marks in _ENDS.items()}
    parser.linkify = finder


def _read(rule: RuleFuncInlineType, state: StateInline, silent: bool) -> bool:
    state.__class__ = _State
    return rule(state, silent)


class _State(StateInline):
    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803 - its names
        # As CommonMark's CJK-friendly amendment has it.
        scanned = super().scanDelims(start, canSplitWord)
        end = start + scanned.length
        before, after = self.src[start - 1 : start] or " ", self.src[end : end + 1] or " "
        if canSplitWord and (_FREE.match(before) or _FREE.match(after)):
            return Scanned(not after.isspace(), not before.isspace(), scanned.length)
        return scanned


# A name in brackets, and not where its address is given.
_NAMED = re.compile(r"\[([^\[\]]+)\](?!:)")


def show_unused(state: StateCore) -> None:
    """Show the addresses of links that no link names, such as a list of sources, as text."""
    # More text may name them.
    if MAY_COME in state.env:
        return
    lines = state.src.split("\n")
    used = {normalizeReference(one) for one in _NAMED.findall(state.src)}
    given, again = state.env.get("references", {}), state.env.get("duplicate_refs", ())
    left = [one for name, one in given.items() if name not in used]
    # The first address of a name is the one that its links lead to.
    left += [one for one in again if one["href"] != given[one["label"]]["href"]]
    unused = deque(sorted([one["map"] for one in left]))
    made, end = list[Token](), Token("", "", 0, map=[len(lines), 0])
    for token in [*state.tokens, end]:
        while unused and token.map and not token.level and token.map[0] >= unused[0][0]:
            first, last = unused.popleft()
            while unused and unused[0][0] == last:
                last = unused.popleft()[1]
            text = Token("inline", "", 0, level=1, children=[])
            told = [line.lstrip(" \t>") for line in lines[first:last]]
            # Else the name would be a link to its own address.
            text.content = "\n".join([re.sub(r"^\[", r"\\[", line) for line in told])
            made += [Token("paragraph_open", "p", 1), text, Token("paragraph_close", "p", -1)]
        made.append(token)
    state.tokens = made[:-1]


_FENCE = re.compile(r"[ \t>]*(`{3,}+(?!.*`)|~{3,})[ \t]*(\S*)")
_MARKDOWN = re.compile(r"(?<!`)`{3,}+[ \t]*+(?:md|markdown|mdx)\b", re.IGNORECASE)
_LONG = "`" * 9


def widen_fences(text: str) -> str:
    """Return the text with longer marks around such a block, so that it ends with its own."""
    if not _MARKDOWN.search(text):
        return text
    lines, opened = text.split("\n"), list[tuple[str, int]]()
    for number, line in enumerate(lines):
        mark, info = found.groups() if (found := _FENCE.match(line)) else ("", "")
        outer = lines[opened[0][1]].lstrip(" >") if opened else ""
        if mark and not info and opened and mark.startswith(opened[-1][0]):
            opened.pop()
            if not opened and outer.startswith(_LONG):
                lines[number] = line.replace("```", _LONG, 1)
        elif mark and not opened:
            opened = [(mark, number)]
        elif info and _MARKDOWN.match(outer):
            opened.append((mark, number))
            if not outer.startswith(_LONG):
                lines[opened[0][1]] = lines[opened[0][1]].replace("```", _LONG, 1)
    return "\n".join(lines)


_TABLE = tomllib.loads(Path(__file__).with_name("html_tags.toml").read_text("utf-8"))
_ELEMENTS = {
    tag: {"itself": tag, "nothing": ""}.get(element, element)
    for element, tags in _TABLE.items() for tag in tags
}  # fmt: skip
DRAWN = frozenset(filter(None, _ELEMENTS.values()))
_LAYOUT = "|".join([name for name, element in _ELEMENTS.items() if not element])
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)[^<>]*>", re.IGNORECASE)
_ADDRESS = re.compile(r"""\s(?:src|href)=["']?(https?://[^/"'\\\s][^"'\s>]*)""", re.IGNORECASE)
# Tags at the beginning of a line that only lay out, and the title of a fold that begins there.
LAYOUT = re.compile(
    r"(?im)<details[^<>]*>\s*<summary[^<>]*>\s*([^\n]{0,300}?)\s{0,9}</summary>[ \t]*(?=(\S)?)"
    r"|</details>(?=[ \t]*(?:<|$))"
    rf"|^[ \t]*(?:(?:</?(?:{_LAYOUT})(?:\s[^<>]*)?/?>|<!--[^<>]*-->)[ \t]*)+$"
)
# Elements that are followed by a new line.
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
