"""Collects facts from messages in reading order, going on from an earlier ledger."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from condense.facts import asking, shell
from condense.facts.answering import words_in
from condense.facts.calls import Call, read_calls
from condense.facts.failing import Failures, judged
from condense.facts.identifiers import Identifiers
from condense.facts.ledger import FileUse, Ledger, Mark, Run
from condense.facts.paths import is_edit, touched_paths
from condense.facts.plain import leaves, one_line
from condense.facts.reading import ledger_of
from condense.facts.requests import Requests
from condense.facts.stating import Statements
from condense.facts.text import ARROW
from condense.facts.todos import TodoList
from condense.facts.tree import by_folder
from condense.messages import Message

SUBJECT = 100  # characters of a tool's name and first argument
NAMES = 200  # more names than any ledger shows
_MARKS: dict[str, Mark] = {"ok": "", "failed": "!", "refused": "?", "unknown": "?"}


class Notebook:
    """Facts so far; each kind by what identifies a fact, the newest last."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self.requests = Requests()
        self.files: dict[str, FileUse] = {}
        self.runs: dict[str, Run] = {}
        self.failures = Failures()
        self.statements = Statements()
        self.identifiers = Identifiers()
        self.names: dict[str, None] = {}
        self.todos = TodoList()
        self._reply = ""

    def read(self, messages: Sequence[Message]) -> None:
        """Note the facts of messages, and go on from the ledgers of summaries and markers."""
        calls: dict[str, list[Call]] = defaultdict(list)
        for message, call in read_calls(messages):
            calls[message.id].append(call)
        for message in messages:
            if earlier := ledger_of(message):
                self.carry(earlier)
            else:
                self.hear(message)
            for call in calls.pop(message.id, ()):
                self.watch(call)

    def carry(self, earlier: Ledger) -> None:
        """Take over facts as they are; one that is known already counts once."""
        self.requests.carry(reversed(earlier.requests))
        for request in reversed(earlier.requests):
            self._note_names(request.text)
        for name in reversed(earlier.names):
            _renew(self.names, name, None)
        for file in reversed(earlier.files):
            _renew(self.files, file.path, _fuller(file, self.files.get(file.path)))
        for run in reversed(earlier.runs):
            known = self.runs.get(run.head, run)
            _renew(self.runs, run.head, replace(run, times=max(run.times, known.times)))
        self.failures.carry(reversed(earlier.failures))
        self.statements.carry(reversed(earlier.statements))
        self.identifiers.carry(_identified(earlier))
        self.todos.carry(earlier.todos, earlier.done)

    def hear(self, message: Message) -> None:
        """Note what the user said, or a reply stated."""
        if message.role == "assistant":
            self._reply = message.text or self._reply
            self.statements.hear(message)
        elif text := asking.said(message):
            self.requests.hear(text, reply=self._reply)
            self._note_names(text)

    def watch(self, call: Call) -> None:
        """Note what a tool was called for, how that went, and what a person said to it."""
        self.failures.count()
        self.todos.follow(call)
        for words, about in words_in(call):
            self.requests.hear(words, to=about)
            self._note_names(words)
        paths = touched_paths(call)
        command = "" if paths else shell.command_of(call)
        self.identifiers.note(call, paths[0] if len(paths) == 1 else "")
        for path in paths:
            self._touch(path, call)
        if command.strip():
            self._run(command, call)
        elif not paths:
            first = next(iter(leaves(call.arguments)), "")
            self.failures.settle(_subject(one_line(f"{call.name} {first}".strip(), SUBJECT)), call)

    def ledger(self, hidden: float) -> Ledger:
        """Return all that is known but identifiers of so many ``hidden`` tokens, newest first."""
        return Ledger(
            requests=self.requests.newest(),
            files=by_folder(reversed(self.files.values())),
            runs=tuple(reversed(self.runs.values())),
            failures=self.failures.newest(),
            todos=tuple(self.todos.open.values()),
            done=self.todos.done,
            statements=self.statements.newest(hidden),
            names=tuple(reversed(self.names))[:NAMES],
        )

    def _note_names(self, text: str) -> None:
        for name in reversed(asking.names_in(text)):
            _renew(self.names, name, None)

    def _touch(self, path: str, call: Call) -> None:
        known = self.files.get(path, FileUse(path))
        changes = is_edit(call)
        if call.outcome == "ok" and changes:
            known = replace(known, edits=known.edits + 1)
        elif call.outcome == "ok":
            known = replace(known, reads=known.reads + 1)
        _renew(self.files, path, known)
        if changes or call.outcome == "ok":
            self.failures.settle(_subject(path), call)

    def _run(self, command: str, call: Call) -> None:
        head, done = shell.head_of(command), judged(command, call)
        known = self.runs.get(head)
        mark = _MARKS[done.outcome]
        if done.outcome != call.outcome and done.outcome == "unknown":
            # It ended well, and says nothing of what went wrong before.
            mark = known.mark if known else ""
        _renew(self.runs, head, Run(head, known.times + 1 if known else 1, mark))
        self.failures.settle_run(_subject(head), command, done)


def _subject(text: str) -> str:
    """Return what failed; also at its end, it holds no arrow as ends it in the ledger's text."""
    return text.replace(ARROW.strip(), "=>")


def _identified(earlier: Ledger) -> Iterator[tuple[str, str]]:
    """Yield the identifiers of a ledger, each with its file."""
    for file in earlier.files:
        yield from ((name, file.path) for name in file.names)
    yield from ((name, "") for name in earlier.identifiers)


def _renew[Key: Hashable, Value](facts: dict[Key, Value], key: Key, value: Value) -> None:
    """Set the fact and make it the newest."""
    facts.pop(key, None)
    facts[key] = value


def _fuller(file: FileUse, known: FileUse | None) -> FileUse:
    if known is None:
        return replace(file, names=())
    return FileUse(file.path, max(file.edits, known.edits), max(file.reads, known.reads))
