"""Signed blocks: who can't read a provider's compaction reads its text, and all else as it is."""

import pytest

from condense import Block, Message, OpaqueBlock, TextBlock
from condense.history.signed_blocks import without_compaction

COMPACTION = OpaqueBlock({"type": "compaction", "content": "What was said."})
EMPTY = OpaqueBlock({"type": "compaction", "content": None})
THOUGHT, HELLO = OpaqueBlock({"type": "thinking", "thinking": "Hm."}), TextBlock("Hello.")


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ((COMPACTION, THOUGHT, HELLO), (TextBlock("What was said."), THOUGHT, HELLO)),
        ((EMPTY, HELLO), (HELLO,)),
        ((THOUGHT, HELLO), (THOUGHT, HELLO)),
    ],
)
def test_a_compaction_is_read_as_its_text(sent: tuple[Block, ...], read: tuple[Block, ...]) -> None:
    """In its place; one that says nothing is left out."""
    assert without_compaction(Message("assistant", sent)).blocks == read
