"""Work on the contents of messages, on the event loop or in a thread."""

import threading
from typing import Any

import pytest

import condense
from chatapp.agent.async_tasks import BEGINNING, LONGEST, compute, interval
from tests.condense.dialogues import IMAGE

BRIEF = condense.TextBlock("word " * 100)


@pytest.mark.parametrize(
    ("contents", "waits_for_a_thread"),
    [
        ([], False),
        (["x" * 15_000], False),
        (["x" * 16_001], True),
        ([(BRIEF, condense.ToolUseBlock("t", "read_file", {"path": "a"}))] * 10, False),
        ([(condense.ToolUseBlock("t", "write_to_file", {"content": "x" * 20_000}),)], True),
        ([(condense.ToolResultBlock("t", "x" * 20_000),)], True),
        ([(condense.ToolResultBlock("t", (IMAGE,)),)], True),
        ([(BRIEF, IMAGE)], True),
        (["x"] * 200, True),
    ],
)
async def test_what_is_long_is_computed_in_a_thread(
    contents: list[Any], waits_for_a_thread: bool
) -> None:
    """Long are many characters, many blocks, and images of any size."""
    thread = await compute(contents, threading.get_ident)
    assert (thread != threading.get_ident()) == waits_for_a_thread


def test_texts_come_in_fewer_pieces_while_a_crowd_begins() -> None:
    """Nobody has seen a word of its answers yet; who reads one waits for no more than this."""

    class Turn:
        """A turn that begins."""

    alone, crowd = interval(), [Turn() for _ in range(20)]
    BEGINNING.update(crowd)
    assert alone < (few := interval()) < LONGEST
    many = [Turn() for _ in range(1_000)]
    BEGINNING.update(many)
    assert few < interval() == LONGEST
    BEGINNING.difference_update([*crowd, *many])
    assert interval() == alone
