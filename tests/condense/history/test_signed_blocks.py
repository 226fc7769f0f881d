"""Signed blocks: who can't read a provider's compaction reads its text, and all else as it is."""

import pytest

from condense import Block, Message, OpaqueBlock, TextBlock, shape_request
from condense.history.signed_blocks import count_thinking_behind, without_compaction

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


SIGNED = OpaqueBlock({"type": "thinking", "thinking": "Hm.", "signature": "s"})


@pytest.mark.parametrize(
    ("thought", "is_sent", "is_sent_unbound"),
    [
        (THOUGHT, False, False),
        (SIGNED, True, False),
        (THOUGHT.noted(origin="a"), True, True),
        (SIGNED.noted(origin="a"), True, True),
        (SIGNED.noted(origin="a", bound=True), True, False),
        (SIGNED.noted(seconds=3), True, False),
    ],
)
def test_a_thought_with_an_origin_is_sent_whatever_changed_before_it(
    thought: OpaqueBlock, is_sent: bool, is_sent_unbound: bool
) -> None:
    """Unless it is bound to that; condensing loses only what is not sent any more."""
    for unbound, expected in ((False, is_sent), (True, is_sent_unbound)):
        said = Message("assistant", (thought, HELLO)).with_tags(unbound=unbound)
        _, shaped = shape_request([Message("user", "Go."), said])
        assert (thought in shaped.blocks) is expected
    lost = count_thinking_behind([Message("user", "Go.", "1"), said.with_tags(unbound=False)], "1")
    assert lost == (not is_sent_unbound)
