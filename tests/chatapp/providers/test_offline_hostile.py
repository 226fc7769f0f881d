"""However hostile a text is, the built-in model reads it in proportion to its length."""

import pytest

import condense
from chatapp.providers.offline.answer import answer
from chatapp.providers.offline.summary import summarise
from condense import Message
from tests.growth import assert_linear
from tests.hostile import Hostile, hostile_texts

TOOLS = ("list_files", "read_file")


def answered(text: str) -> None:
    """Have the text answered: as a question, and where it was said before."""
    answer([Message("user", text)], TOOLS)
    answer([Message("user", f"write {text}")], TOOLS)
    answer([Message("user", text), Message("user", "What did I say about words?")], TOOLS)


def worked(text: str) -> None:
    """Have the text taken for a listing, a file, and what was done before a summary."""
    calls = (
        condense.ToolUseBlock("1", "list_files", {}),
        condense.ToolUseBlock("2", "read_file", {}),
    )
    results = (condense.ToolResultBlock("1", text), condense.ToolResultBlock("2", text))
    summary = condense.TextBlock(f"## Conversation Summary\n{text}")
    asked = Message("user", (summary, condense.TextBlock("Read all files")))
    answer((asked, Message("assistant", calls), Message("user", results)), TOOLS)


def summarised(text: str) -> None:
    """Have the text summarised, and taken for the instruction."""
    talk = [Message("user", f"## Conversation Summary\n{text}"), Message("assistant", text)]
    summarise([*talk, Message("user", text)], len)


# What the built-in model itself looks for, and begins with again and again.
OWN = ("read ", "write a long ", "1,", "- a (read_file): ", "1. A:\n", "[Tool Use: ", ".")
SELDOM = (
    "read all ", "files ", "list ", "which ", "write ", "7", " ", "\n", "- ", "1. A",
    "[Tool Result]", "a: ", "<focus>\n", "<analysis>",
)  # fmt: skip


@pytest.mark.parametrize(
    "piece", [*OWN, *(pytest.param(one, marks=pytest.mark.soak) for one in SELDOM)]
)
def test_the_built_in_model_reads_in_proportion_to_the_length(piece: str) -> None:
    """What it looks for, it looks for once in each sentence."""
    for door in (answered, worked, summarised):
        assert_linear(door, Hostile(piece).text, door.__name__)


@pytest.mark.soak
@hostile_texts
def test_no_text_takes_the_built_in_model_longer(hostile: Hostile) -> None:
    """Of all that is known to make readers start over."""
    for door in (answered, worked, summarised):
        assert_linear(door, hostile.text, door.__name__)
