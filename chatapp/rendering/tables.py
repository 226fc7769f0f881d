"""Tables of bounded size: a short text could otherwise become millions of empty cells."""

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

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
