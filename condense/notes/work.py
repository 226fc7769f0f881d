"""Work: what tool calls did to files and commands, and errors that still stand."""

import re
from collections.abc import Hashable, Iterable
from dataclasses import replace

from condense.notes.identifiers import Identifiers
from condense.notes.ledger import Failure, FileUse, Ledger, Mark, Run
from condense.notes.ledger_text import ARROW
from condense.notes.paths import by_folder, is_edit, touched_paths
from condense.notes.sentences import leaves, one_line
from condense.notes.tool_calls import (
    Aim,
    Call,
    aims_of,
    command_of,
    head_of,
    hides_failure,
    is_lookup,
    settles,
)

MESSAGE = 120  # characters
# Calls after which an error that nobody came back to is taken for settled in another way.
STALE = 50
_TAGS = re.compile(r"</?\w+>")
_NOISE = re.compile(r"^\W*+(?:exit code:? \d+|traceback \(most recent call last\):)?\W*+$", re.I)
_TELLING = re.compile(
    r"error|fail|exception|fatal|panic|not found|no such|cannot|can't|denied|conflict|undefined",
    re.IGNORECASE,
)
_SEARCHED = 20_000  # characters of an answer that are looked at
_END = 4_000  # characters in which a run says at its end how it went
# How test runners, compilers and shells say that something failed, or went well.
_FAILED = re.compile(
    r"^\s?(?:FAIL|--- FAIL|ERROR|E  |error(?:\[\w+\])?:|fatal:|panic:|npm ERR!|Traceback)"
    r"|^make(?:\[\d+\])?: \*\*\*"
    r"|(?<!\d)[1-9]\d{0,5} (?:failed|failing|failures?|errors?)\b|exit (?:status|code):? [1-9]"
    r"|: (?:error|fatal error): |command not found|No such file or directory",
    re.MULTILINE,
)
# Each of the former has one of these, which is found a hundred times as fast.
_FAILED_WORDS = (
    "FAIL", "fail", "rror", "ERR", "E  ", "fatal", "panic", "raceback", "***", "exit ", "not found",
    "No such",
)  # fmt: skip
_WELL = re.compile(
    r"^ok\b|\bPASS(?:ED)?\b|\bpassed\b|\b0 (?:errors?|issues|failed|failures|problems)\b"
    r"|\bsuccess|\bsucceeded|\bBUILD SUCCESS|\bfinished\b|\bup to date\b|✓|✔|^[^\w\n]{0,9}done\b",
    re.MULTILINE | re.IGNORECASE,
)
# And each of these one of those.
_WELL_WORDS = (
    "\nok", "pass", "0 error", "0 issue", "0 fail", "0 problem", "success", "succeeded", "finished",
    "up to date", "✓", "✔", "done",
)  # fmt: skip


def error_line(answer: str) -> str:
    """Return the line that tells most: Python's last one, else the first that names an error."""
    lines = [line.strip() for line in _TAGS.sub("", answer[:_SEARCHED]).split("\n")]
    lines = [line for line in lines if not _NOISE.match(line)]
    if not lines:
        return ""
    if "Traceback (most recent call last)" in answer:
        return one_line(lines[-1], MESSAGE)
    return one_line(next((line for line in lines if _TELLING.search(line)), lines[0]), MESSAGE)


def judged(command: str, call: Call) -> Call:
    """Return the call as its output tells it went, where the exit code tells of another part."""
    if call.outcome != "ok" or not hides_failure(command) or is_lookup(command):
        return call
    said = call.answer[-_END:]
    if any(word in said for word in _FAILED_WORDS) and _FAILED.search(said):
        return replace(call, outcome="failed")
    folded = f"\n{said.casefold()}"
    went_well = any(word in folded for word in _WELL_WORDS) and _WELL.search(said)
    return call if went_well else replace(call, outcome="unknown")


class Failures:
    """Errors by what they are of, until the same thing goes well or is long past."""

    def __init__(self) -> None:
        self._open: dict[str, Failure] = {}
        self._at: dict[str, int] = {}
        self._aims: dict[str, frozenset[Aim]] = {}
        self._calls = 0

    def carry(self, earlier: Iterable[Failure]) -> None:
        """Take over the failures of an earlier ledger, oldest first."""
        for failure in earlier:
            self._note(failure)

    def settle(self, subject: str, call: Call) -> None:
        """Note a failure, or that an earlier one of the same subject is over."""
        if call.outcome == "ok":
            self._open.pop(subject, None)
        elif call.outcome == "failed" and (line := error_line(call.answer)):
            self._note(Failure(subject, line))

    def settle_run(self, head: str, command: str, call: Call) -> None:
        """Note how a command went, and what else that settles."""
        if call.outcome == "ok" and self._open:
            done = aims_of(command)
            for subject in [*self._open]:
                if settles(done, self._aims.get(subject) or aims_of(subject)):
                    del self._open[subject]
        if call.outcome == "failed":
            self._aims[head] = aims_of(command)
        if call.outcome == "ok" or not is_lookup(command):
            self.settle(head, call)

    def count(self) -> None:
        """Count a call: errors grow old by calls."""
        self._calls += 1

    def newest(self) -> tuple[Failure, ...]:
        """Return the failures that are not stale, newest first."""
        fresh = [f for f in self._open.values() if self._calls - self._at[f.subject] < STALE]
        return tuple(reversed([*fresh]))

    def _note(self, failure: Failure) -> None:
        self._open.pop(failure.subject, None)
        self._open[failure.subject] = failure
        self._at[failure.subject] = self._calls


SUBJECT = 100  # characters of a tool's name and first argument
_MARKS: dict[str, Mark] = {"ok": "", "failed": "!", "refused": "?", "unknown": "?"}


class Work:
    """Facts by what identifies them, the newest last."""

    def __init__(self) -> None:
        self.identifiers = Identifiers()
        self._files: dict[str, FileUse] = {}
        self._runs: dict[str, Run] = {}
        self._failures = Failures()

    def carry(self, earlier: Ledger) -> None:
        """Take over what an earlier ledger tells; what is known already counts once."""
        for file in reversed(earlier.files):
            known = self._files.get(file.path, FileUse(file.path))
            edits, reads = max(file.edits, known.edits), max(file.reads, known.reads)
            _renew(self._files, file.path, FileUse(file.path, edits, reads))
        for run in reversed(earlier.runs):
            times = max(run.times, self._runs.get(run.head, run).times)
            _renew(self._runs, run.head, replace(run, times=times))
        self._failures.carry(reversed(earlier.failures))
        self.identifiers.carry({name: file.path for file in earlier.files for name in file.names})
        self.identifiers.carry(dict.fromkeys(earlier.identifiers, ""))

    def watch(self, call: Call) -> None:
        """Note what a tool was called for, and how that went."""
        self._failures.count()
        paths = touched_paths(call)
        command = "" if paths else command_of(call)
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
        head, done = head_of(command), judged(command, call)
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


def _renew[Key: Hashable, Value](facts: dict[Key, Value], key: Key, value: Value) -> None:
    """Set the fact and make it the newest."""
    facts.pop(key, None)
    facts[key] = value
