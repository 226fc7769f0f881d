"""Paths of a workspace that complete what was typed after ``@``."""

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import condense
from chatapp.agent.errors import ToolError
from chatapp.tools.workspace import Entry, Workspace

# Files that hold rules of what is left out, in the root; and paths that are looked at.
RULES = (".gitignore", ".rooignore")
MOST_LOOKED_AT = 50_000

_Rank = tuple[int, int, int, str]


@dataclass(frozen=True, slots=True)
class Found:
    """A file, or a folder, whose ``path`` ends with a slash; ``mention`` is how it is written."""

    path: str
    is_folder: bool

    @property
    def mention(self) -> str:
        """The path as a message names it: in quotes where it has spaces."""
        path = self.path.replace('"', "%22")
        return f'@"{path}"' if any(one.isspace() for one in path) else f"@{path}"


def find_paths(workspace: Workspace, typed: str, most: int = 20) -> list[Found]:
    """Return the paths that go best with what was typed, the best first.

    One that begins so goes before one whose name does, holds it, or has its letters in their order.
    What the workspace ignores is left out.
    """
    wanted = typed.casefold().removeprefix("/").removeprefix("./")
    ranked = ((_rank(one.path, wanted), one) for one in _paths(workspace, ignored_in(workspace)))
    fitting = ((rank, one) for rank, one in ranked if rank is not None)
    return [one for _, one in heapq.nsmallest(most, fitting, key=lambda pair: pair[0])]


def ignored_in(workspace: Workspace, rules: Iterable[str] = RULES) -> Callable[[str], bool]:
    """Return whether a path, a folder's with a slash, is left out by the rules in the root."""
    lines: list[str] = []
    for name in rules:
        try:
            lines += workspace.read_text(name).splitlines()
        except ToolError:
            continue
    return condense.ignore_matcher(lines) if lines else lambda _path: False


def _paths(workspace: Workspace, ignored: Callable[[str], bool]) -> Iterator[Found]:
    try:
        for entry in itertools.islice(workspace.walk(".", without=ignored), MOST_LOOKED_AT):
            if entry.kind in {"file", "folder"} and not entry.closed:
                found = _found(entry)
                if found.is_folder or not ignored(found.path):
                    yield found
    except ToolError:
        return


def _found(entry: Entry) -> Found:
    is_folder = entry.kind == "folder"
    return Found(f"{entry.path}/" if is_folder else entry.path, is_folder)


def _rank(path: str, wanted: str) -> _Rank | None:
    """Return where a path stands among those that go with ``wanted``, None where it does not."""
    folded = path.casefold()
    name = folded.rstrip("/").rpartition("/")[2]
    if folded.startswith(wanted):
        fit = 0
    elif name.startswith(wanted):
        fit = 1
    elif wanted in name:
        fit = 2
    elif wanted in folded:
        fit = 3
    elif _has_in_order(folded, wanted):
        fit = 4
    else:
        return None
    return fit, path.rstrip("/").count("/"), len(path), path


def _has_in_order(text: str, letters: str) -> bool:
    place = -1
    return all((place := text.find(one, place + 1)) >= 0 for one in letters)
