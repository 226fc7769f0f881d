"""Emphasis and bare addresses beside scripts that write without spaces, and beside emoji."""

import re

from linkify_it import LinkifyIt
from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline.state_inline import Scanned, StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

# Scripts without spaces, with their marks, as ranges of a pattern.
SPACELESS = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
)
_FREE = re.compile(rf"[{SPACELESS}\u1100-\u11ff\u2300-\u2bff\U0001f000-\U0003ffff]")
_SELECTORS = "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))

# Where an address ends: at a mark of these scripts, at emphasis, or at a letter behind its host.
_END = re.compile(
    r"\*\*|[\u2018-\u201f\u2026\u3000-\u3003\u3008-\u3020\u30fb"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff3d\uff5b-\uff65]"
)
_HOST = re.compile(r"//[a-z0-9.-]+\.[a-z]{2,}(?=[\u2e80-\u9fff\uac00-\ud7af])", re.IGNORECASE)


class Addresses(LinkifyIt):
    """Finds bare addresses, without what a sentence of these scripts goes on with."""

    def _validate_http(self, text: str, pos: int) -> int:
        length: int = super()._validate_http(text, pos)
        end = _END.search(text, pos, pos + length)
        host = _HOST.match(text, pos, pos + length)
        return host.end() - pos if host else end.start() - pos if end else length


class Inlines(ParserInline):
    """Reads what stands in a line, with emphasis as CommonMark's CJK-friendly amendment has it."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        """Add the tokens of a text to a list, and return it."""
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


class _State(StateInline):
    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803 - markdown-it's names
        """Return whether a run of marks can open and close emphasis, and its length."""
        length = super().scanDelims(start, canSplitWord).length
        before = self.src[max(start - 2, 0) : start].rstrip(_SELECTORS)[-1:] or " "
        after = self.src[start + length : min(start + length + 1, self.posMax)] or " "
        (space, mark, free), (next_space, next_mark, next_free) = _read(before), _read(after)
        left = not next_space and (not next_mark or next_free or space or mark or free)
        right = not space and (not mark or free or next_space or next_mark or next_free)
        opens = left and (canSplitWord or not right or mark)
        return Scanned(opens, right and (canSplitWord or not left or next_mark), length)


def _read(one: str) -> tuple[bool, bool, bool]:
    """Return whether it is a space, a mark, and something that needs no space beside it."""
    is_mark = isMdAsciiPunct(ord(one)) or isPunctChar(one)
    return isWhiteSpace(ord(one)), is_mark, _FREE.match(one) is not None
