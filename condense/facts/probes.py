"""Probes: facts of the hidden part, to be looked for word for word."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from condense.facts.calls import Call, command_of, is_edit, is_lookup, read_calls, touched_paths
from condense.facts.markdown import ledger_of
from condense.facts.names import names_in
from condense.facts.notebook import Notebook, error_line, said
from condense.facts.rules import language_spoken, rules_in
from condense.messages import Message

# Receipts on record may have results, too: figures of replies.
FactKind = Literal[
    "edited_files", "read_files", "commands", "errors", "constraints", "names", "results"
]
KINDS: tuple[FactKind, ...] = get_args(FactKind)
MOST = 200  # facts of each kind, the newest; nobody reads more, and each is looked up
LEAST = 8  # characters; a shorter command is a word that may stand anywhere
AROUND = 40  # characters on each side with which a name was said


@dataclass(frozen=True, slots=True)
class Probe:
    """One fact: ``text`` for people, ``needle`` to search for, ``source`` the message's id.

    ``context`` is what was said with a name: where only the needle stands, the fact is only named.
    ``folder`` is of receipts on record.
    """

    kind: FactKind
    text: str
    needle: str
    source: str = ""
    folder: str = ""
    context: str = ""


def probes_of(hidden: Sequence[Message]) -> tuple[Probe, ...]:
    """Return the facts, kind by kind, each once and where it was said last."""
    told: dict[tuple[FactKind, str], Probe] = {}
    for probe in (*_done(hidden), *_said(hidden)):
        told.pop((probe.kind, probe.text), None)
        told[probe.kind, probe.text] = probe
    edited = {text for kind, text in told if kind == "edited_files"}
    facts = [one for one in told.values() if one.kind != "read_files" or one.text not in edited]
    return tuple([one for kind in KINDS for one in [p for p in facts if p.kind == kind][-MOST:]])


def _done(hidden: Sequence[Message]) -> Iterator[Probe]:
    """Yield what calls did, and which errors nothing has settled."""
    for message in hidden:
        for file in carried.files if (carried := ledger_of(message)) else ():
            yield Probe(
                "edited_files" if file.edited else "read_files", file.path, file.path, message.id
            )
    notebook, failed = Notebook(), dict[str, str]()
    for message, call in read_calls(hidden):
        notebook.watch(call)
        yield from _of_call(call, message.id)
        if call.outcome == "failed":
            failed[error_line(call.answer)] = message.id
    for failure in notebook.failures():
        line = failure.message.removesuffix("…")
        yield Probe("errors", line, line, failed.get(failure.message, ""))


def _of_call(call: Call, source: str) -> Iterator[Probe]:
    paths = touched_paths(call)
    if call.outcome == "ok":
        kind: FactKind = "edited_files" if is_edit(call) else "read_files"
        yield from (Probe(kind, path, path, source) for path in paths)
    command = "" if paths else command_of(call)
    if len(command) >= LEAST and not is_lookup(command):
        yield Probe("commands", command, command.removesuffix("…"), source)


def _said(hidden: Sequence[Message]) -> Iterator[Probe]:
    """Yield the rules and names in the user's words."""
    language = language_spoken(hidden)
    for message, text in _words(hidden):
        for rule in rules_in(text, language):
            yield Probe("constraints", rule, rule.rstrip(" .!。！"), message.id)
        for name, at in names_in(text):
            needle = name.removesuffix("…")
            yield Probe(
                "names", name, needle, message.id, context=around(text, at, at + len(needle))
            )


def _words(hidden: Sequence[Message]) -> Iterable[tuple[Message, str]]:
    answered: dict[str, list[str]] = {}
    for message, call in read_calls(hidden):
        answered.setdefault(message.id, []).append(call.user_words)
    for message in hidden:
        if carried := ledger_of(message):
            yield from ((message, text) for text in carried.rules)
            yield from ((message, request.text) for request in carried.requests)
        elif text := said(message):
            yield message, text
        yield from ((message, words) for words in answered.get(message.id, ()) if words)


def around(text: str, start: int, end: int) -> str:
    """Return what stands at a place of a text, with the words beside it in its line."""
    first = max(start - AROUND, text.rfind("\n", max(0, start - AROUND), start) + 1)
    last = text.find("\n", end, end + AROUND)
    return text[first : last if last >= 0 else end + AROUND].strip()
