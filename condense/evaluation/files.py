"""The files of a recorded session, as far as it shows them, folded beside its summaries."""

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, override

from condense.evaluation.reading import result_text
from condense.folding import Folded, fold_files
from condense.history.pairs import pair_calls
from condense.messages import Message
from condense.writing.attachments import AttachFoldedFiles

# A line as clients number it: Claude Code with an arrow or a tab, others with a bar.
_NUMBERED = re.compile(r"^ *(\d{1,7})(?:\u2192|\t| \| )(.*)$", re.MULTILINE)
_PATHS = ("file_path", "path", "filePath", "notebook_path")


@dataclass(frozen=True, slots=True)
class AttachRecordedFiles(AttachFoldedFiles):
    """Adds what ``AttachFoldedFiles`` would have added when the recording was made.

    ``messages`` show the files; they are written to a folder of their own for the parser.
    """

    messages: Sequence[Message] = field(default=())

    @override
    def fold(self, paths: Sequence[str], limit: int) -> Folded:
        """Return the signatures of what the messages show of these files."""
        shown = files_shown(self.messages)
        with tempfile.TemporaryDirectory(prefix="recorded-") as folder:
            inside = [_write(Path(folder), path, shown[path]) for path in paths if path in shown]
            return fold_files(filter(None, inside), folder, limit=limit)


def files_shown(messages: Sequence[Message]) -> Mapping[str, str]:
    """Return what was read of files, line by line, or written as a whole, by their paths."""
    lines: dict[str, dict[int, str]] = {}
    for pair in pair_calls(messages).answered:
        arguments: Any = pair.call.input
        path = next((arguments[key] for key in _PATHS if key in arguments), None)
        if not isinstance(path, str) or pair.result.is_error:
            continue
        if isinstance(content := arguments.get("content"), str):
            lines[path] = dict(enumerate(content.split("\n")))
        elif read := _NUMBERED.findall(result_text(pair.result)):
            lines.setdefault(path, {}).update((int(at), line) for at, line in read)
    return {
        path: "\n".join(line for _, line in sorted(known.items())) for path, known in lines.items()
    }


def _write(folder: Path, path: str, text: str) -> str:
    """Write the file below the folder and return where; nothing where its name leads elsewhere."""
    inside = PurePosixPath(path.lstrip("/"))
    if ".." in inside.parts or not inside.parts:
        return ""
    place = folder / inside
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8", "replace")
    except (OSError, ValueError):
        return ""
    return str(inside)
