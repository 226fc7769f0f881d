"""GitHub-flavoured markdown without raw HTML and without images."""

import functools
import re
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore, linkify

from chatapp.rendering.directions import add_directions
from chatapp.rendering.formulas import add_formulas
from chatapp.rendering.renderer import CLOSE_CODE_BLOCK, Renderer, open_code_block
from chatapp.rendering.sanitizing import is_safe_address, replace_unsafe_characters, sanitize
from chatapp.rendering.tables import limit_tables

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
