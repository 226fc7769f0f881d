"""Where the blocks of a markdown text begin, found without reading what is inside the lines."""

from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it.token import Token

from chatapp.rendering.formulas import UNDECIDED
from chatapp.rendering.parsing import Environment, parser


@dataclass(frozen=True, slots=True)
class Block:
    """A top-level block: where it begins and, if it is a list, where its items do.

    Positions count characters from the start of the text.
    """

    opening: Token
    start: int
    items: tuple[int, ...] = ()


def outline(text: str) -> list[Block]:
    """Return the top-level blocks of the text, whose lines all end with a newline.

    What begins after a formula that may still be closed is left out, as it may be part of it.
    """
    tokens: list[Token] = []
    env: Environment = {}
    parser().block.parse(text, parser(), env, tokens)
    lines = _line_starts(text)
    decided = lines[env.get(UNDECIDED, -1)]
    blocks: list[Block] = []
    for group in _top_level(tokens):
        start = lines[(group[0].map or [0])[0]]
        if start <= decided:
            items = (lines[line] for line in _item_lines(group) if lines[line] <= decided)
            blocks.append(Block(group[0], start, tuple(items)))
    return blocks


def first_list(tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    """Split at the end of the list that comes first: tokens of its items, tokens after it."""
    end = next(i for i, token in enumerate(tokens) if token.level == 0 and token.nesting == -1)
    return tokens[1:end], tokens[end + 1 :]


def _top_level(tokens: list[Token]) -> list[list[Token]]:
    groups: list[list[Token]] = []
    for token in tokens:
        if token.level == 0 and token.nesting != -1:
            groups.append([])
        groups[-1].append(token)
    return groups


def _item_lines(group: list[Token]) -> Iterator[int]:
    for token in group:
        if token.type == "list_item_open" and token.level == 1 and token.map:
            yield token.map[0]


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts
