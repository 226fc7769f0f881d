"""Old ledgers: the form in which summaries on record before the Markdown carry theirs.

Sections and requests begin at a fence: more tildes than any line of a fact begins with.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from condense.facts.ledger import FileUse, Ledger, Request, Run, Todo

OLD_BEGINNING = "## Ledger ~"
_HEAD = re.compile(r"## Ledger (~+)\n")
_ROOT = re.compile(r"files, edits/reads(?:, identifiers)?(?:, in (.*))?")
_COUNTED = re.compile(r"(\d{1,12})(?:/\d{1,12}|[!?]?) (.+)")
_TODO = re.compile(r"(\S*) \[([ -])\] (.*)")


def parse_old_ledger(text: str) -> Ledger | None:
    """Return the ledger that the text begins with, None where it is not whole."""
    head = _HEAD.match(text)
    body, closed, _ = f"{text}\n".partition(f"\n{head[1]} end\n") if head else ("", "", "")
    if not (head and closed):
        return None
    ledger = Ledger()
    for section in body.split(f"\n{head[1]} ")[1:]:
        title, *lines = section.split("\n")
        facts = [line for line in lines if line]
        if root := _ROOT.fullmatch(title):
            ledger = replace(ledger, files=tuple(_files(facts, root[1] or "")))
        elif title.startswith("to do, "):
            found = [todo for line in facts if (todo := _TODO.fullmatch(line))]
            todos = tuple([Todo(one[1], one[3], one[2] == "-") for one in found])
            ledger = replace(ledger, todos=todos, done=int(title.split()[2]))
        elif title.startswith("commands, "):
            runs = [(line, _COUNTED.fullmatch(line)) for line in facts]
            told = [Run(run[2], int(run[1])) if run else Run(line) for line, run in runs]
            ledger = replace(ledger, runs=tuple(told))
        elif title == "user messages":
            ledger = replace(ledger, requests=tuple(_requests(lines, head[1])))
    return ledger


def _files(lines: Sequence[str], root: str) -> Iterator[FileUse]:
    folder = ""
    for line in lines:
        told = line.partition("\t")[0]
        counted = _COUNTED.fullmatch(told)
        shown = counted[2] if counted else told
        path = shown.removeprefix("./") if shown.startswith(("/", "./")) else f"{root}{shown}"
        if line.endswith("/"):
            folder = path
        else:
            path = path if "/" in shown else f"{folder}{shown}"
            yield FileUse(path, counted is not None and counted[1] != "0")


def _requests(lines: Sequence[str], fence: str) -> Iterator[Request]:
    """Yield what stands below each bare fence; one with a label behind it tells of the request."""
    words: list[str] = []
    to = ""
    for line in (*lines[1:], fence):
        if line.startswith(f"{fence}re: "):
            to = line.removeprefix(f"{fence}re: ")
        elif line == fence:
            yield Request("\n".join(words), to)
            words, to = [], ""
        elif not line.startswith(fence):
            words.append(line)
