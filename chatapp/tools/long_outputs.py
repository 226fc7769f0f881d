"""Long outputs: beginning and end for the model, and the whole to be read later."""

import codecs
import re
from pathlib import Path
from typing import NewType

from chatapp.agent.errors import ToolError

# The folder of one conversation's outputs.
Outputs = NewType("Outputs", Path)

# Bytes of the beginning and of the end that the model gets at once.
HEAD, TAIL = 10_000, 20_000

_NAME = re.compile(r"[0-9a-f]{16}")
_KEPT = re.compile(r"can be read with read_output, name ([0-9a-f]{16})\.\]")
_INSIDE = bytes(range(0x80, 0xC0))  # the bytes of a letter after its first one
_CONTROLS = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00\x08\x0b\x0c\x0e-\x1f]"
)


def cut_in_the_middle(output: Path) -> str:
    """Return an output; of a long one its two ends, with a note to read the rest."""
    size = output.stat().st_size
    with output.open("rb") as file:
        head = file.read(HEAD + TAIL if size <= HEAD + TAIL else HEAD)
        if size <= HEAD + TAIL:
            output.unlink()
            return plain(head) or "[No output.]"
        file.seek(size - TAIL)
        # A letter that is cut at either seam is left out with the middle.
        tail = file.read(TAIL).lstrip(_INSIDE)
    head = head[: codecs.utf_8_decode(head, "replace", False)[1]]
    note = (
        f"[{size - len(head) - len(tail):,} bytes are left out here. All {size:,} can be read with "
        f"read_output, name {output.stem}.]"
    )
    return f"{plain(head)}\n{note}\n{plain(tail)}"


def kept_name(text: str) -> str:
    """Return the name of the whole output of which a result has both ends, "" for most."""
    found = _KEPT.search(text)
    return found[1] if found else ""


def find_output(outputs: Path, name: str) -> Path:
    """Return the path of a kept output; raise ToolError if there is none of this name."""
    path = outputs / f"{name}.txt"
    if not _NAME.fullmatch(name) or not path.is_file():
        said = "There is no output of this name, or no longer: only the newest are kept."
        raise ToolError(f"{said} What was cut says what it is called.")
    return path


def plain(data: bytes) -> str:
    """Return text without colours and other signs to a terminal."""
    text = data.decode(errors="replace").replace("\r\n", "\n")
    return _CONTROLS.sub("", text)
