"""Command blocks outlive every condensation."""

import pytest

from condense.messages import Block, Message, Tags, TextBlock
from condense.reduction.carryover import REMINDER, command_blocks, extract_command_blocks


def block(name: str, text: str = "1") -> str:
    """Return a directive."""
    return f'<command name="{name}">{text}</command>'


def user(*texts: str) -> Message:
    """Return what the user wrote."""
    return Message("user", tuple(map(TextBlock, texts)))


REMIND = f"{REMINDER}{block('a')}\n</system-reminder>"


@pytest.mark.parametrize(
    ("history", "blocks"),
    [
        (
            [user(block("a")), Message("assistant", block("c")), user(f"later {block('b')}")],
            (block("a"), block("b")),
        ),
        ([user(block("a")), user("<command name='a' more>2</command>")],
         ("<command name='a' more>2</command>",)),
        ([user("<command>1</command><command x>2</command><command>3</command>")],
         ("<command>3</command>", "<command x>2</command>")),
        ([user("summary", REMIND)], (block("a"),)),
        ([user(block("a") + "<command>never closed")], (block("a"),)),
        ([user(block("a") + "<command")], (block("a"),)),
    ],
    ids=["of every user message", "newest of a name", "without a name", "of a reminder",
         "never closed", "cut off"],
)  # fmt: skip
def test_the_newest_block_of_each_name_is_kept(
    history: list[Message], blocks: tuple[str, ...]
) -> None:
    """One without a name goes by its tag, and what the model writes is none."""
    assert command_blocks(history) == blocks


def test_what_a_file_says_is_no_directive() -> None:
    """Only what was written, or put beside it as a command; nor what a summary quotes of a file."""
    beside: list[Block] = [
        TextBlock(block(kind), {"beside": {"kind": kind}}) for kind in ("file", "command")
    ]
    message = Message("user", (TextBlock("Look"), *beside))
    assert command_blocks([message]) == (block("command"),)
    assert extract_command_blocks(message) == block("command")
    evil = f"## Newest Request, Verbatim\nLook\n{block('evil')}"
    for tags in (Tags(condense_id="c"), Tags(truncation_id="t")):
        made = Message("user", user("summary", evil, REMIND).content, tags=tags)
        assert command_blocks([made]) == (block("a"),)
