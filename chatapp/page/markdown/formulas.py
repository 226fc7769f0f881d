r"""Places of formulas in markdown: ``\(a\)``, ``\[a\]``, ``$$a$$``, ``\begin{}`` and some ``$a$``.

A formula is recognised once its end is written. The search for an end stops at the next mark of its
kind, so that all searches together read a text about once.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from chatapp.page.markdown.extensions import SPACELESS

# Key in the environment: the first line at which a formula may begin whose end did not come yet.
UNDECIDED = "undecided_line"

# Characters. Longer ones are text.
_MAX_FORMULA = 4_000
# Characters. Longer ones are shown before it is certain that they are formulas.
_MAX_HIDDEN = 1_000

_CLOSINGS = {r"\(": r"\)", r"\[": r"\]", "$": "$", "$$": "$$", "": ""}
_OPENING = re.compile(r"\\[(\[]|\$+")
_MARK = re.compile(r"\\(?:begin|end) ?\{[a-zA-Z]+\*?\}|\\.|\$+", re.DOTALL)
_NAMES = "equation|align|gather|multline|split|cases|array|math|matrix"
_BLOCK = re.compile(rf"\\\[|\$\$|\\begin ?\{{[a-zA-Z]*(?:{_NAMES})[a-z]*\*?\}}")
_NEVER = -1

_SIGN = re.compile(r"[\\^_=+<>{}|]")
# Patterns of sed and grep in such brackets: character classes, or an odd number of alternatives.
_PATTERN = re.compile(
    r"\.\*|\[\^|\[\w-\w|\\[+?.0-9]|\\[dwsbDWSB](?![a-zA-Z])|^\w+(?:\\\|\w+)+$"
    r"|^(?:(?!\\\|).)*\\\|(?:(?!\\\|).)*$"
)
_COMMAND = re.compile(r"\\[a-zA-Z]+ ?(?:\{[^{}]*\})?")
# Scripts without spaces, and letters of others; braces may hold a name.
_FREE, _JOINS = re.compile(f"[{SPACELESS}]"), re.compile(f"(?![{SPACELESS}])[^\\W_]")
_BRACES = re.compile(r"\{[^{}]*\}")
# The replacement in a command of sed, and the characters behind a pattern that are searched for it.
_REFERENCE, _NEAR = re.compile(r"\\[1-9]"), 80
# A word that stands among others, or for itself; dx and dy are none.
_WORD = re.compile(r"(?:^|(?<=[\s(]))(?!d[a-z]\b)[^\W\d_]{2,}(?=[\s,.;:])|^[^\W\d_]*[a-z]{3}$")


def add_formulas(parser: MarkdownIt) -> None:
    """Let the parser find formulas: tokens ``formula`` in a line, ``formula_block`` outside."""
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.inline.ruler.before("escape", "formula", _read_inline)
    parser.block.ruler.before("fence", "formula_block", _read_block, interrupts)


def is_display(token: Token) -> bool:
    """Return True if the formula stands on a line of its own."""
    return token.markup in {"", r"\[", "$$"}


def source(token: Token) -> str:
    """Return the formula with its marks, as in the text."""
    return token.markup + token.content + _CLOSINGS[token.markup]


def find_open(text: str) -> int:
    """Return the start of a formula that more text may complete, else the length of the text."""
    decided, blank = 0, text.rfind("\n\n")
    for mark in _MARK.finditer(text):
        opening, start = mark[0], mark.end()
        may_part = _BLOCK.fullmatch(opening) is not None and text.startswith("\n", start)
        if mark.start() >= decided and (may_part or (opening in _CLOSINGS and start > blank)):
            end = _find_closing(text, opening, start, start + _MAX_HIDDEN)
            if end is None and len(text) <= start + _MAX_HIDDEN:
                content = text[start:]
                may_grow = not content.strip() or _is_display(content)
                if opening == "$":
                    begins = not content[:1].isspace() and not content[:1].isdigit()
                    may_grow = begins and not _is_prose(content)
                if may_grow:
                    return mark.start()
            decided = end + len(opening) if end and end != _NEVER else start
    return len(text)


def _read_inline(state: StateInline, silent: bool) -> bool:
    match = _OPENING.match(state.src, state.pos)
    before = state.src[state.pos - 1 : state.pos] if state.pos else ""
    if match is None or match[0] not in _CLOSINGS or before == "$":
        return False
    opening, start = match[0], match.end()
    if opening == "$" and _JOINS.match(before):
        return False
    end = _find_closing(state.src, opening, start, min(state.posMax, start + _MAX_FORMULA))
    if end is None or end == _NEVER:
        return False
    behind = end + len(opening)
    content, after = state.src[start:end], state.src[behind : behind + _NEAR]
    is_beside = opening == "$" and (_FREE.match(before) or _FREE.match(after))
    is_text = is_beside and _FREE.search(_BRACES.sub("", content))
    if is_text or not _is_formula(opening, content, after):
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.markup, token.content = opening, content
    state.pos = behind
    return True


def _find_closing(text: str, opening: str, start: int, end: int) -> int | None:
    """Return the place of a formula's end; None without one, ``_NEVER`` if none can follow."""
    for mark in _MARK.finditer(text, start, end):
        if mark[0] == (_CLOSINGS.get(opening) or opening.replace("begin", "end")):
            return mark.start()
        if mark[0] == opening or mark[0][0] == opening[0] == "$":
            return _NEVER
    return None


