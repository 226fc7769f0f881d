r"""Where the formulas stand in markdown: ``\(a\)``, ``\[a\]``, ``$$a$$`` and, with care, ``$a$``.

Nothing is a formula before its end is there. While a text is being written, what may become one is
therefore not shown, and nothing after its beginning is final. A search ends at the next mark of
its kind, so that all searches together read a text about once.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

# Key in the environment: blocks that reach this line are still being written.
OPEN_AT_LINE = "open_at_line"

# Key in the environment: the first line at which a formula may begin whose end did not come yet.
UNDECIDED = "undecided_line"

# Key in the environment: the children of the paragraph that is still being written.
_OPEN_CHILDREN = "open_children"

# Characters: what is longer is text.
_MAX_FORMULA = 4_000

_CLOSINGS = {r"\(": r"\)", r"\[": r"\]", "$": "$", "$$": "$$"}
_OPENING = re.compile(r"\\[(\[]|\$+")
_MARK = re.compile(r"\\.|\$+", re.DOTALL)
_NEVER = -1

_SIGN = re.compile(r"[\\^_=+<>{}|]")
_COMMAND = re.compile(r"\\[a-zA-Z]+ ?(?:\{[^{}]*\})?")
# A word that stands among others, or for itself; dx and dy are none.
_WORD = re.compile(r"(?:^|(?<=[\s(]))(?!d[a-z]\b)[^\W\d_]{2,}(?=[\s,.;:])|^[^\W\d_]*[a-z]{3}$")


def add_formulas(parser: MarkdownIt) -> None:
    """Let the parser find formulas: tokens ``formula`` in a line, ``formula_block`` outside."""
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.core.ruler.before("inline", "open_children", _mark_open_children)
    parser.inline.ruler.before("escape", "formula", _read_inline)
    parser.block.ruler.before("fence", "formula_block", _read_block, interrupts)


def is_display(token: Token) -> bool:
    """Whether the formula stands on a line of its own."""
    return token.markup in {r"\[", "$$"}


def source(token: Token) -> str:
    """Return the formula as it was written."""
    return token.markup + token.content + _CLOSINGS[token.markup]


def _mark_open_children(state: StateCore) -> None:
    if OPEN_AT_LINE not in state.env:
        return
    for token in reversed(state.tokens):
        if token.type == "inline":
            if token.map is None or token.map[1] >= state.env[OPEN_AT_LINE]:
                token.children = state.env[_OPEN_CHILDREN] = []
            return
        if token.nesting != -1:
            return


def _read_inline(state: StateInline, silent: bool) -> bool:
    match = _OPENING.match(state.src, state.pos)
    before = state.src[state.pos - 1 : state.pos] if state.pos else ""
    if match is None or match[0] not in _CLOSINGS or before == "$":
        return False
    opening, start = match[0], match.end()
    if opening == "$" and before.isalnum():
        return False
    end = _find_closing(state.src, opening, start, min(state.posMax, start + _MAX_FORMULA))
    if end is None:
        return _hide_rest(state, opening, start)
    content, after = state.src[start:end], state.src[end + len(opening) :][:1]
    if end == _NEVER or not _is_formula(opening, content, after):
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.markup, token.content = opening, content
    state.pos = end + len(opening)
    return True


def _hide_rest(state: StateInline, opening: str, start: int) -> bool:
    """Skip what may become a formula, if it is still being written."""
    is_open = state.tokens is state.env.get(_OPEN_CHILDREN) and state.posMax == len(state.src)
    if not is_open or not _may_grow(opening, state.src[start:]):
        return False
    state.pos = state.posMax
    return True


def _find_closing(text: str, opening: str, start: int, end: int) -> int | None:
    """Return where the formula's end is, None where it isn't, ``_NEVER`` where it can't come."""
    for mark in _MARK.finditer(text, start, end):
        if mark[0] == _CLOSINGS[opening]:
            return mark.start()
        if mark[0] == opening or mark[0][0] == opening[0] == "$":
            return _NEVER
    return None


def _read_block(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    begin = state.bMarks[first] + state.tShift[first]
    opening = state.src[begin : begin + 2]
    if opening not in {r"\[", "$$"} or state.is_code_block(first):
        return False
    last = _find_last_line(state, opening, first, end)
    if last is None:
        return _hide_block(state, opening, first, end, silent)
    content = _read_lines(state, first, last)[2:-2]
    if last == _NEVER or not _is_display(content):
        return False
    if not silent:
        state.line = last + 1
        token = state.push("formula_block", "math", 0)
        token.markup, token.content, token.map = opening, content, [first, state.line]
    return True


def _hide_block(state: StateBlock, opening: str, first: int, end: int, silent: bool) -> bool:
    """Note that more text decides, and skip what may become a formula, if it is being written."""
    state.env[UNDECIDED] = min(first, state.env.get(UNDECIDED, first))
    is_open = OPEN_AT_LINE in state.env
    if not is_open or not _may_grow(opening, _read_lines(state, first, end - 1)[2:]):
        return False
    if not silent:
        state.line = end
    return True


def _find_last_line(state: StateBlock, opening: str, first: int, end: int) -> int | None:
    """Return the line that ends with the formula's end; None and ``_NEVER`` as in a line."""
    indent = min(state.sCount[first], state.blkIndent)
    size = 0
    for line in range(first, end):
        start, stop = state.bMarks[line] + state.tShift[line], state.eMarks[line]
        if line == first:
            start += len(opening)
        elif start >= stop or state.sCount[line] < indent:
            return _NEVER
        closing = _find_closing(state.src, opening, start, stop)
        size += stop - start
        if closing == _NEVER or size > _MAX_FORMULA:
            return _NEVER
        if closing is not None:
            return _NEVER if state.src[closing + len(opening) : stop].strip() else line
    return None if end == len(state.bMarks) - 1 else _NEVER


def _read_lines(state: StateBlock, first: int, last: int) -> str:
    """Return the lines without what indents them."""
    lines = range(first, last + 1)
    starts = (state.bMarks[line] + state.tShift[line] for line in lines)
    return "\n".join(
        state.src[start : state.eMarks[line]].rstrip()
        for start, line in zip(starts, lines, strict=True)
    )


def _is_formula(opening: str, content: str, after: str) -> bool:
    """Whether the text in a line between these marks is meant as a formula.

    Brackets may be escaped, and dollars be money, so prose stays prose.
    """
    if opening == "$":
        apart = content[:1].isspace() or content[-1:].isspace()
        return bool(content) and not apart and not _is_prose(content) and not _continues(after)
    if opening == r"\(":
        return _is_display(content)
    return _SIGN.search(content) is not None and after != "("


def _is_display(content: str) -> bool:
    return bool(content.strip()) and (_SIGN.search(content) is not None or not _is_prose(content))


def _is_prose(content: str) -> bool:
    return _WORD.search(_COMMAND.sub(" ", content.strip())) is not None


def _continues(after: str) -> bool:
    """Whether a word goes on after a dollar, or what a shell puts together."""
    return after.isalnum() or (after != "" and after in "([{")


def _may_grow(opening: str, content: str) -> bool:
    """Whether the text may become a formula, as far as it goes."""
    if len(content) > _MAX_FORMULA:
        return False
    if opening == "$":
        return not content[:1].isspace() and not content[:1].isdigit() and not _is_prose(content)
    return not content.strip() or _is_display(content)
