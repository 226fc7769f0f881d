"""``@path`` in a text: the file, image or folder of the workspace that it adds to the message.

A path that is not in the workspace is text, such as the rest of a mail address.
"""

import errno
import heapq
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import condense
from chatapp.agent.annotated_blocks import file_block, image_block
from chatapp.agent.errors import ToolError
from chatapp.agent.ports import ToolOutcome
from chatapp.tools import list_files, read_file
from chatapp.tools.workspace import Workspace, quote

# Files in the root with rules of ignored files; and the number of paths that are examined.
RULES = (".gitignore", ".rooignore")
MOST_LOOKED_AT = 50_000

_Rank = tuple[int, int, int, str]


def mention_of(path: str) -> str:
    """Return a path as a message names it: in quotes if it has spaces or another @."""
    path = path.replace('"', "%22")
    return f'@"{path}"' if any(one.isspace() or one == "@" for one in path) else f"@{path}"


def find_paths(workspace: Workspace, typed: str, most: int = 20) -> list[str]:
    """Return the paths that best match the typed text, the best first; a folder's has a slash.

    Paths that begin with the text come first, then names that do. Ignored paths are left out.
    """
    wanted = typed.casefold().removeprefix("/").removeprefix("./")
    ranked = (_rank(path, wanted) for path in _paths(workspace, ignored_in(workspace)))
    return [path for *_, path in heapq.nsmallest(most, filter(None, ranked))]


def ignored_in(workspace: Workspace, rules: Iterable[str] = RULES) -> Callable[[str], bool]:
    """Return a test for paths that the root's rules leave out; a folder's path has a slash."""
    lines: list[str] = []
    for name in rules:
        with suppress(ToolError):
            lines += workspace.read_text(name).splitlines()
    return condense.ignore_matcher(lines) if lines else lambda _path: False


def _paths(workspace: Workspace, ignored: Callable[[str], bool]) -> Iterator[str]:
    with suppress(ToolError):
        for entry in itertools.islice(workspace.walk(".", without=ignored), MOST_LOOKED_AT):
            if entry.kind == "folder" and not entry.closed:
                yield f"{entry.path}/"
            elif entry.kind == "file" and not entry.closed and not ignored(entry.path):
                yield entry.path


def _rank(path: str, wanted: str) -> _Rank | None:
    """Return a path's rank among those that match ``wanted``, None if it does not match."""
    folded = path.casefold()
    name = folded.rstrip("/").rpartition("/")[2]
    letters = iter(folded)
    fits = (
        folded.startswith(wanted),
        name.startswith(wanted),
        wanted in name,
        wanted in folded,
        all(one in letters for one in wanted),
    )
    return (fits.index(True), path.rstrip("/").count("/"), len(path), path) if any(fits) else None


# Paths of one message, and characters that they add in all.
MOST_PATHS = 20
MOST_TEXT = 200_000

# Rules that keep files from the model even if a person mentions them.
MENTION_RULES = (".rooignore",)

FILE_LEFT_OUT = (
    "[Left out: the message holds {size:,} characters of files already. Read it with read_file.]"
)

_MENTION = re.compile(
    r"""(?<![^\s(\[{<"'\u201c\u2018,;:])@(?:"([^"\n]{1,1000})"|((?:[^\s"@]|(?<=/)@){1,1000}))"""
)
# Fenced text, and text between two marks on one line.
_CODE = re.compile(r"^```.*?(?:^```|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_PUNCTUATION = ".,:;!?)]}>'”’…"
_MISSING = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}


def added_by(workspace: Workspace, text: str, *, strict: bool = True) -> Iterator[condense.Block]:
    """Yield a block for each path that a text mentions, in their order, each once.

    A path that exists or leads outside, and can't be added, raises ToolError if ``strict``, and is
    text otherwise.
    """
    kept_away, room = ignored_in(workspace, MENTION_RULES), MOST_TEXT
    seen: set[tuple[str, ...]] = set()
    for quoted, bare in _MENTION.findall(text):
        try:
            path = _path_in(workspace, quoted or bare)
            parts = workspace.locate(path) if path else ()
            if not path or parts in seen:
                continue
            if kept_away("/".join(parts)):
                said = condense.noop("{path} is kept from the model by {file}.")
                raise ToolError(said.format(path=quote(path), file=MENTION_RULES[0]))
            if len(seen) == MOST_PATHS:
                raise ToolError(
                    condense.say("A message can name at most {most} files.", most=MOST_PATHS)
                )
            block = _block(workspace, path, room)
        except ToolError:
            if strict:
                raise
            continue
        seen.add(parts)
        room -= len(block.text) if isinstance(block, condense.TextBlock) else 0
        yield block


def missing_in(workspace: Workspace, text: str) -> list[str]:
    """Return the paths that a text mentions and that lead nowhere; in code, an @ means no path."""
    missing = dict[str, None]()
    for quoted, bare in _MENTION.findall(_CODE.sub("", text)):
        written = quoted or bare.rstrip(_PUNCTUATION)
        with suppress(ToolError):
            if written.strip("./") and not _path_in(workspace, quoted or bare):
                missing[written] = None
        if len(missing) == MOST_PATHS:
            break
    return [*missing]


def _path_in(workspace: Workspace, written: str) -> str:
    """Return the path in a mention, without punctuation at its end if that is no part of it.

    "" if no path exists. Raises ToolError if it may not be read.
    """
    for one in (written, written.rstrip(_PUNCTUATION)):
        path = one.removeprefix("/")
        if not path.strip("./"):
            continue
        try:
            next(workspace.walk(path, recursive=False), None)
        except ToolError as error:
            if not (isinstance(error.__cause__, OSError) and error.__cause__.errno in _MISSING):
                raise
        else:
            return path
    return ""


def _block(workspace: Workspace, path: str, room: int) -> condense.Block:
    what = "file"
    if Path(workspace.root, *workspace.locate(path)).is_dir():
        path, what = f"{path.rstrip('/')}/", "folder"
        text = list_files.run(workspace, list_files.Arguments(path, recursive=True))
    else:
        read = read_file.run(workspace, read_file.Arguments(path))
        if isinstance(read, ToolOutcome):
            return image_block(path, read.images[0], mention="image")
        text = read
    shown = text if len(text) <= room else FILE_LEFT_OUT.format(size=MOST_TEXT - room)
    return file_block(path, shown, mention=what)
