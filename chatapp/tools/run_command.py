"""Runs a shell command in the workspace."""

from dataclasses import dataclass

import condense
from chatapp.agent.errors import ToolError
from chatapp.agent.ports import Access, ToolOutcome, ToolSpec
from chatapp.tools.arguments import argument
from chatapp.tools.long_outputs import cut_in_the_middle
from chatapp.tools.shell import Shell
from chatapp.tools.shell_supervisor import TIMED_OUT
from chatapp.tools.workspace import WritableWorkspace

MAX_COMMAND = 20_000
USUAL, LONGEST = 120, 1_800  # seconds


@dataclass(frozen=True, slots=True)
class Arguments:
    """The command, and its time limit in seconds."""

    command: str = argument("Command for /bin/sh. It can't ask anything back.")
    timeout: int = argument("Seconds it may take.", default=USUAL, minimum=1)


SPEC = ToolSpec(
    name="run_command",
    description=(
        "Run a shell command in the workspace and return its output. It is ended when its time is "
        "up, and so is all that it leaves running."
    ),
    tally=condense.plural("Ran {count} command", "Ran {count} commands"),
    access=Access.EXECUTE,
)


def preview(_workspace: WritableWorkspace, arguments: Arguments) -> str:
    """Return the command as a shell would read it."""
    return arguments.command


async def run(shell: Shell, arguments: Arguments) -> ToolOutcome:
    """Return the output, cut in the middle if it is long, and the command's end."""
    command = arguments.command.strip()
    if not command or len(command) > MAX_COMMAND or "\0" in command:
        raise ToolError(f"A command has 1 to {MAX_COMMAND:,} characters.")
    seconds = min(arguments.timeout, LONGEST)
    ran = await shell.run(command, seconds)
    is_full = ran.output.stat().st_size >= shell.most
    text = cut_in_the_middle(ran.output).rstrip("\n")
    how = f"Exit code {ran.code} after {ran.seconds:.1f} s."
    if ran.code == TIMED_OUT:
        how = f"Ended after {seconds} s, with all that it had started. Give it more time, or less."
    elif ran.code < 0:
        how = "Ended, with all that it had started: it has killed what holds its limits."
    if is_full:
        how += f" Of its output only the first {shell.most:,} bytes were kept."
    return ToolOutcome(f"{text}\n[{how}]".lstrip(), is_error=ran.code != 0)
