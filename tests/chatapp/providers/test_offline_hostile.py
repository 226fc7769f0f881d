"""However hostile a text is, the offline stand-in reads it in proportion to its length."""

import condense
from chatapp.providers.offline.chat import compose
from chatapp.providers.offline.reading import read
from chatapp.providers.offline.summary import summarise
from condense import Message
from tests.growth import assert_linear
from tests.hostile import Hostile, hostile_texts

TOOLS = ("list_files", "read_file", "search_files")


def answered(text: str) -> None:
    """Have the text answered: as a question, and where it was said before."""
    compose(read([Message("user", text)]), TOOLS)
    compose(read([Message("user", f"write {text}")]), TOOLS)
    compose(read([Message("user", text), Message("user", "What did I say about words?")]), TOOLS)


def worked(text: str) -> None:
    """Have the text taken for a listing, and for what was done before a summary."""
    asked, call = Message("user", "Read all files"), condense.ToolUseBlock("1", "list_files", {})
    listing = condense.ToolResultBlock("1", text)
    summary = Message("user", f"## Conversation Summary\n{text}")
    happened = (summary, asked, Message("assistant", (call,)), Message("user", (listing,)))
    compose(read(happened), TOOLS)


def summarised(text: str) -> None:
    """Have the text summarised, and taken for the instruction."""
    talk = [Message("user", f"## Conversation Summary\n{text}"), Message("assistant", text)]
    summarise([*talk, Message("user", text)], len)


@hostile_texts
def test_the_stand_in_reads_in_proportion_to_the_length(hostile: Hostile) -> None:
    """What it looks for, it looks for once in each sentence."""
    for door in (answered, worked, summarised):
        assert_linear(door, hostile.text, door.__name__)
