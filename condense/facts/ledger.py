"""Ledgers: the facts of hidden messages, the newest first, and their Markdown.

The Markdown has a list for each kind of fact, and is parsed again without loss. Each fact is an
item. Further lines of a fact that look like an item or a heading are indented, so that no fact can
end the ledger or open a section.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import Any

from condense.messages import Message, TextBlock

BEGINNINGS = ("## Ledger\n### ", "## Ledger ~")  # the second is shown, and not read any more
END = "(end of ledger)"
ITEM, SECTION, INDENT = "- ", "### ", "  "
NEWEST = ", newest first"  # of two values the one that holds; earlier ledgers do not say so
_STRUCTURE = (ITEM, "#", " ", END)  # how no line of a fact may begin that is not its first
FILES, BELOW, EDITED = "Files (* changed)", ", below ", "*"
NAMES, LAST_REPLY = "Names", "Last reply"
_ARROW = " ⇒ "
_ABOUT = re.compile(r"\(re: (.*?)\) ")
_TIMES = re.compile(r" x(\d{1,9})\Z")
_TODO = re.compile(r"\[([ -])\] (\S*?): (.*)")
_DONE = re.compile(r"To do, (\d{1,9}) done")
# A path with these is written as JSON: it could be read otherwise.
_ODD = re.compile(r"[,:\"]|\A\s|[\s*]\Z")
_LEAST_SAVED_CHARS = 8  # less is not worth a common folder


@dataclass(frozen=True, slots=True)
class Demand:
    """The user's words, and ``to`` which question or call; ``[…]`` stands for a cut."""

    text: str
    to: str = ""


@dataclass(frozen=True, slots=True)
class FileUse:
    """A file that was read, or also edited."""

    path: str
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """The beginning of a command, and the number of its runs."""

    head: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that nothing has resolved: its source and its words."""

    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class Todo:
    """An open item of the to-do list; ``id`` is the list's own or its number there."""

    id: str
    text: str
    active: bool = False


@dataclass(frozen=True, slots=True)
class Ledger:
    """Facts copied from hidden messages.

    ``rules`` are sentences of requests that do not stand here whole; ``done`` counts the to-do
    items that are ticked off; ``names`` are identifiers, hashes and ids; ``last_reply`` is the
    newest reply that ended a turn.
    """

    rules: tuple[str, ...] = ()
    requests: tuple[Demand, ...] = ()
    todos: tuple[Todo, ...] = ()
    done: int = 0
    files: tuple[FileUse, ...] = ()
    runs: tuple[Run, ...] = ()
    failures: tuple[Failure, ...] = ()
    names: tuple[str, ...] = ()
    last_reply: str = ""


def _request(request: Demand) -> str:
    if request.to or _ABOUT.match(request.text):
        return f"(re: {request.to.replace(') ', ')')}) {request.text}"
    return request.text


def _read_request(item: str) -> Demand:
    about = _ABOUT.match(item)
    return Demand(item[about.end() :], about[1]) if about else Demand(item)


def _run(run: Run) -> str:
    is_counted = run.times > 1 or _TIMES.search(run.head)
    return f"`{run.head} x{run.times}`" if is_counted else f"`{run.head}`"


def _read_run(item: str) -> Run:
    head = item.removeprefix("`").removesuffix("`")
    times = _TIMES.search(head)
    return Run(head[: times.start()], int(times[1])) if times else Run(head)


def _failure(failure: Failure) -> str:
    return f"{failure.subject.replace(_ARROW.strip(), '=>')}{_ARROW}{failure.message}"


def _read_failure(item: str) -> Failure:
    subject, _, message = item.partition(_ARROW)
    return Failure(subject, message)


# The writer and reader of each kind of fact that has items of its own.
_LISTS: Mapping[str, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    "Standing rules": ("rules", str, str),
    "User messages": ("requests", _request, _read_request),
    "Commands": ("runs", _run, _read_run),
    "Open errors": ("failures", _failure, _read_failure),
}


def render(ledger: Ledger) -> str:
    """Return the text of a ledger, empty if there is nothing to say."""
    lists = {title: map(write, getattr(ledger, kind)) for title, (kind, write, _) in _LISTS.items()}
    root = common_root([file.path for file in ledger.files])
    todos = [f"[{'-' if one.active else ' '}] {one.id}: {one.text}" for one in ledger.todos]
    sections: dict[str, Iterable[str]] = {
        f"Standing rules{NEWEST}": lists.pop("Standing rules"),
        f"User messages{NEWEST}": lists.pop("User messages"),
        f"To do, {ledger.done} done": todos or ["none left"] * bool(ledger.done),
        f"{FILES}{BELOW}{root}" if root else FILES: _folders(ledger.files, root),
        **lists,
        NAMES: [" ".join(ledger.names)] if ledger.names else [],
        LAST_REPLY: [ledger.last_reply] if ledger.last_reply else [],
    }
    lines: list[str] = []
    for title, texts in sections.items():
        if items := list(map(_item, texts)):
            lines += (f"{SECTION}{title}", *items)
    return "\n".join(("## Ledger", *lines, END)) if lines else ""