def _read_block(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    begin = state.bMarks[first] + state.tShift[first]
    found = _BLOCK.match(state.src, begin, state.eMarks[first])
    if found is None or state.is_code_block(first):
        return False
    opening = found[0]
    last = _find_last_line(state, opening, first, end)
    if last is None:
        # More text decides.
        state.env[UNDECIDED] = min(first, state.env.get(UNDECIDED, first))
    if last is None or last == _NEVER:
        return False
    lines = range(first, last + 1)
    # Without their indentation.
    content = "\n".join(
        state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()
        for line in lines
    )
    opening, content = (opening, content[2:-2]) if opening in _CLOSINGS else ("", content)
    if not _is_display(content):
        return False
    if not silent:
        state.line = last + 1
        token = state.push("formula_block", "math", 0)
        token.markup, token.content, token.map = opening, content, [first, state.line]
    return True


def _find_last_line(state: StateBlock, opening: str, first: int, end: int) -> int | None:
    """Return the line that ends with the formula's end; None and ``_NEVER`` as in a line."""
    indent = min(state.sCount[first], state.blkIndent)
    size, may_part = 0, opening not in _CLOSINGS
    for line in range(first, end):
        start, stop = state.bMarks[line] + state.tShift[line], state.eMarks[line]
        if line == first:
            start += len(opening)
            may_part |= start >= stop
        elif start >= stop and may_part:
            continue
        elif start >= stop or state.sCount[line] < indent:
            return _NEVER
        closing = _find_closing(state.src, opening, start, stop)
        size += stop - start
        if closing == _NEVER or size > _MAX_FORMULA:
            return _NEVER
        if closing is not None:
            ended = closing + 2 if opening in _CLOSINGS else state.src.find("}", closing) + 1
            return _NEVER if state.src[ended:stop].strip(" \t.,;") else line
    return None if end == len(state.bMarks) - 1 else _NEVER


def _is_formula(opening: str, content: str, after: str) -> bool:
    """Return True if the text between two marks in a line is a formula."""
    # Escaped brackets and amounts in dollars are prose. So is text whose last dollar has a word or
    # a bracket right behind it, as in a shell's variables.
    if opening == "$":
        apart = content[:1].isspace() or content[-1:].isspace()
        goes_on = _JOINS.match(after) or after.startswith(("(", "[", "{"))
        return bool(content) and not apart and not _is_prose(content) and not goes_on
    if opening == r"\(":
        return _is_display(content) and not (_PATTERN.search(content) or _REFERENCE.search(after))
    return _SIGN.search(content) is not None and not after.startswith("(")


def _is_display(content: str) -> bool:
    is_prose = any(map(_is_prose, content.split("\n\n")))
    has_sign = _SIGN.search(content) is not None and "\n\n" not in content
    return bool(content.strip()) and (has_sign or not is_prose)


def _is_prose(content: str) -> bool:
    return _WORD.search(_COMMAND.sub(" ", content.strip())) is not None
