"""One fact that is looked for."""

from dataclasses import dataclass
from typing import Literal, get_args

FactKind = Literal[
    "edited_files", "read_files", "commands", "errors", "constraints", "names", "results"
]
KINDS: tuple[FactKind, ...] = get_args(FactKind)


@dataclass(frozen=True, slots=True)
class Probe:
    """One fact: ``text`` for people, ``needle`` to search for, ``source`` the message's id.

    ``folder`` has to stand right before a file's name where another file has the same name.
    ``context`` is what was said with a name: where only the needle stands, the fact is only named.
    """

    kind: FactKind
    text: str
    needle: str
    source: str = ""
    folder: str = ""
    context: str = ""
