"""What is recalled: each passage is of another message, and says something else."""

from condense import MemoryRecall, Message
from tests.condense.dialogues import numbered

LONG = " ".join(f"The harbour has crane {n}, berth {n + 70}, master {n + 900}." for n in range(60))
SAID = ("The harbour has a yellow crane.", "The harbour has a yellow crane!",
        "The crane of the harbour broke down in May.")  # fmt: skip


def test_no_message_and_no_words_come_twice() -> None:
    """Of a long message the best passage, and of two that say the same the better one."""
    search = MemoryRecall(numbered([Message("user", text) for text in (LONG, *SAID)]))
    found = [one.seq for one in search("the crane in the harbour", 9)]
    assert sorted({2: 3}.get(seq, seq) for seq in found) == [1, 3, 4]
    assert len(search("the crane in the harbour", 2)) == 2
