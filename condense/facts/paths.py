"""Which files a tool call reads or edits, told by its arguments rather than its name."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from condense.facts.calls import Call

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
    found = [*_named(keys), *_in_patches(call.arguments.values())]
    if keys.keys() & _SEARCHES or _lists(call.name):
        found = [path for path in found if _SUFFIX.search(path)]
    return tuple(dict.fromkeys(path for item in found if (path := normal_path(item))))


def is_edit(call: Call) -> bool:
    """Whether the call changes the files it names."""
    keys = _keys(call.arguments)
    if keys.keys() & _SEARCHES or keys.get("command") == "view":
        return False
    return bool(keys.keys() & _EDITS) or _changes(call.name)


# Tools and their arguments have few names, and each is asked about in every call.
@lru_cache(1_000)
def _lists(tool: str) -> bool:
    return bool(_LISTING.search(tool))


@lru_cache(1_000)
def _changes(tool: str) -> bool:
    return bool(_CHANGING.search(tool))


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


@lru_cache(1_000)
def _plain(key: str) -> str:
    return key.replace("_", "").lower()


def _named(keys: Mapping[str, Any]) -> Iterator[str]:
    for key, value in keys.items():
        if key in _ONE and isinstance(value, str):
            yield value
        elif key in _MANY and isinstance(value, list):
            for item in value:
                yield from [item] if isinstance(item, str) else _inner(item)


def _inner(item: Any) -> Iterator[str]:
    if isinstance(item, Mapping):
        keys = _keys(item)
        yield from (value for key, value in keys.items() if key in _ONE and isinstance(value, str))


def _in_patches(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str) and value.startswith("*** Begin Patch"):
            yield from _PATCHED.findall(value)
