"""However hostile a text is, to read it takes time in proportion to its length."""

from collections.abc import Callable
from functools import partial

import pytest

import condense
from condense import Message, TextBlock, ToolResultBlock, ToolUseBlock
from condense.facts.rules import own_sentences
from condense.folded_files.files_read import files_read
from condense.summaries.summarizer import parse_summary
from condense.summaries.summary_failures import describe
from tests.condense.folded_files.definitions import definitions
from tests.growth import LARGE, LINEAR, SMALL, assert_cheap
from tests.hostile import HOSTILE, Hostile

FEW = 3_000  # characters, and eight times as many: a square is seen already
# One text for each way to begin that some expression of the engine has; `make soak` tries all.
MECHANISMS = {
    ".", " ", "\n", "`", "~", "9", "a", "漢", "x\n", "a/", "../", "1,", "a-1 ", "- [ ] ", "```\n",
    "http://", "@/", "<command", "<analysis>", "<summary>", "<system-reminder>", "## Ledger ~\n",
    "must ", "exceed the ", "user: ", "make | ", "## Ledger\n### ",
}  # fmt: skip
QUICK = {one.piece: one for one in HOSTILE if one.piece in MECHANISMS}.values()

LEDGERS = (
    """## Ledger
### Standing rules
- {0}
### User messages
- (re: {0}) {0}
### To do, 1 done
- {0}
### Files (* changed), below {0}
- {0}
### Commands
- {0}
### Open errors
- {0}
### Names
- {0}
### Last reply
- {0}
(end of ledger)""",
)


def said(text: str) -> list[Message]:
    """Return what a user said, and an agent after that."""
    return [Message("user", text), Message("assistant", text)]


def done(text: str, tool: str, *, failed: bool = False, **arguments: object) -> list[Message]:
    """Return a call with such arguments, and the text as its result."""
    call, result = ToolUseBlock("1", tool, arguments), ToolResultBlock("1", text, is_error=failed)
    return [Message("assistant", (call,)), Message("user", (result,))]


def worked(text: str) -> list[Message]:
    """Return calls that name the text wherever a call's shape tells what it is about."""
    patch = f"*** Begin Patch\n{text}"
    return [
        *done(text, "bash", command=text),
        *done(text, "bash", failed=True, command="make"),
        *done(text, "edit", failed=True, path=text[:300], content=text),
        *done(text, "apply_patch", input=patch),
        *done(text, "todo", todos=text),
        *done(text, text, **{text: text}),
    ]


def answered(text: str) -> list[Message]:
    """Return a result in which the user speaks, by its mark."""
    call, result = (
        ToolUseBlock("1", "ask", {}),
        ToolResultBlock("1", text, False, {"user_words": text}),
    )
    return [Message("assistant", (call,)), Message("user", (result,))]


def counted(text: str) -> None:
    """Count the text's tokens as every counter does."""
    for counter in (condense.PromptCounter(), condense.TiktokenCounter()):
        counter.count((TextBlock(text),))


def shown(text: str) -> None:
    """Shape a request of the text, with tools and without."""
    messages = (*said(text), *done(text, text, value=text))
    condense.shape_request(messages)
    condense.shape_request(tuple(map(condense.tools_to_text, messages)))


def judged(text: str) -> None:
    """Ask whether an error that says the text is an overflow, wherever an error says something."""
    condense.is_context_overflow({"type": "invalid_request_error", "message": text, "code": text})


DOORS: dict[str, Callable[[str], object]] = {
    "ledger of words": lambda text: condense.ledger(said(text)),
    "ledger of work": lambda text: condense.ledger(worked(text)),
    "ledger of answers": lambda text: condense.ledger(answered(text)),
    "own_sentences": lambda text: [*own_sentences(text)],
    "receipt of words": lambda text: condense.receipt(said(text), text),
    "receipt of work": lambda text: condense.receipt(worked(text), text[::-1]),
    "sources_of": lambda text: condense.sources_of(text, said(text)),
    "parse_ledger": lambda text: [condense.parse_ledger(one.format(text)) for one in LEDGERS],
    "command_blocks": lambda text: condense.command_blocks(said(text)),
    "shape_request": shown,
    "is_context_overflow": judged,
    "describe": lambda text: describe(ValueError(text)),
    "parse_summary": lambda text: (parse_summary(text), parse_summary(f"<summary>{text}")),
    "count": counted,
    "files_read": lambda text: files_read(said(text)),
    "definitions": lambda text: definitions("notes.md", text),
}


@pytest.mark.parametrize(
    "hostile",
    [pytest.param(one, marks=() if one in QUICK else pytest.mark.soak) for one in HOSTILE],
    ids=lambda one: "…".join(map(ascii, one)).strip("…'"),
)
def test_reading_takes_time_in_proportion_to_the_length(hostile: Hostile) -> None:
    """Eight times the characters take far less than the square of it."""
    small, large = hostile.text(FEW), hostile.text(8 * FEW)
    for name, door in DOORS.items():
        # A vocabulary and caches of the processor make long texts dearer; a square would be 64.
        assert_cheap(partial(door, large), partial(door, small), 24, name)


@pytest.mark.parametrize("blanks", ["\t", " \n"], ids=ascii)
def test_a_message_of_blanks_is_read_in_proportion(blanks: str) -> None:
    """Many patterns of other people's words begin or end with some."""
    few, many = blanks * FEW, blanks * 8 * FEW
    assert_cheap(lambda: [*own_sentences(many)], lambda: [*own_sentences(few)], 24, "own_sentences")


def test_names_of_the_same_words_are_looked_up_in_proportion() -> None:
    """Thousands of names that differ in one word, in a text full of the other."""

    def look_up(size: int) -> None:
        hidden = " ".join(f"word-{number}" for number in range(size // 10))
        condense.receipt([Message("user", hidden)], "word " * (size // 5))

    assert_cheap(lambda: look_up(LARGE), lambda: look_up(SMALL), LINEAR, "receipt")
