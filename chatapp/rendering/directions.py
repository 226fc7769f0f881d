"""Which way text runs, where not all of it runs to the right: by the first letter of each part."""

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

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
