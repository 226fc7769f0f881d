"""Reads a message of this conversation whole, also one that the model does not see any more."""

from dataclasses import dataclass

import condense
from chatapp.agent.errors import ToolError
from chatapp.agent.ports import ToolSpec
from chatapp.tools.arguments import argument
from chatapp.tools.search_history import HiddenMessages

# Characters of one call.
MAX_MESSAGE_CHARS = 30_000


@dataclass(frozen=True, slots=True)
class Arguments:
    """The message's number, and its first character to read."""

    number: int = argument("The message's number, as search_history gives it.", minimum=1)
    start: int = argument("First character to read.", default=0, minimum=0)


SPEC = ToolSpec(
    name="read_message",
    description="Read an earlier message of this conversation whole, by its number.",
    tally=condense.plural("Read {count} message", "Read {count} messages"),
)


async def run(history: HiddenMessages, arguments: Arguments) -> str:
    """Return a message's text from a start; a part ends with a note to read on."""
    text = await history.read(arguments.number)
    if text is None:
        raise ToolError(f"This conversation has no message {arguments.number}.")
    part = text[arguments.start : arguments.start + MAX_MESSAGE_CHARS]
    if not part:
        raise ToolError(f"Message {arguments.number} has only {len(text):,} characters.")
    reached = arguments.start + len(part)
    if reached < len(text):
        part += f"\n[{reached:,} of {len(text):,} characters. Read on with start={reached}.]"
    return part
