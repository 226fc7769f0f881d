"""Judgements: what the model reads is searched once for all facts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from condense.messages import Message
from condense.notes.ledger_text import ledger_of, parse_ledger
from condense.notes.paths import is_edit, touched_paths
from condense.notes.sentences import plain_text
from condense.notes.tool_calls import read_calls
from condense.receipts.lookup import find, plain
from condense.receipts.probes import Probe
from condense.receipts.rules import content_words, is_denied, sentences

FactState = Literal["kept", "named", "recoverable", "missing"]
_NAMES = ("names", "results")
PHRASE = 2  # spaces; a name with as many is a sentence
LEDGER = "## Ledger "
# Of a sentence's words that have to stand near one another for it to count as told in other words.
ENOUGH = 0.6
COMMON = 200  # places; a word with more of them tells nothing of where a sentence may be


@dataclass(frozen=True, slots=True)
class Finding:
    """A probe and what became of its fact; ``denied`` where a denial stands near the name."""

    probe: Probe
    state: FactState
    denied: bool = False


class Judge:
    """Knows what the model reads after a condensation."""

    def __init__(self, kept: Sequence[Message] | str) -> None:
        self.raw = kept if isinstance(kept, str) else plain_text(kept)
        self.text = plain(self.raw)
        self.files = dict(_files_of(kept))

    def judge(
        self, probes: Sequence[Probe], otherwise: Callable[[Probe], FactState]
    ) -> list[Finding]:
        """Return a finding for each probe; ``otherwise`` tells of what does not stand there."""
        needles = [(plain(one.needle), _is_word(one)) for one in probes]
        contexts = [(plain(one.context), False) for one in probes]
        places = find(self.text, [*needles, *contexts])
        return [
            self._finding(probe, places[index], places[len(probes) + index]) or
            Finding(probe, otherwise(probe))
            for index, probe in enumerate(probes)
        ]  # fmt: skip

    def _finding(
        self, probe: Probe, places: Sequence[int], contexts: Sequence[int]
    ) -> Finding | None:
        if probe.kind.endswith("_files"):
            return self._file(probe, places)
        if contexts or (places and not probe.context):
            return Finding(probe, "kept")
        if places:
            return Finding(probe, "named", self._denied(probe, places))
        # A sentence can be told in other words; a command cannot.
        is_phrase = probe.kind == "names" and probe.needle.count(" ") >= PHRASE
        is_saying = is_phrase or probe.kind in ("constraints", "errors")
        is_told = is_saying and self._told_otherwise(probe.needle)
        # A path that somebody named may be the end of one in a ledger, folder by folder.
        name = probe.needle.removeprefix("./")
        is_listed = "/" in name and any(path.endswith(f"/{name}") for path in self.files)
        return Finding(probe, "named") if is_told or is_listed else None

    def _file(self, probe: Probe, places: Sequence[int]) -> Finding | None:
        edited = self.files.get(probe.text)
        if edited is not None and (edited or probe.kind == "read_files"):
            return Finding(probe, "kept")
        there = [at for at in places if self._is_file(probe, at)]
        if there:
            return Finding(probe, "named", self._denied(probe, there))
        return Finding(probe, "named") if edited is not None else None

    def _is_file(self, probe: Probe, at: int) -> bool:
        """Whether the folders before a name are this file's, as far as they stand there."""
        folders = [plain(part) for part in probe.text.split("/")[:-1]]
        needed = probe.folder.count("/")
        while folders and self.text.endswith(f"{folders[-1]}/", 0, at):
            at -= len(folders.pop()) + 1
            needed -= 1
        other = self.text[max(0, at - 2) : at]
        return needed <= 0 and (not folders or not other.endswith("/") or other in ("./", "~/"))

    def _denied(self, probe: Probe, places: Sequence[int]) -> bool:
        """Whether each place denies what was said without a denial."""
        needle, said = plain(probe.needle), plain(probe.context)
        start = said.find(needle)
        if start >= 0 and is_denied(said, start, start + len(needle)):
            return False
        return all(is_denied(self.text, at, at + len(needle)) for at in places)

    def _told_otherwise(self, saying: str) -> bool:
        words = content_words(saying)
        found: Counter[int] = Counter()
        for word in words:
            if len(places := self._places.get(word, ())) <= COMMON:
                found.update(places)
        return bool(words) and max(found.values(), default=0) >= max(2, ENOUGH * len(words))

    @cached_property
    def _places(self) -> Mapping[str, Sequence[int]]:
        """Which sentence holds each word, or follows one that does."""
        places: defaultdict[str, set[int]] = defaultdict(set)
        for number, sentence in enumerate(sentences(self.raw)):
            for word in content_words(sentence):
                places[word] |= {number, number + 1}
        return {word: tuple(numbers) for word, numbers in places.items()}


def _is_word(probe: Probe) -> bool:
    """Whether the needle is a name and no part of one; words may be told in another form."""
    return probe.kind.endswith("_files") or (probe.kind in _NAMES and " " not in probe.needle)


def _files_of(kept: Sequence[Message] | str) -> Iterable[tuple[str, bool]]:
    """Yield the paths that ledgers and calls tell of, and whether they were edited."""
    if isinstance(kept, str):
        start = kept.find(LEDGER)
        ledgers = [parse_ledger(kept[start:])] if start >= 0 else []
    else:
        ledgers = [ledger_of(message) for message in kept]
        for _, call in read_calls(kept):
            if call.outcome == "ok":
                yield from ((path, is_edit(call)) for path in touched_paths(call))
    for ledger in filter(None, ledgers):
        yield from ((file.path, file.edits > 0) for file in ledger.files)
