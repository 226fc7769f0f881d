"""GitHub-flavoured markdown without raw HTML and without images."""

import functools
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore, linkify
from markdown_it.token import Token

from chatapp.markdown.formulas import add_formulas
from chatapp.markdown.renderer import CLOSE_CODE_BLOCK, Renderer, open_code_block
from chatapp.markdown.sanitizer import is_safe_address, replace_unsafe_characters, sanitize

# Hebrew, Arabic and their neighbours.
_RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LETTER = re.compile(r"[^\W\d_]")


def add_directions(parser: MarkdownIt) -> None:
    """Give the elements of each top-level block that holds right-to-left text their direction."""
    parser.core.ruler.after("block", "directions", _find_blocks)


def _find_blocks(state: StateCore) -> None:
    first = 0
    for end, token in enumerate(state.tokens, 1):
        if token.level == 0 and token.nesting != 1:
            block, first = state.tokens[first:end], end
            if any(one.type == "inline" and _RIGHT_TO_LEFT.search(one.content) for one in block):
                _mark(block)


def _mark(block: Sequence[Token]) -> None:
    direction = "ltr"
    for token in reversed(block):
        letter = _LETTER.search(token.content) if token.type == "inline" else None
        if letter:
            direction = "rtl" if _RIGHT_TO_LEFT.match(letter[0]) else "ltr"
        elif token.nesting == 1:
            token.attrs["dir"] = direction


# Key in the environment: the columns of the table that is read, and how many cells it may add.
_PADDING = "table_padding"

# Cells that any table may leave out; beyond, as many as it has characters.
_SPARE = 100


def limit_tables(parser: MarkdownIt) -> None:
    """Let a table end where its rows leave out too many cells, which the parser would add."""
    parser.block.ruler.before("table", "table_end", _is_padding, {"alt": ["blockquote"]})


def _is_padding(state: StateBlock, line: int, _: int, silent: bool) -> bool:
    if not silent or state.parentType != "table":
        return False
    if state.tokens[-1].type == "thead_close":
        head = _read_line(state, line - 2)
        state.env[_PADDING] = head.count("|") + 1, _SPARE + len(head)
    columns, spare = state.env[_PADDING]
    row = _read_line(state, line)
    spare += len(row) - max(columns - 1 - row.count("|"), 0)
    state.env[_PADDING] = columns, spare
    return bool(spare < 0)


def _read_line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] : state.eMarks[line]]


Environment = dict[str, Any]

# Levels: the parser drops what lies deeper, so a text that deep is shown as it was written.
_MAX_NESTING = 60

# Characters, and brackets, which take the parser a hundred times as long where none is a link's.
_MAX_PARAGRAPH, _MAX_BRACKETS = 20_000, 500

# How every bare address begins, the fuzzy ones left out.
_ADDRESS = re.compile(r"https?:|mailto:|//", re.IGNORECASE)


def render_markdown(text: str) -> str:
    """Return safe HTML for a whole markdown text."""
    return render_piece(replace_unsafe_characters(text), {})


def render_piece(text: str, env: Environment) -> str:
    """Return safe HTML for whole blocks; ``env`` holds the link definitions met so far."""
    tokens = parser().parse(text, env)
    if any(token.nesting == 1 and token.level >= _MAX_NESTING - 1 for token in tokens):
        return open_code_block("") + escape(text) + CLOSE_CODE_BLOCK
    return sanitize(parser().renderer.render(tokens, parser().options, env))


@functools.cache
def parser() -> MarkdownIt:
    """The one parser; it keeps no state between texts."""
    options = {"html": False, "alerts": False, "strikethrough_single_tilde": False}
    parser = _Parser("gfm-like2", {**options, "maxNesting": _MAX_NESTING}, renderer_cls=Renderer)
    if parser.linkify is not None:
        # Fuzzy links would turn names of files, such as main.py, into addresses in Paraguay.
        parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
        parser.core.ruler.at("linkify", _link_addresses)
    parser.core.ruler.before("inline", "oversized", _keep_plain)
    add_directions(parser)
    add_formulas(parser)
    limit_tables(parser)
    return parser


def _link_addresses(state: StateCore) -> None:
    """Look for bare addresses where one can be; the search itself takes long over any text."""
    if _ADDRESS.search(state.src):
        linkify(state)


def _keep_plain(state: StateCore) -> None:
    for token in state.tokens:
        long = len(token.content) > _MAX_PARAGRAPH or token.content.count("[") > _MAX_BRACKETS
        if token.type == "inline" and long:
            token.type = "text"


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - markdown-it's name
        """Leave any other link as the text it was written as."""
        return is_safe_address(url)