def _item(text: str) -> str:
    first, *others = text.split("\n")
    indented = [f"{INDENT}{line}" if line.startswith(_STRUCTURE) else line for line in others]
    return "\n".join((f"{ITEM}{first}", *indented))


def common_root(paths: Iterable[str]) -> str:
    """Return the folder whose name, left out, saves most."""
    folders = {path[: path.rfind("/") + 1] for path in paths if path.startswith("/")}
    # The folders above each and itself, with their slash.
    roots = [accumulate(re.findall("(?:^/)?[^/]+/", folder)) for folder in folders]
    counts = Counter(chain.from_iterable(roots))
    saved = {root: (count - 1) * len(root) for root, count in counts.items()}
    best = max(saved, key=lambda root: (saved[root], root), default="")
    return best if saved.get(best, 0) >= _LEAST_SAVED_CHARS else ""


def _folders(files: Sequence[FileUse], root: str) -> Iterator[str]:
    """Yield a line for each folder with its files."""
    folders: dict[str, list[str]] = {}
    for file in files:
        mark = EDITED if file.edited else ""
        folder, name = file.path[: file.path.rfind("/") + 1], file.path[file.path.rfind("/") + 1 :]
        if not folder or _ODD.search(file.path):
            folders[json.dumps(file.path, ensure_ascii=False) + mark] = []
        else:
            shown = f"./{folder.removeprefix(root)}" if root and folder.startswith(root) else folder
            folders.setdefault(shown, []).append(f"{name}{mark}")
    for folder, names in folders.items():
        yield f"{folder}: {', '.join(names)}" if names else folder


def parse_ledger(text: str) -> Ledger | None:
    """Return the ledger that the text begins with, None if it begins with none.

    Only a whole ledger counts: one that was cut off, or quoted within other text, is none.
    """
    body, closed, _ = f"{text}\n".partition(f"\n{END}\n")
    if not closed or not text.startswith(BEGINNINGS[0]):
        return None
    facts: dict[str, Any] = {}
    for section in body.split(f"\n{SECTION}")[1:]:
        title, *lines = section.split("\n")
        facts |= _section(title, [*_items(lines)])
    return replace(Ledger(), **facts)


def ledger_of(message: Message) -> Ledger | None:
    """Return the ledger that a summary or a marker carries after its own words.

    What anyone else writes is none, nor is what another program's summary begins with.
    """
    made = message.is_summary or message.is_marker
    texts = [one.text for one in message.blocks[1:] if made and isinstance(one, TextBlock)]
    return next(filter(None, map(parse_ledger, texts)), None)


def _items(lines: Sequence[str]) -> Iterator[str]:
    item: list[str] = []
    for line in (*lines, ITEM):
        if line.startswith(ITEM):
            if item:
                yield "\n".join(item)
            item = [line.removeprefix(ITEM)]
        else:
            item.append(line.removeprefix(INDENT))


def _section(title: str, items: Sequence[str]) -> dict[str, Any]:
    kind, _, root = title.partition(BELOW)
    if done := _DONE.fullmatch(title):
        found = filter(None, map(_TODO.fullmatch, items))
        todos = [Todo(one[2], one[3], one[1] == "-") for one in found]
        return {"todos": tuple(todos), "done": int(done[1])}
    if kind == FILES:
        return {"files": tuple([file for item in items for file in _files(item, root)])}
    if kind == NAMES:
        return {"names": tuple(" ".join(items).split())}
    if kind == LAST_REPLY:
        return {"last_reply": "\n".join(items)}
    name, _, read = _LISTS.get(kind.removesuffix(NEWEST), ("", str, str))
    return {name: tuple(map(read, items))} if name else {}


def _files(item: str, root: str) -> Iterator[FileUse]:
    folder, _, names = item.partition(": ")
    if item.startswith('"'):
        try:
            folder, names = str(json.loads(item.removesuffix(EDITED))), item[-1:].strip('"')
        except ValueError:
            return
    elif root and folder.startswith("./"):
        folder = f"{root}{folder[2:]}"
    for name in names.split(", "):
        yield FileUse(f"{folder}{name.removesuffix(EDITED)}", name.endswith(EDITED))
