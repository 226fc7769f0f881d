"""What is looked for in a summary: facts of the hidden part, word for word."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from condense.facts import (
    Call,
    command_of,
    error_line,
    is_edit,
    is_lookup,
    ledger_of,
    names_in,
    read_calls,
    said,
    touched_paths,
)
from condense.messages import Message

Kind = Literal["edited_files", "read_files", "commands", "errors", "constraints", "names"]
KINDS: tuple[Kind, ...] = get_args(Kind)
HEAD = 60  # characters of a command's first line, as the field compares them
SENTENCE = 300  # characters; a longer one is no rule but a text
MOST = 1_000  # facts of each kind; nobody reads more, and each is looked up
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
RULES = (
    "must", "never", "always", "only", "avoid", "without", "instead", "prefer", "ensure",
    "make sure", "should", "shouldn't", "don't", "do not", "can't", "cannot", "no more",
    "no longer", "no need", "at most", "at least", "keep", "leave", "stick to",
)  # fmt: skip
_RULES = re.compile(rf"\b(?:{'|'.join(RULES)})\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][\w-]*-\Z")
# Begins with the digit, not with what may not stand before it: found five times as fast. A limit,
# for a list of thousands of numbers may end in what makes it none.
_NUMBERS = re.compile(r"\d(?<![\w.]\d)[\d.,_]{0,60}\d%?(?!\w)")


@dataclass(frozen=True, slots=True)
class Probe:
    """One fact: ``text`` for people, ``needle`` to search for, ``source`` the message's id.

    ``folder`` has to stand in the text too, where another file has the same name.
    """

    kind: Kind
    text: str
    needle: str
    source: str = ""
    folder: str = ""


def probes_of(hidden: Sequence[Message]) -> tuple[Probe, ...]:
    """Return the probes, kind by kind, each fact once and where it was said last.

    Of a kind that has more than a thousand, these are the newest.
    """
    found: dict[tuple[Kind, str], Probe] = {}
    # Everything but a call is told in the user's name, so half of the messages need no look.
    told = [message for message in hidden if message.role == "user"]
    for probe in itertools.chain(_carried(told), _calls(hidden), _words(told)):
        if probe.needle.strip():
            found[probe.kind, probe.text] = probe
    edited = {text for kind, text in found if kind == "edited_files"}
    kept = [p for p in found.values() if p.kind != "read_files" or p.text not in edited]
    newest = (probe for kind in KINDS for probe in [p for p in kept if p.kind == kind][-MOST:])
    return tuple(_told_apart([*newest]))


def _carried(told: Sequence[Message]) -> Iterator[Probe]:
    for message in told:
        if carried := ledger_of(message):
            for file in carried.files:
                yield _file(file.path, edited=file.edits > 0, source=message.id)


def _calls(hidden: Sequence[Message]) -> Iterator[Probe]:
    for message, call in read_calls(hidden):
        yield from _call(call, message.id)


def _call(call: Call, source: str) -> Iterator[Probe]:
    paths = touched_paths(call)
    command = "" if paths else command_of(call).strip()
    if paths and call.outcome == "ok":
        edited = is_edit(call)
        yield from (_file(path, edited=edited, source=source) for path in paths)
    if command:
        head = command.partition("\n")[0][:HEAD]
        yield Probe("commands", head, head, source)
    if call.outcome == "failed" and (is_edit(call) if paths else not _looks_up(command)):
        line = error_line(call.answer).removesuffix("…")
        yield Probe("errors", line, line, source)


def _looks_up(command: str) -> bool:
    return bool(command) and is_lookup(command)


def _file(path: str, *, edited: bool, source: str) -> Probe:
    return Probe("edited_files" if edited else "read_files", path, path, source)


def _words(told: Sequence[Message]) -> Iterator[Probe]:
    # What was said before need not be read again: it has the same words.
    known: dict[str, tuple[tuple[Kind, str, str], ...]] = {}
    for message in told:
        for text in filter(None, _requests(message)):
            if text not in known:
                known[text] = tuple(_of_text(text))
            yield from (Probe(kind, fact, needle, message.id) for kind, fact, needle in known[text])


def _requests(message: Message) -> Iterable[str]:
    """Return the requests that a message makes, or carries in its ledger."""
    carried = ledger_of(message)
    return (request.text for request in carried.requests) if carried else (said(message),)


def _of_text(text: str) -> Iterator[tuple[Kind, str, str]]:
    """Yield kind, text and needle of each fact in what the user said."""
    for rule in _rules(text):
        yield "constraints", rule, rule
    for name in (*names_in(text), *_numbers(text)):
        yield "names", name, name.removesuffix("…")


def _numbers(text: str) -> Iterator[str]:
    """Yield the numbers, each with the word it is a part of, as in "host-17"."""
    for match in _NUMBERS.finditer(text):
        start = match.start()
        part = text.endswith("-", 0, start)
        word = _WORD.search(text, max(0, start - HEAD), start) if part else None
        yield text[word.start() if word else start : match.end()]


def _rules(text: str) -> Iterator[str]:
    folded = text.casefold()
    # Most texts hold none, and this tells so twenty times as fast.
    if not any(words in folded for words in RULES):
        return
    for sentence in _SENTENCES.split(text):
        rule = sentence.strip()
        if len(rule) <= SENTENCE and _RULES.search(rule):
            yield rule


def _told_apart(probes: Sequence[Probe]) -> Iterator[Probe]:
    """Yield the probes; a file is looked for by its name, with its folder if that is not unique."""
    files = [_endings(one.text) if one.kind.endswith("_files") else () for one in probes]
    counts = Counter(itertools.chain.from_iterable(files))
    for probe, endings in zip(probes, files, strict=True):
        if endings:
            unique = next((end for end in endings if counts[end] == 1), endings[-1])
            folder = unique.removesuffix(endings[0])
            yield Probe(probe.kind, probe.text, endings[0], probe.source, folder)
        else:
            yield probe


def _endings(path: str) -> Sequence[str]:
    """Return a path's last part, its last two, and so on."""
    parts = path.split("/")
    return ["/".join(parts[-count:]) for count in range(1, len(parts) + 1)]
