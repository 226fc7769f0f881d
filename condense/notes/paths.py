"""Paths: the files that a tool call reads or edits, told by its arguments, and their lines."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from condense.notes.ledger import FileUse
from condense.notes.tool_calls import Call

# Names of arguments, in small letters and without underscores.
_ONE = {"path", "filepath", "notebookpath", "filename", "file", "targetfile", "absolutepath"}
_MANY = {"paths", "files", "filepaths", "edits"}
_EDITS = {
    "content", "newstring", "newstr", "newsource", "newtext", "oldstring", "oldstr", "filetext",
    "inserttext", "diff", "patch", "edits", "replacement", "replacements", "codeedit", "operations",
}  # fmt: skip
_SEARCHES = {"pattern", "regex", "query", "glob", "filepattern", "recursive"}
_LISTING = re.compile(r"list|glob|tree|\bls\b|(?:^|_)dir", re.IGNORECASE)
_CHANGING = re.compile(r"write|edit|patch|replace|insert|create|delete|remove|move", re.IGNORECASE)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_SUFFIX = re.compile(r"[^./\\]\.\w{1,12}$")
MAX_PATH = 400  # characters; more is no path


def touched_paths(call: Call) -> tuple[str, ...]:
    """Return the files the call names, each once; folders that it searches are left out."""
    keys = _keys(call.arguments)
    found = [*_named(keys)]
    for value in call.arguments.values():
        if isinstance(value, str) and value.startswith("*** Begin Patch"):
            found += _PATCHED.findall(value)
    if keys.keys() & _SEARCHES or _LISTING.search(call.name):
        found = [path for path in found if _SUFFIX.search(path)]
    return tuple(dict.fromkeys([path for item in found if (path := normal_path(item))]))


def is_edit(call: Call) -> bool:
    """Whether the call changes the files it names."""
    keys = _keys(call.arguments)
    if keys.keys() & _SEARCHES or keys.get("command") == "view":
        return False
    return bool(keys.keys() & _EDITS or _CHANGING.search(call.name))


def normal_path(path: str) -> str:
    """Return the path without ``./`` and doubled slashes; empty where it can't be one."""
    if len(path) > MAX_PATH or not path.isprintable() or "://" in path:
        return ""
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    if "//" in path:
        path = re.sub(r"(?<=.)//+", "/", path)
    return path.removesuffix("/.").strip().rstrip("/")


def _keys(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {_plain(key): value for key, value in arguments.items()}


@lru_cache(1_000)  # arguments have few names, and each is asked about in every call
def _plain(key: str) -> str:
    return key.replace("_", "").lower()


def _named(keys: Mapping[str, Any]) -> Iterator[str]:
    for key, value in keys.items():
        if key in _ONE and isinstance(value, str):
            yield value
        elif key in _MANY and isinstance(value, list):
            for item in value:
                if isinstance(item, str):
                    yield item
                elif isinstance(item, Mapping):
                    inner = _keys(item).items()
                    yield from (
                        path for key, path in inner if key in _ONE and isinstance(path, str)
                    )


HERE = "./"  # before a path that is not below the common folder, nor absolute
TAB = "\t"  # between a path, which holds none, and the identifiers named with it
_COUNTED = re.compile(r"(\d{1,12})/(\d{1,12}) (.+)")
_MIN_SAVING = 8  # characters; less is not worth a common folder


def by_folder(files: Iterable[FileUse]) -> tuple[FileUse, ...]:
    """Return the files folder by folder, the folder of the first one first."""
    return tuple([file for group in _groups(files) for file in group])


def _groups(files: Iterable[FileUse]) -> list[list[FileUse]]:
    groups: dict[str, list[FileUse]] = {}
    for file in files:
        groups.setdefault(_folder(file.path), []).append(file)
    return list(groups.values())


def common_root(paths: Iterable[str]) -> str:
    """Return the folder whose name, left out, saves most; each path keeps its own folder."""
    counts: dict[str, int] = {}
    for folder in dict.fromkeys(map(_folder, paths)):
        # The absolute folders above this one, with their slash.
        ends = [match.start() + 1 for match in re.finditer("/", folder)][1:-1]
        for root in [folder[:end] for end in ends] if folder.startswith("/") else ():
            counts[root] = counts.get(root, 0) + 1
    saved = {root: (count - 1) * len(root) for root, count in counts.items()}
    best = max(saved, key=lambda root: (saved[root], root), default="")
    return best if saved.get(best, 0) >= _MIN_SAVING else ""


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
