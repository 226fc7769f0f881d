"""Reads on in the output of a command or a tool that was too long to be given at once."""

import codecs
from dataclasses import dataclass

import condense
from chatapp.agent.errors import ToolError
from chatapp.agent.ports import ToolSpec
from chatapp.tools.arguments import argument
from chatapp.tools.long_outputs import Outputs, find_output, plain

# Bytes of one call.
MOST_OUTPUT_BYTES = 40_000


@dataclass(frozen=True, slots=True)
class Arguments:
    """An output's name, and the first byte to read."""

    name: str = argument("The output's name, as it was given where it was cut.")
    start: int = argument("First byte to read.", default=0, minimum=0)


SPEC = ToolSpec(
    name="read_output",
    description="Read the whole output of a call that was cut in the middle.",
    tally=condense.plural("Read {count} output", "Read {count} outputs"),
)


def run(outputs: Outputs, arguments: Arguments) -> str:
    """Return a part of an output; it ends with a note to read on."""
    path = find_output(outputs, arguments.name)
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(arguments.start)
        data = file.read(MOST_OUTPUT_BYTES)
    if arguments.start >= size:
        raise ToolError(f"This output has only {size:,} bytes.")
    # A letter that is cut at the end belongs to the next part.
    is_last = arguments.start + len(data) >= size
    _, whole = codecs.utf_8_decode(data, "replace", is_last)
    text, reached = plain(data[:whole]), arguments.start + whole
    if reached < size:
        text += f"\n[{reached:,} of {size:,} bytes. Read on with start={reached}.]"
    return text
