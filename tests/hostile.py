"""Long texts that take whoever starts over at each character very long to read."""

from typing import NamedTuple

import pytest


class Hostile(NamedTuple):
    """A text of a piece that is repeated, between what makes a reader begin and what it misses."""

    piece: str
    before: str = ""
    after: str = ""

    def text(self, size: int) -> str:
        """Return the text with about ``size`` characters."""
        return f"{self.before}{self.piece * (size // len(self.piece))}{self.after}"


_REPEATED = (
    # Signs, one by one.
    *r"""./\`'"[](){}<>|&$#@%^~*+=-_!?,:;""", " ", "\t", "\n", "\r\n", "\0", "\x85", "\xa0",
    "\u2028",
    # Letters, digits and what is neither.
    "7", "a", "A", "z9", "漢", "שלום", "\u200b", "a\u0301", "😀", "\ud800", "\udfff", "\u202e",
    # Words and lines.
    "lorem ipsum ", "x\n", "a.", "a/", "/a", "../", "./", "~/", "a-", "-1 ", "1-", "1.", "1,",
    "1_,", "a_", "aB", "A1-", "#1", "QUJD", "a1b2c3d", "Ab\n===\n", "# ", "> ", "\\ ", "{[(", "\"'",
    "${", "$(", "&&", "||", "; ", "- [ ] ", "[ ]\n", "1. ", "~\n", "```\n", "[a](", "![](", "*a ",
    "|-",
    # What is looked for, without its end.
    "http://", "https://a.", "@/", "<a", "<a>", "</a>", "<command", "<command>", '<command name="',
    "name=", "<analysis>", "</analysis>", "<analysis", "<summary>", "</summary>", "<focus>",
    "<system-reminder>", "<environment_details>", '<file_content path="', "[Tool Use: ",
    "*** Update File: ", "## Ledger ~\n", "## Ledger\n### ", "exit code 1 ",
    "Traceback (most recent call last):\n",
    "must ", "never. ", "sk-", "bearer ", '"x-api-key": "', "exceed", "exceed the ", "exceeds ",
    "message", "maximum ", "token", "input tokens ", "context too ", "context length a ", "per ",
    "user ", "user: ", "<feedback>", '"a"="b', '"a": "', "[…]\n", "1) a? ", "instead of a. ", "。",
    "？", "we will 5 %. ", "A1-", "make | ", "FAIL ", "0 failed ", "** ", "\\n",
)  # fmt: skip
_MISSED = (
    Hostile(".", after="x"), Hostile("-", after="x"), Hostile(" ", "[ ] a", "x"),
    Hostile("\n", "[ ] a", "x"), Hostile(" ", "\n", "#x\n---\n"), Hostile("1,", after="x"),
    Hostile("a", "<command name=", "></command>"), Hostile(" ", "name", "="),
    Hostile("<analysis>", "<summary>", "</summary>"), Hostile("<summary>", "<analysis>"),
    Hostile("a-1 ", "must "), Hostile("~", "## Ledger "), Hostile("9", "+", " characters"),
)  # fmt: skip

HOSTILE = (*map(Hostile, _REPEATED), *_MISSED)

hostile_texts = pytest.mark.parametrize(
    "hostile", HOSTILE, ids=lambda one: "…".join(map(ascii, one)).strip("…'")
)
