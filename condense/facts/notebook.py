"""Collects facts from messages in reading order, going on from an earlier ledger."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace

from condense.facts.asking import names_in, said
from condense.facts.calls import Call, read_calls
from condense.facts.failing import error_line
from condense.facts.ledger import Failure, FileUse, Ledger, Mark, Request, Run
from condense.facts.paths import is_edit, touched_paths
from condense.facts.plain import one_line
from condense.facts.reading import ledger_of
from condense.facts.shell import command_of, families_of, head_of, is_lookup
from condense.facts.text import ARROW
from condense.facts.todos import TodoList
from condense.facts.tree import by_folder
from condense.messages import Message

REQUEST = 1_500  # characters of each request, verbatim
# Calls after which an error that nobody came back to is taken for settled in another way.
STALE = 50
NAMES = 200  # more names than any ledger shows
_MARKS: dict[str, Mark] = {"ok": "", "failed": "!", "refused": "?", "unknown": "?"}


class Notebook:
    """Facts so far; each kind by what identifies a fact, the newest last."""

    def __init__(self, request_limit: int = REQUEST) -> None:
        """Begin with nothing known."""
        self.request_limit = request_limit
        self.requests: dict[str, Request] = {}
        self.files: dict[str, FileUse] = {}
        self.runs: dict[str, Run] = {}
        self.failures: dict[str, Failure] = {}
        self.families: dict[str, frozenset[str]] = {}
        self.failed_at: dict[str, int] = {}
        self.calls = 0
        self.names: dict[str, None] = {}
        self.todos = TodoList()

    def read(self, messages: Sequence[Message]) -> None:
        """Note the facts of messages, and go on from the ledgers of summaries and markers."""
        calls: dict[str, list[Call]] = defaultdict(list)
        for message, call in read_calls(messages):
            calls[message.id].append(call)
        for message in messages:
            if earlier := ledger_of(message):
                self.carry(earlier)
            elif text := said(message):
                self.hear(text)
            for call in calls.pop(message.id, ()):
                self.watch(call)

    def carry(self, earlier: Ledger) -> None:
        """Take over facts as they are; one that is known already counts once."""
        for request in reversed(earlier.requests):
            _renew(self.requests, request.text, request)
            self._note_names(request.text)
        for name in reversed(earlier.names):
            _renew(self.names, name, None)
        for file in reversed(earlier.files):
            _renew(self.files, file.path, _fuller(file, self.files.get(file.path)))
        for run in reversed(earlier.runs):
            known = self.runs.get(run.head, run)
            _renew(self.runs, run.head, replace(run, times=max(run.times, known.times)))
        for failure in reversed(earlier.failures):
            _renew(self.failures, failure.subject, failure)
            self.failed_at[failure.subject] = self.calls
        self.todos.carry(earlier.todos, earlier.done)

    def hear(self, text: str) -> None:
        """Note what the user said."""
        kept = text[: self.request_limit]
        _renew(self.requests, kept, Request(kept, len(text) - len(kept)))
        self._note_names(text)

    def watch(self, call: Call) -> None:
        """Note what a tool was called for, and how that went."""
        self.calls += 1
        self.todos.follow(call)
        paths = touched_paths(call)
        command = "" if paths else command_of(call)
        for path in paths:
            self._touch(path, call)
        if command.strip():
            self._run(command, call)
        elif not paths:
            self._settle(one_line(call.name, REQUEST), call)

    def ledger(self) -> Ledger:
        """Return all that is known, newest first."""
        return Ledger(
            requests=tuple(reversed(self.requests.values())),
            files=by_folder(reversed(self.files.values())),
            runs=tuple(reversed(self.runs.values())),
            failures=tuple(f for f in reversed(self.failures.values()) if self._is_fresh(f)),
            todos=tuple(self.todos.open.values()),
            done=self.todos.done,
            names=tuple(reversed(self.names))[:NAMES],
        )

    def _is_fresh(self, failure: Failure) -> bool:
        return self.calls - self.failed_at.get(failure.subject, 0) < STALE

    def _note_names(self, text: str) -> None:
        for name in reversed(names_in(text)):
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
            self._settle(path, call)

    def _run(self, command: str, call: Call) -> None:
        head, families = head_of(command), families_of(command)
        times = self.runs[head].times + 1 if head in self.runs else 1
        _renew(self.runs, head, Run(head, times, _MARKS[call.outcome]))
        if call.outcome == "ok":
            self._resolve(families)
        if call.outcome == "ok" or not is_lookup(command):
            self.families[head] = families
            self._settle(head, call)

    def _settle(self, subject: str, call: Call) -> None:
        """Note a failure, or that an earlier one of the same subject is over."""
        # Also at its end, where it would begin the arrow that ends a subject in the text.
        subject = subject.replace(ARROW.strip(), "=>")
        if call.outcome == "ok":
            self.failures.pop(subject, None)
        elif call.outcome == "failed" and (line := error_line(call.answer)):
            _renew(self.failures, subject, Failure(subject, line))
            self.failed_at[subject] = self.calls

    def _resolve(self, families: frozenset[str]) -> None:
        """Forget failures of commands of the same kind as one that went well."""
        failed = {subject: self.families.get(subject) for subject in self.failures}
        for subject, known in failed.items():
            if families & (families_of(subject) if known is None else known):
                del self.failures[subject]


def _renew[Key: Hashable, Value](facts: dict[Key, Value], key: Key, value: Value) -> None:
    """Set the fact and make it the newest."""
    facts.pop(key, None)
    facts[key] = value


def _fuller(file: FileUse, known: FileUse | None) -> FileUse:
    if known is None:
        return file
    return FileUse(file.path, max(file.edits, known.edits), max(file.reads, known.reads))
