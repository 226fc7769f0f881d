"""What is looked for in a summary: facts of the hidden part, word for word."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_RULES = re.compile(
    r"\b(?:must|never|always|only|avoid|without|instead|prefer|ensure|make sure"
    r"|should(?:n't| not)?|do(?:n't| not)|can(?:'t|not)|no (?:more|longer|need)"
    r"|at (?:most|least)|keep|leave|stick to)\b",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"(?<![\w.])\d[\d.,_]*\d%?(?![\w])")


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
    """Return the probes, kind by kind, each fact once and where it was said last."""
    found: dict[tuple[Kind, str], Probe] = {}
    for probe in (*_calls(hidden), *_words(hidden)):
        if probe.needle.strip():
            found[probe.kind, probe.text] = probe
    edited = {text for kind, text in found if kind == "edited_files"}
    kept = [p for p in found.values() if p.kind != "read_files" or p.text not in edited]
    return tuple(_told_apart(sorted(kept, key=lambda probe: KINDS.index(probe.kind))))


def _calls(hidden: Sequence[Message]) -> Iterator[Probe]:
    for message in hidden:
        if carried := ledger_of(message):
            for file in carried.files:
                yield _file(file.path, edited=file.edits > 0, source=message.id)
    for message, call in read_calls(hidden):
        yield from _call(call, message.id)


def _call(call: Call, source: str) -> Iterator[Probe]:
    paths = touched_paths(call)
    command = "" if paths else command_of(call).strip()
    if call.outcome == "ok":
        yield from (_file(path, edited=is_edit(call), source=source) for path in paths)
    if command:
        head = command.partition("\n")[0][:HEAD]
        yield Probe("commands", head, head, source)
    told = is_edit(call) if paths else not is_lookup(command) or not command
    if call.outcome == "failed" and told:
        line = error_line(call.answer).removesuffix("…")
        yield Probe("errors", line, line, source)


def _file(path: str, *, edited: bool, source: str) -> Probe:
    return Probe("edited_files" if edited else "read_files", path, path, source)


def _words(hidden: Sequence[Message]) -> Iterator[Probe]:
    for message in hidden:
        carried = ledger_of(message)
        texts = [request.text for request in carried.requests] if carried else [said(message)]
        for text in texts:
            for rule in _rules(text):
                yield Probe("constraints", rule, rule, message.id)
            for name in (*names_in(text), *_NUMBERS.findall(text)):
                yield Probe("names", name, name.removesuffix("…"), message.id)


def _rules(text: str) -> Iterator[str]:
    for sentence in _SENTENCES.split(text):
        rule = sentence.strip()
        if len(rule) <= SENTENCE and _RULES.search(rule):
            yield rule


def _told_apart(probes: Sequence[Probe]) -> Iterator[Probe]:
    """Yield the probes; a file is looked for by its name, with its folder if that is not unique."""
    counts = Counter(ending for probe in probes for ending in _endings(probe))
    for probe in probes:
        endings = _endings(probe)
        if endings:
            unique = next((end for end in endings if counts[end] == 1), endings[-1])
            folder = unique.removesuffix(endings[0])
            yield replace(probe, needle=endings[0], folder=folder)
        else:
            yield probe


def _endings(probe: Probe) -> list[str]:
    """Return a path's last part, its last two, and so on; nothing for other probes."""
    if not probe.kind.endswith("_files"):
        return []
    parts = probe.text.split("/")
    return ["/".join(parts[-count:]) for count in range(1, len(parts) + 1)]
