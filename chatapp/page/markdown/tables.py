"""Tables with uneven rows: more or fewer cells than in their heads."""

from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import escapedSplit, getLine
from markdown_it.rules_core import StateCore

# Keys in the environment: the columns of the table that is read, with the cells it may still add;
# and the cells of rows that have too many, by their lines.
_PADDING, _BEYOND = "table_padding", "table_beyond"

# Cells that any table may leave out; beyond, as many as it has characters.
_SPARE = 100


def is_padding(state: StateBlock, line: int, _: int, silent: bool) -> bool:
    """Return True if a table's rows leave out too many cells, which the parser would add."""
    if not silent or state.parentType != "table":
        return False
    if state.tokens[-1].type == "thead_close":
        head = getLine(state, line - 2)
        state.env[_PADDING] = len(_cells_in(head)), _SPARE + len(head)
    columns, spare = state.env[_PADDING]
    row = getLine(state, line)
    cells = _cells_in(row)
    if beyond := cells[columns:]:
        state.env.setdefault(_BEYOND, {})[line] = beyond
    spare += len(row) - max(columns - len(cells), 0)
    state.env[_PADDING] = columns, spare
    return bool(spare < 0)


def keep_beyond(state: StateCore) -> None:
    """Show the cells that have no column in the last one of their row; the parser drops them."""
    beyond = state.env.pop(_BEYOND, {})
    for place, token in enumerate(state.tokens if beyond else ()):
        cell = state.tokens[place - 2]
        if token.type == "tr_close" and cell.map and cell.map[0] in beyond:
            rest = "|".join(["", *beyond[cell.map[0]]])
            # The parser has taken the blanks at the end of the last one.
            cell.content = f"{cell.content}{' ' * rest[1:2].isspace()}{rest}".strip()


def _cells_in(row: str) -> list[str]:
    """Return the cells of a line as the parser divides it."""
    first, *cells = escapedSplit(row.strip())
    cells = [first, *cells] if first else cells
    return cells if cells[-1:] != [""] else cells[:-1]
