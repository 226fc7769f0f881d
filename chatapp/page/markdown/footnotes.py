"""Footnotes: ``[^1]`` leads to the block ``[^1]: a note``, which stays in its place."""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

# Keys in the environment: the labels of the notes that were read, and whether more may come, so
# that any number is taken for a label.
NOTES, MAY_COME = "notes", "notes_may_come"

_LABEL = r"\[\^([A-Za-z0-9_-]{1,32})\]"
_REFERENCE = re.compile(_LABEL + r"(?!\()")
_NOTE = re.compile(_LABEL + ":")
_INDENT = 4

# As the sanitizer leaves them: it lets no id and no place in this page through.
_CLEAN_REFERENCE = re.compile(r'<sup data-note="([\w-]+)">[\w-]+')
_CLEAN_NOTE = re.compile(r'<div class="footnote" data-note="([\w-]+)"')


def add_footnotes(parser: MarkdownIt) -> None:
    """Let the parser find notes (``footnote_open``) and references (``footnote_reference``)."""
    parser.block.ruler.before("reference", "footnote", _read_note, {"alt": ["paragraph"]})
    parser.inline.ruler.before("link", "footnote_reference", _read_reference)


def link_notes(html: str, name: str) -> str:
    """Return sanitized HTML whose references lead to its notes; their ids begin with a name."""
    html = _CLEAN_NOTE.sub(rf'\g<0> id="{name}-\1"', html)
    return _CLEAN_REFERENCE.sub(rf'<sup><a href="#{name}-\1" role="doc-noteref">\1</a>', html)


def _read_note(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    begin = state.bMarks[first] + state.tShift[first]
    found = _NOTE.match(state.src, begin, state.eMarks[first])
    if found is None or state.is_code_block(first):
        return False
    if silent:
        return True
    notes = state.env.setdefault(NOTES, set())
    token = state.push("footnote_open", "div", 1)
    token.attrs["class"] = "footnote"
    if found[1] not in notes:
        token.attrs["data-note"] = found[1]
    notes.add(found[1])
    # The rest of the line begins the note's blocks; those after it are indented.
    kept = state.bMarks[first], state.tShift[first], state.sCount[first], state.blkIndent
    rest = state.src[found.end() : state.eMarks[first]]
    state.bMarks[first] = found.end()
    state.tShift[first] = len(rest) - len(rest.lstrip(" \t"))
    state.blkIndent += _INDENT
    state.sCount[first] = state.blkIndent
    state.md.block.tokenize(state, first, end)
    state.bMarks[first], state.tShift[first], state.sCount[first], state.blkIndent = kept
    token.map = [first, state.line]
    state.push("footnote_close", "div", -1)
    return True


def _read_reference(state: StateInline, silent: bool) -> bool:
    found = _REFERENCE.match(state.src, state.pos)
    if found is None or found.end() > state.posMax or state.linkLevel:
        return False
    is_number = MAY_COME in state.env and found[1].isdigit()
    if not is_number and found[1] not in state.env.get(NOTES, ()):
        return False
    if not silent:
        state.push("footnote_reference", "sup", 0).content = found[1]
    state.pos = found.end()
    return True
