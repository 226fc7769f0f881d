"""What people write for short in a message, and select in one: what is meant by it.

``commands``  ``/name`` at the beginning, and the text that it is short for
``paths``     paths that complete what was typed after ``@``
``mentions``  ``@path`` in a text, and the file or folder that it adds, or that is missing
``passages``  what was selected of a text as the page shows it
"""

from chatapp.composing.commands import (
    LONGEST_TEXT,
    NAME,
    Command,
    called_in,
    commands_in,
    read_command,
)
from chatapp.composing.mentions import added_by, missing_in
from chatapp.composing.passages import find_passage
from chatapp.composing.paths import Found, find_paths

__all__ = [
    "LONGEST_TEXT",
    "NAME",
    "Command",
    "Found",
    "added_by",
    "called_in",
    "commands_in",
    "find_passage",
    "find_paths",
    "missing_in",
    "read_command",
]
