"""What tool calls did: files, commands and errors, and the identifiers they named."""

from collections.abc import Hashable, Iterator
from dataclasses import replace

from condense.notes import tool_calls
from condense.notes.failures import Failures, judged
from condense.notes.identifiers import Identifiers
from condense.notes.ledger import FileUse, Ledger, Mark, Run
from condense.notes.ledger_text import ARROW
from condense.notes.paths import by_folder, is_edit, touched_paths
from condense.notes.sentences import leaves, one_line
from condense.notes.tool_calls import Call

SUBJECT = 100  # characters of a tool's name and first argument
_MARKS: dict[str, Mark] = {"ok": "", "failed": "!", "refused": "?", "unknown": "?"}


class Work:
    """Facts by what identifies them, the newest last."""

    def __init__(self) -> None:
        """Begin with nothing done."""
        self.identifiers = Identifiers()
        self._files: dict[str, FileUse] = {}
        self._runs: dict[str, Run] = {}
        self._failures = Failures()

    def carry(self, earlier: Ledger) -> None:
        """Take over what an earlier ledger tells; what is known already counts once."""
        for file in reversed(earlier.files):
            _renew(self._files, file.path, _fuller(file, self._files.get(file.path)))
        for run in reversed(earlier.runs):
            known = self._runs.get(run.head, run)
            _renew(self._runs, run.head, replace(run, times=max(run.times, known.times)))
        self._failures.carry(reversed(earlier.failures))
        self.identifiers.carry(_identified(earlier))

    def watch(self, call: Call) -> None:
        """Note what a tool was called for, and how that went."""
        self._failures.count()
        paths = touched_paths(call)
        command = "" if paths else tool_calls.command_of(call)
        self.identifiers.note(call, paths[0] if len(paths) == 1 else "")
        for path in paths:
            self._touch(path, call)
        if command.strip():
            self._run(command, call)
        elif not paths:
            first = next(leaves(call.arguments), "")
            subject = one_line(f"{call.name} {first}".strip(), SUBJECT)
            self._failures.settle(_subject(subject), call)

    def ledger(self) -> Ledger:
        """Return all but identifiers, newest first."""
        return Ledger(
            files=by_folder(reversed(self._files.values())),
            runs=tuple(reversed(self._runs.values())),
            failures=self._failures.newest(),
        )

    def _touch(self, path: str, call: Call) -> None:
        known = self._files.get(path, FileUse(path))
        changes = is_edit(call)
        if call.outcome == "ok" and changes:
            known = replace(known, edits=known.edits + 1)
        elif call.outcome == "ok":
            known = replace(known, reads=known.reads + 1)
        _renew(self._files, path, known)
        if changes or call.outcome == "ok":
            self._failures.settle(_subject(path), call)

    def _run(self, command: str, call: Call) -> None:
        head, done = tool_calls.head_of(command), judged(command, call)
        known = self._runs.get(head)
        mark = _MARKS[done.outcome]
        if done.outcome != call.outcome and done.outcome == "unknown":
            # It ended well, and says nothing of what went wrong before.
            mark = known.mark if known else ""
        _renew(self._runs, head, Run(head, known.times + 1 if known else 1, mark))
        self._failures.settle_run(_subject(head), command, done)


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
