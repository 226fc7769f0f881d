"""Repeat the user's ``<command>`` blocks, which outlive whatever hides their messages."""

from collections.abc import Container

from condense.history.commands import REMINDER, command_blocks
from condense.messages import Block, TextBlock
from condense.situation import Situation

WORKFLOWS = (
    f"{REMINDER}"
    "The following directives must be maintained across all future condensings:\n"
    "{blocks}\n</system-reminder>"
)


def repeated_directives(situation: Situation, kept: Container[str]) -> tuple[Block, ...]:
    """Return the directives of all messages but those ``kept`` by their ids, as a reminder.

    What earlier condensations hid is included, and what was taken back is not.
    """
    blocks = command_blocks(
        message
        for message in situation.history or situation.effective
        if message.id not in kept and not message.taken_back
    )
    return (TextBlock(WORKFLOWS.format(blocks="\n".join(blocks))),) if blocks else ()
