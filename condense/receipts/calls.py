"""What tool calls leave to look for: files, commands, and errors that still stand."""

import itertools
import re
from collections.abc import Iterable, Iterator

from condense.facts import (
    Call,
    command_of,
    error_line,
    is_edit,
    is_lookup,
    touched_paths,
)
from condense.messages import Message
from condense.receipts.probe import Probe

HEAD = 60  # characters of a command's first line, as the field compares them
SHORT = 8  # characters; a shorter command is a word that may stand anywhere
MOVED = 5  # lines at the beginning of a command, of which the first may only go to a folder
WORDS = 3  # of a command, by which people name it
# Calls after which an error that nobody came back to is taken for settled in another way.
STALE = 50
_PARTS = re.compile(r"&&|\|\||[;|\n]")
_MOVES = {"cd", "pushd", "export", "set", "source", "sleep", "echo", "sudo", "time", "env", "nice"}
_PLAIN_WORD = re.compile(r"[A-Za-z0-9@./][\w@./:+-]*")


def probes_of_calls(calls: Iterable[tuple[Message, Call]]) -> Iterator[Probe]:
    """Yield what each call did, and then the errors that nothing has settled.

    A command that only looks something up is no fact: what it found matters, not that it ran.
    """
    standing: dict[str, tuple[int, Probe]] = {}
    count = 0
    for count, (message, call) in enumerate(calls):
        paths = touched_paths(call)
        command = "" if paths else command_of(call).strip("\\\n\t ")
        if paths and call.outcome == "ok":
            edited = is_edit(call)
            yield from (file_probe(path, edited=edited, source=message.id) for path in paths)
        if len(command) >= SHORT and not is_lookup(command):
            yield _command(command, message.id)
        for subject in (*paths, *_kinds(command)) or (call.name,):
            if call.outcome == "ok":
                standing.pop(subject, None)
            elif call.outcome == "failed" and not (command and is_lookup(command)):
                standing[subject] = count, _error(call, message.id)
    yield from (probe for at, probe in standing.values() if count - at < STALE)


def file_probe(path: str, *, edited: bool, source: str) -> Probe:
    """Return the probe for a file; its name is told apart from others later."""
    return Probe("edited_files" if edited else "read_files", path, path, source)


def _command(command: str, source: str) -> Probe:
    lines = command.split("\n", MOVED)[:MOVED]
    head = next((line for line in lines if any(_kinds(line))), lines[0])[:HEAD]
    named = next(_kinds(command), "")
    return Probe("commands", head, named if " " in named else head, source, context=head)


def _kinds(command: str) -> Iterator[str]:
    """Yield what each part of a line runs, in its first words, as ``git push origin``."""
    for part in _PARTS.split(command[: 4 * HEAD]):
        words = part.split()[:WORDS]
        plain = list(itertools.takewhile(_PLAIN_WORD.fullmatch, words))
        if plain and plain[0] not in _MOVES:
            yield " ".join(plain if len(plain) > 1 else words).removeprefix("./")


def _error(call: Call, source: str) -> Probe:
    line = error_line(call.answer).removesuffix("…")
    return Probe("errors", line, line, source)
