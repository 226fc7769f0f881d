"""What is looked for in a summary: facts of the hidden part, word for word."""

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from condense.facts import Call, ledger_of, names_in, read_calls, said, words_in
from condense.messages import Message, TextBlock
from condense.receipts.calls import file_probe, probes_of_calls
from condense.receipts.probe import KINDS, FactKind, Probe
from condense.receipts.results import UNITS, around, results_in
from condense.receipts.wording import own_words, rules_in

MOST = 1_000  # facts of each kind; nobody reads more, and each is looked up
PART = 60  # characters of a word that a number may be a part of
# Letters of scripts that part words by spaces; others stand beside a number without being of it.
_LETTERS = r"A-Za-z0-9_\u00c0-\u024f"
_BEFORE = re.compile(rf"(?<![{_LETTERS}/-])[{_LETTERS}-]*-\Z")
_AFTER = re.compile(rf"(?:-[{_LETTERS}]{{1,60}}){{1,9}}")
_HEX = re.compile(r"[0-9a-f]+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_SOMETHING = re.compile(r"\w")
_UNIT = re.compile(rf" ?(?:{UNITS})\b", re.IGNORECASE)
# Begins with the digit, not with what may not stand before it: found five times as fast. A limit,
# for a list of thousands of numbers may end in what makes it none. Times and dates by signs are no
# numbers, and neither are those of lines, which are others after the next change.
_NUMBERS = re.compile(r"\d(?<![A-Za-z_.\d]\d)(?<!\d[:/]\d)[\d.,_]{0,60}\d%?(?![A-Za-z_\d]|[:/]\d)")
_OF_LINES = re.compile(
    r"\b(?:lines?|ll?\.|zeilen?|lignes?)[ :~][\d ,\u2013-]{0,30}\Z", re.IGNORECASE
)
_ALTERNATIVES = re.compile(r"[^\W\d_]+(?:/[^\W\d_]+)+")


def probes_of(hidden: Sequence[Message]) -> tuple[Probe, ...]:
    """Return the probes, kind by kind, each fact once and where it was said last.

    Of a kind that has more than a thousand, these are the newest.
    """
    found: dict[tuple[FactKind, str], Probe] = {}
    # All but replies and calls is told in the user's name.
    told = [message for message in hidden if message.role == "user"]
    # What is said before a call is a note on the way.
    replied = (one for one in hidden if one.role == "assistant" and not one.tool_uses)
    calls = [*read_calls(hidden)]
    spoken = itertools.chain(_requests(told), _answers(calls))
    words = itertools.chain(_words(spoken), _results(replied))
    for probe in itertools.chain(_carried(told), probes_of_calls(calls), words):
        if _SOMETHING.search(probe.needle):
            found.pop((probe.kind, probe.text), None)
            found[probe.kind, probe.text] = probe
    facts = dict(_whole_paths(found.values()))
    edited = {text for kind, text in facts if kind == "edited_files"}
    kept = [p for p in facts.values() if p.kind != "read_files" or p.text not in edited]
    newest = (probe for kind in KINDS for probe in [p for p in kept if p.kind == kind][-MOST:])
    return tuple(_told_apart([*newest]))


def _carried(told: Sequence[Message]) -> Iterator[Probe]:
    for message in told:
        if carried := ledger_of(message):
            for file in carried.files:
                yield file_probe(file.path, edited=file.edits > 0, source=message.id)


def _words(texts: Iterable[tuple[Message, str]]) -> Iterator[Probe]:
    # What was said before need not be read again: it has the same words.
    known: dict[str, tuple[Probe, ...]] = {}
    for message, text in texts:
        if text not in known:
            known[text] = tuple(_of_request(own_words(text)))
        yield from (replace(probe, source=message.id) for probe in known[text])


def _requests(told: Sequence[Message]) -> Iterator[tuple[Message, str]]:
    """Yield the requests that messages make, or carry in their ledgers."""
    for message in told:
        if carried := ledger_of(message):
            yield from ((message, request.text) for request in carried.requests)
        elif text := said(message):
            yield message, text


def _answers(calls: Sequence[tuple[Message, Call]]) -> Iterator[tuple[Message, str]]:
    """Yield what people said in the results of tools."""
    for message, call in calls:
        yield from ((message, words) for words, _ in words_in(call))


def _of_request(text: str) -> Iterator[Probe]:
    """Yield each fact in what the user said."""
    for rule in rules_in(text):
        yield Probe("constraints", rule, rule.rstrip(" .!\u3002\uff01"))
    for name in names_in(text):
        # Words that are parted by a slash are as good as either.
        if _ALTERNATIVES.fullmatch(name):
            continue
        # What a function was called with differs each time.
        needle = name.removesuffix("…").partition("(")[0] or name
        start = max(0, text.find(needle))
        end = start + len(needle)
        # A part of an id says nothing.
        if not _HEX.fullmatch(needle) or _joined(text, start, end) == (start, end):
            yield Probe("names", name, needle, context=around(text, start, end))
    yield from _numbers(text)


def _numbers(text: str) -> Iterator[Probe]:
    """Yield the numbers, each with the word it is a part of, as in "host-17", or its unit."""
    for match in _NUMBERS.finditer(text):
        start, end = match.span()
        if _OF_LINES.search(text, max(0, start - PART), start):
            continue
        first, last = _joined(text, start, end)
        whole = text[first:last]
        is_date = bool(_DATE.fullmatch(whole))
        if whole.count("-") > 1 and not is_date:
            continue
        # What only digits join is a range, of two numbers.
        is_range = whole.replace("-", "").isdigit() and not is_date
        needle = text[start:end] if is_range else whole
        unit = _UNIT.match(text, last)
        shown = needle + (unit[0] if unit else "")
        yield Probe("names", shown, needle, context=around(text, first, last))


def _joined(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where the words begin and end that dashes join to a number."""
    before, after = _BEFORE.search(text, max(0, start - PART), start), _AFTER.match(text, end)
    return before.start() if before else start, after.end() if after else end


def _results(replied: Iterable[Message]) -> Iterator[Probe]:
    for message in replied:
        for block in message.blocks:
            if isinstance(block, TextBlock):
                for figure, context in results_in(block.text):
                    said = f"{figure}: {context}"
                    yield Probe("results", said, figure, message.id, context=context)


def _is_file(probe: Probe) -> bool:
    return probe.kind.endswith("_files")


def _whole_paths(
    probes: Collection[Probe],
) -> Iterator[tuple[tuple[FactKind, str], Probe]]:
    """Yield the probes by kind and text, a file by its whole path where it was named by an end."""
    named = dict.fromkeys(probe.text for probe in probes if _is_file(probe))
    whole = {end: path for path in named for end in _endings(path)[:-1] if end in named}
    for probe in probes:
        path = whole.get(probe.text) if _is_file(probe) else None
        yield (probe.kind, path or probe.text), replace(probe, text=path) if path else probe


def _told_apart(probes: Sequence[Probe]) -> Iterator[Probe]:
    """Yield the probes; a file is looked for by its name, with its folder if that is not unique."""
    files = [_endings(one.text) if _is_file(one) else () for one in probes]
    counts = Counter(itertools.chain.from_iterable(files))
    for probe, endings in zip(probes, files, strict=True):
        if endings:
            unique = next((end for end in endings if counts[end] == 1), endings[-1])
            yield replace(probe, needle=endings[0], folder=unique.removesuffix(endings[0]))
        else:
            yield probe


def _endings(path: str) -> Sequence[str]:
    """Return a path's last part, its last two, and so on."""
    parts = path.split("/")
    return ["/".join(parts[-count:]) for count in range(1, len(parts) + 1)]
