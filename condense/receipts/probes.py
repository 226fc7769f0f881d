"""Probes: facts of the hidden part, to be looked for word for word."""

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from condense.messages import Message, TextBlock
from condense.notes.feedback import words_in
from condense.notes.ledger_text import ledger_of
from condense.notes.paths import is_edit, touched_paths
from condense.notes.tool_calls import Call, command_of, is_lookup, read_calls
from condense.notes.user_words import names_in, said
from condense.notes.work import error_line
from condense.receipts.rules import own_words, rules_in

FactKind = Literal[
    "edited_files", "read_files", "commands", "errors", "constraints", "names", "results"
]
KINDS: tuple[FactKind, ...] = get_args(FactKind)


@dataclass(frozen=True, slots=True)
class Probe:
    """One fact: ``text`` for people, ``needle`` to search for, ``source`` the message's id.

    ``folder`` has to stand right before a file's name where another file has the same name.
    ``context`` is what was said with a name: where only the needle stands, the fact is only named.
    """

    kind: FactKind
    text: str
    needle: str
    source: str = ""
    folder: str = ""
    context: str = ""


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
            kind: FactKind = "edited_files" if is_edit(call) else "read_files"
            yield from (Probe(kind, path, path, message.id) for path in paths)
        if len(command) >= SHORT and not is_lookup(command):
            yield _command(command, message.id)
        for subject in (*paths, *_kinds(command)) or (call.name,):
            if call.outcome == "ok":
                standing.pop(subject, None)
            elif call.outcome == "failed" and not (command and is_lookup(command)):
                line = error_line(call.answer).removesuffix("…")
                standing[subject] = count, Probe("errors", line, line, message.id)
    yield from (probe for at, probe in standing.values() if count - at < STALE)


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


AROUND = 40  # characters on each side with which a figure was said
UNITS = (
    "ms|s|sec|seconds?|min|minutes?|h|hours?|days?|weeks?|months?|years?|kb|mb|gb|tb|kib|mib|gib|kg|g"
    "|km|m|cm|mm|°c|hz|mhz|ghz|kw|kwh|rows?|tokens?|users?|people|persons?|votes?|requests?|usd|eur"
    "|euros?|dollars?|stunden?|tage?|tagen|wochen?|monate?|stimmen|zeilen|jours|heures|días|horas"
)
_MONTHS = (
    "jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli"
    "|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|okt(?:ober)?|nov(?:ember)?|de[cz](?:ember)?"
)
_FIGURES = re.compile(
    # An amount, a percentage, a number with its unit.
    r"[€$£¥]\s?\d[\d.,]{0,20}"
    rf"|\d(?<![\w.,/-]\d)(?:[\d.,]{{0,20}}\d)?\s?(?:[%€$£¥‰](?! sure)|(?:{UNITS})\b)"
    r"|\d(?:[\d.,]{0,20}\d)?\s?(?:万|亿|元|円|年|月\d{1,2}日|月|日間?|时|小时|时间"
    r"|時間?|分钟|分|秒|个\w{1,2}|人|台|دينار\w?)"
    # A date, and a code of capital letters and digits.
    r"|(?<![\w/-])\d{4}-\d\d-\d\d(?![\w-])"
    rf"|\b\d{{1,2}}\.? (?:{_MONTHS})\b|\b(?:{_MONTHS}) \d{{1,2}}\b"
    r"|(?<![\w/.-])(?=[\w-]{0,12}\d)(?=[\w-]{0,12}[A-Z])[A-Z0-9]{1,8}(?:-[A-Z0-9]{1,8}){1,3}\b"
    r"|(?<![\w/&])#\d{3,}\b",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_ASKS = re.compile(r"[^.!?\u3002\uff1f\u061f]{0,200}+[?\uff1f\u061f]")
_CODE = re.compile(r"[A-Z0-9]{1,8}(?:-[A-Z0-9]{1,8})+")


def results_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield each figure of a reply with the words around it; what a sentence asks is no result."""
    if not _DIGIT.search(text):
        return
    for line in filter(_DIGIT.search, own_words(text).split("\n")):
        for match in _FIGURES.finditer(line):
            figure = match.group().strip(" .,")
            is_code = "-" in figure and any(map(str.isalpha, figure))
            asks = _ASKS.match(line, match.end())
            if not asks and (not is_code or _CODE.fullmatch(figure)):
                yield figure, around(line, match.start(), match.end())


def around(text: str, start: int, end: int) -> str:
    """Return what stands at a place of a text, with the words beside it in its line."""
    first = max(start - AROUND, text.rfind("\n", 0, start) + 1)
    last = text.find("\n", end, end + AROUND)
    return text[first : last if last >= 0 else end + AROUND].strip()


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
    replied = [one for one in hidden if one.role == "assistant" and not one.tool_uses]
    calls = [*read_calls(hidden)]
    # What people said in the results of tools counts as well.
    answers = [(message, words) for message, call in calls for words, _ in words_in(call)]
    spoken = itertools.chain(_requests(told), answers)
    words = itertools.chain(_words(spoken), _results(replied))
    for probe in itertools.chain(_carried(told), probes_of_calls(calls), words):
        if _SOMETHING.search(probe.needle):
            found.pop((probe.kind, probe.text), None)
            found[probe.kind, probe.text] = probe
    facts = dict(_whole_paths(found.values()))
    edited = {text for kind, text in facts if kind == "edited_files"}
    kept = [p for p in facts.values() if p.kind != "read_files" or p.text not in edited]
    newest = [probe for kind in KINDS for probe in [p for p in kept if p.kind == kind][-MOST:]]
    return tuple(_told_apart([*newest]))


def _carried(told: Sequence[Message]) -> Iterator[Probe]:
    for message in told:
        if carried := ledger_of(message):
            for file in carried.files:
                kind: FactKind = "edited_files" if file.edits else "read_files"
                yield Probe(kind, file.path, file.path, message.id)


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
    named = dict.fromkeys([probe.text for probe in probes if _is_file(probe)])
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
