"""Ledgers as Markdown: lists by kind for people and models, taken apart again exactly as written.

Each fact is an item. What goes on below its first line, and would look like an item or a heading,
is indented. So no fact can end the ledger or open a section.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from condense.facts.ledger import Failure, FileUse, Ledger, Request, Run, Todo
from condense.facts.old_ledger import OLD_BEGINNING, parse_old_ledger
from condense.messages import Message, TextBlock

BEGINNINGS = ("## Ledger\n### ", OLD_BEGINNING)
END = "(end of ledger)"
ITEM, SECTION, INDENT = "- ", "### ", "  "
_STRUCTURE = (ITEM, "#", " ", END)  # how no line of a fact may begin that is not its first
RULES, REQUESTS, RUNS, FAILURES = "Standing rules", "User messages", "Commands", "Open errors"
NAMES, LAST_REPLY = "Names", "Last reply"
FILES, BELOW, EDITED = "Files (* changed)", ", below ", "*"
_ARROW = " ⇒ "
_ABOUT = re.compile(r"\(re: (.*?)\) ")
_TIMES = re.compile(r" x(\d{1,9})\Z")
_TODO = re.compile(r"\[([ -])\] (\S*?): (.*)")
_DONE = re.compile(r"To do, (\d{1,9}) done")
# A path with these is written as JSON: it could be read otherwise.
_ODD = re.compile(r"[,:\"]|\A\s|[\s*]\Z")
_MIN_SAVING = 8  # characters; less is not worth a common folder


def render(ledger: Ledger) -> str:
    """Return the text of a ledger, empty where there is nothing to say."""
    lines = [
        line
        for title, items in _sections(ledger)
        if items
        for line in (f"{SECTION}{title}", *map(_item, items))
    ]
    return "\n".join(("## Ledger", *lines, END)) if lines else ""


def _sections(ledger: Ledger) -> Iterator[tuple[str, Iterable[str]]]:
    yield RULES, ledger.rules
    yield REQUESTS, [_request(one) for one in ledger.requests]
    todos = [f"[{'-' if one.active else ' '}] {one.id}: {one.text}" for one in ledger.todos]
    if todos or ledger.done:
        yield f"To do, {ledger.done} done", todos or [""]
    root = common_root([file.path for file in ledger.files])
    yield f"{FILES}{BELOW}{root}" if root else FILES, [*_folders(ledger.files, root)]
    yield RUNS, [f"`{_run(one)}`" for one in ledger.runs]
    subjects = [one.subject.replace(_ARROW.strip(), "=>") for one in ledger.failures]
    messages = [one.message for one in ledger.failures]
    yield FAILURES, list(map(_ARROW.join, zip(subjects, messages, strict=True)))
    yield NAMES, [" ".join(ledger.names)] if ledger.names else []
    yield LAST_REPLY, [ledger.last_reply] if ledger.last_reply else []


def _item(text: str) -> str:
    first, *others = text.split("\n")
    indented = [f"{INDENT}{line}" if line.startswith(_STRUCTURE) else line for line in others]
    return "\n".join((f"{ITEM}{first}", *indented))


def _request(request: Request) -> str:
    if request.to or _ABOUT.match(request.text):
        return f"(re: {request.to.replace(') ', ')')}) {request.text}"
    return request.text


def _run(run: Run) -> str:
    is_counted = run.times > 1 or _TIMES.search(run.head)
    return f"{run.head} x{run.times}" if is_counted else run.head


def common_root(paths: Iterable[str]) -> str:
    """Return the folder whose name, left out, saves most."""
    counts: dict[str, int] = {}
    for folder in dict.fromkeys(path[: path.rfind("/") + 1] for path in paths):
        # The absolute folders above this one, with their slash.
        ends = [match.start() + 1 for match in re.finditer("/", folder)][1:]
        for root in [folder[:end] for end in ends] if folder.startswith("/") else ():
            counts[root] = counts.get(root, 0) + 1
    saved = {root: (count - 1) * len(root) for root, count in counts.items()}
    best = max(saved, key=lambda root: (saved[root], root), default="")
    return best if saved.get(best, 0) >= _MIN_SAVING else ""


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
    """Return the ledger that the text begins with, None where it begins with none.

    Only a whole ledger counts: one that was cut off, or quoted within other text, is none.
    """
    if text.startswith(OLD_BEGINNING):
        return parse_old_ledger(text)
    body, closed, _ = f"{text}\n".partition(f"\n{END}\n")
    if not (closed and text.startswith(BEGINNINGS[0])):
        return None
    ledger = Ledger()
    for section in body.split(f"\n{SECTION}")[1:]:
        title, *lines = section.split("\n")
        ledger = _with_section(ledger, title, [*_items(lines)])
    return ledger


def ledger_of(message: Message) -> Ledger | None:
    """Return the ledger that a summary or a marker carries after its own words.

    What anyone else writes is none, nor is what another program's summary begins with.
    """
    if not (message.is_summary or message.is_marker):
        return None
    for block in message.blocks[1:]:
        if isinstance(block, TextBlock) and (found := parse_ledger(block.text)):
            return found
    return None


def _items(lines: Sequence[str]) -> Iterator[str]:
    item: list[str] = []
    for line in lines:
        if line.startswith(ITEM):
            if item:
                yield "\n".join(item)
            item = [line.removeprefix(ITEM)]
        else:
            item.append(line.removeprefix(INDENT))
    if item:
        yield "\n".join(item)


def _with_section(ledger: Ledger, title: str, items: Sequence[str]) -> Ledger:
    if done := _DONE.fullmatch(title):
        found = [todo for item in items if (todo := _TODO.fullmatch(item))]
        todos = tuple([Todo(one[2], one[3], one[1] == "-") for one in found])
        return replace(ledger, todos=todos, done=int(done[1]))
    kind, _, root = title.partition(BELOW)
    facts: dict[str, Any] = {}
    if kind == RULES:
        facts["rules"] = tuple(items)
    elif kind == REQUESTS:
        facts["requests"] = tuple(map(_read_request, items))
    elif kind == FILES:
        facts["files"] = tuple([file for item in items for file in _files(item, root)])
    elif kind == RUNS:
        facts["runs"] = tuple(map(_read_run, items))
    elif kind == FAILURES:
        told = [item.split(_ARROW, 1) for item in items if _ARROW in item]
        facts["failures"] = tuple([Failure(*one) for one in told])
    elif kind == NAMES:
        facts["names"] = tuple(" ".join(items).split())
    elif kind == LAST_REPLY:
        facts["last_reply"] = "\n".join(items)
    return replace(ledger, **facts)


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


def _read_request(item: str) -> Request:
    about = _ABOUT.match(item)
    return Request(item[about.end() :], about[1]) if about else Request(item)


def _read_run(item: str) -> Run:
    head = item.removeprefix("`").removesuffix("`")
    times = _TIMES.search(head)
    return Run(head[: times.start()], int(times[1])) if times else Run(head)
