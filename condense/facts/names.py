"""Names: identifiers, hashes and ids that calls, replies and results use, and those of a text."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from condense.facts.calls import Call
from condense.facts.texts import one_line

# A name counts less with each call after it: half of it is gone after 23. What a result prints
# counts for less, but for as often as it stands there; a name that is used anywhere stays a little.
DECAY, PRINTED, EVER = 0.97, 0.4, 0.3
OLDEST = 100  # calls; what older results print has faded
SHORTEST, LONGEST = 3, 64  # characters
_SEARCHED = 60_000  # characters of a text that are looked at
# Arguments that choose among a tool's own words.
_CHOICES = {"output_mode", "mode", "status", "type", "subagent_type", "action"}
_WORD = re.compile(r"[\w/]+(?:-\d+\b)?")  # with its slashes: a part of a path is no identifier
_ESCAPES = re.compile(r"\\[nrtbf\"']|\\u[0-9a-fA-F]{4}")  # they would grow into the word behind
_ID = re.compile(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}|[A-Z][A-Z0-9]+-\d+")


class Names:
    """Weighs the names in what is done and said."""

    def __init__(self) -> None:
        # After how many calls which text came, and whether a result printed it.
        self._told: list[tuple[int, str, bool]] = []
        self.carried: dict[str, int] = {}
        self._calls = 0

    def hear(self, reply: str) -> None:
        """Weigh what a reply names."""
        self._told.append((self._calls, reply, False))

    def note(self, call: Call) -> None:
        """Weigh what a call names, and what it printed."""
        self._calls += 1
        self.hear("\n".join(_words(call.arguments)))
        self._told.append((self._calls, call.answer, True))

    def carry(self, names: Iterable[str]) -> None:
        """Take over the names of an earlier ledger, as if each was just used."""
        self.carried |= dict.fromkeys(names, self._calls)

    def weightiest(self) -> list[str]:
        """Return the names, first those that weigh most for the room they take."""
        weights: defaultdict[str, float] = defaultdict(float)
        used: Counter[str] = Counter()
        for name, at in self.carried.items():
            weights[name] += DECAY ** (self._calls - at)
        for at, text, printed in self._told:
            fade = DECAY ** (self._calls - at)
            names = {} if printed and self._calls - at > OLDEST else _names(text)
            for name, times in names.items():
                weight = PRINTED * math.log(1 + times) if printed else 1 + math.log(times)
                weights[name] += fade * weight
            used.update(() if printed else names.keys())
        for name, times in used.items():
            weights[name] += EVER * math.log(1 + times)
        return sorted(weights, key=lambda name: (-weights[name] / len(name), name))


def _words(value: Any) -> Iterator[str]:
    """Yield the texts of arguments but those that only choose."""
    match value:
        case str():
            yield value
        case Mapping():
            for key, item in value.items():
                yield from _words(item) if key not in _CHOICES else ()
        case list():
            for item in value:
                yield from _words(item)


def _names(text: str) -> Counter[str]:
    part = text[:_SEARCHED]
    if "\\" in part:
        part = _ESCAPES.sub(" ", part)
    return Counter(filter(_is_name, _WORD.findall(part)))


@lru_cache(20_000)  # a session's calls say few words, again and again
def _is_name(word: str) -> bool:
    """Whether a word is an id, or put together as only code does it: with "_" or inner capitals."""
    if not SHORTEST <= len(word) <= LONGEST or "/" in word:
        return False
    if _ID.fullmatch(word):
        return True
    if word[0].isdigit() or "-" in word:
        return False
    inner = word[1:]
    return "_" in word.strip("_") or not (word.isupper() or inner == inner.lower())


# Of a person's words; hostile texts are as long as others: each part is looked at once.
_NAMED = re.compile(
    r"https?://[^\s<>\"'`)\]]{1,300}"
    r"|(?<=`)[^`\s][^`\n]{0,58}[^`\s](?=`)"
    r"|\b[A-Za-z]\w{0,20}-\d{1,20}\b"
    r"|(?<![\w/])#\d{1,20}\b"
    r"|(?:(?<![\w.-])|(?<!\w)(?=~))[~.]{0,2}/?[\w.-]++(?:/[\w.-]++)++"
    r"|\b(?=[a-f]*\d)[0-9a-f]{7,64}\b"
    r"|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|\b\w+\.[a-z]{1,4}\b"
    r"|[$€£¥]?(?<![\w.,:/-])\d[\d.,]{0,20}(?:\d|\b)[%€$£]?(?![\w:/-])"
)
_NUMBER = re.compile(r"[$€£¥]?\d[\d.,]*[%€$£]?")
NAME = 100  # characters; a longer URL is cut
TYPED = 600  # characters; numbers of a longer message may be a log's
READ = 100_000  # characters of a message
MANY = 1_000  # names of a message


def names_in(text: str) -> Iterator[tuple[str, int]]:
    """Yield what a person's words name, and where: each name once; numbers that they typed."""
    seen: set[str] = set()
    for match in _NAMED.finditer(text, 0, READ):
        name = one_line(match[0].rstrip(".,:;!?()"), NAME)
        is_number = bool(_NUMBER.fullmatch(name))
        is_telling = len(name) >= SHORTEST or (is_number and len(name) > 1)
        if name in seen or not is_telling or (is_number and len(text) > TYPED):
            continue
        seen.add(name)
        yield name, match.start()
        if len(seen) == MANY:
            return
