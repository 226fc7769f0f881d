"""Emphasis and bare addresses in scripts without spaces."""

import re
from functools import partial

from linkify_it import LinkifyIt
from markdown_it import MarkdownIt
from markdown_it.parser_inline import RuleFuncInlineType
from markdown_it.rules_inline import emphasis, strikethrough
from markdown_it.rules_inline.state_inline import Scanned, StateInline

# Scripts without spaces, with their marks, as ranges of a pattern.
SPACELESS = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
)
# Beside these, Arabic, Hebrew and emoji, emphasis needs no space.
_FREE = re.compile(rf"[{SPACELESS}\u0590-\u08ff\u1100-\u11ff\u2300-\u2bff\U0001f000-\U0003ffff]")

# What ends a bare address, and its host: marks of these scripts, and emphasis.
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
