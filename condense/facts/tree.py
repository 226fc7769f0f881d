"""Paths as lines: what files have in common is written once.

A line that ends with a slash is a folder; names without a slash below it are the files in it. Any
other line is a whole path, as seen from the common folder in the section's title, or absolute.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from condense.facts.ledger import FileUse

HERE = "./"  # before a path that is not below the common folder, nor absolute
TAB = "\t"  # between a path, which holds none, and the identifiers named with it
_COUNTED = re.compile(r"(\d{1,12})/(\d{1,12}) (.+)")
_MIN_SAVING = 8  # characters; less is not worth a common folder


def by_folder(files: Iterable[FileUse]) -> tuple[FileUse, ...]:
    """Return the files folder by folder, the folder of the first one first."""
    return tuple(file for group in _groups(files) for file in group)


def _groups(files: Iterable[FileUse]) -> list[list[FileUse]]:
    groups: dict[str, list[FileUse]] = {}
    for file in files:
        groups.setdefault(_folder(file.path), []).append(file)
    return list(groups.values())


def common_root(paths: Iterable[str]) -> str:
    """Return the folder whose name, left out, saves most; each path keeps its own folder."""
    counts: dict[str, int] = {}
    for path in dict.fromkeys(map(_folder, paths)):
        for root in _roots(path):
            counts[root] = counts.get(root, 0) + 1
    saved = {root: (count - 1) * len(root) for root, count in counts.items()}
    best = max(saved, key=lambda root: (saved[root], root), default="")
    return best if saved.get(best, 0) >= _MIN_SAVING else ""


def _roots(folder: str) -> list[str]:
    """Return the absolute folders above this one, with their slash."""
    ends = [match.start() + 1 for match in re.finditer("/", folder)]
    return [folder[:end] for end in ends[1:-1]] if folder.startswith("/") else []


def _folder(path: str) -> str:
    return path[: path.rfind("/") + 1]


def file_lines(files: Iterable[FileUse], root: str) -> Iterator[str]:
    """Yield the lines of files that come folder by folder."""
    for group in _groups(files):
        folder = _folder(group[0].path)
        if folder not in ("", root) and len(group) > 1:
            yield _seen_from(root, folder)
            yield from (file_line(file, file.path.removeprefix(folder)) for file in group)
        else:
            yield from (file_line(file, _seen_from(root, file.path)) for file in group)


def _seen_from(root: str, path: str) -> str:
    """Return a path that can't be taken for a name in the folder of the line before."""
    shown = path.removeprefix(root)
    if path.startswith("/"):
        # What lies directly in the common folder, or would look absolute, is written whole.
        return shown if "/" in shown and not shown.startswith(("/", HERE)) else path
    return shown if "/" in shown and not (root or shown.startswith(HERE)) else HERE + shown


def file_line(file: FileUse, shown: str) -> str:
    """Return ``edits/reads path`` and identifiers; a file read once needs no numbers."""
    named = f"{TAB}{' '.join(file.names)}" if file.names else ""
    if (file.edits, file.reads) == (0, 1) and not _COUNTED.fullmatch(shown):
        return f"{shown}{named}"
    return f"{file.edits}/{file.reads} {shown}{named}"


def read_files(lines: Sequence[str], root: str) -> tuple[FileUse, ...]:
    """Return the files that the lines tell of."""
    files, folder = [], ""
    for line in lines:
        if line.endswith("/"):
            folder = _whole(line, root)
            continue
        told, _, named = line.partition(TAB)
        found = _COUNTED.fullmatch(told)
        edits, reads, shown = found.groups() if found else ("0", "1", told)
        path = _whole(shown, root) if "/" in shown else folder + shown
        files.append(FileUse(path, int(edits), int(reads), tuple(named.split())))
    return tuple(files)


def _whole(shown: str, root: str) -> str:
    return shown.removeprefix(HERE) if shown.startswith(("/", HERE)) else root + shown
