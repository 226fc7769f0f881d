"""Find what was said before about a question: plain overlap of words, nothing clever."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chatapp.providers.offline.reading import Happening, Kind

MOST = 3
SHORTEST_WORD = 2
LEAST_SHARE = 0.34
LONGEST_QUOTE = 240

NOTED, FOUND, NOT_FOUND = "Noted:", "From this conversation:", "I found nothing about that"
_PHRASES = ("Hello. I am", "I am Palimpsest's", "You are welcome.", "That takes a language model")
CANNED = (NOTED, FOUND, NOT_FOUND, *_PHRASES)

# Where two sentences match equally, the user's own words count most.
_RANK: dict[Kind, int] = {"user": 4, "summary": 3, "ledger": 3, "result": 2, "assistant": 1}
_WHERE: dict[Kind, str] = {
    "user": "you said",
    "summary": "the summary of the earlier conversation says",
    "ledger": "the ledger of the earlier conversation says",
    "result": "a tool's answer says",
    "assistant": "I answered",
}
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?…](?=\s)|$)", re.MULTILINE)
_WORD = re.compile(r"[^\W_][\w'-]*")
_STOP_WORDS = """
    a about again all an and any are as asked at be been before being but by can could did do does
    earlier for from had has have he her him his how i if in into is it its just know me mention
    mentioned my of on or our please recall remember said say she so some tell that the their them
    then there they this to told us was we were what when where which who why will with would you
    your yours
    """
_STOP = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence that matches, and where it comes from."""

    text: str
    where: str


def recall(question: str, happenings: Sequence[Happening]) -> list[Found]:
    """Return up to three earlier sentences that share the most words with the question."""
    wanted = keywords(question)
    if not wanted:
        return []
    scored = []
    for age, (kind, sentence) in enumerate(_sentences(happenings)):
        share = len(wanted & keywords(sentence)) / len(wanted)
        if share >= LEAST_SHARE:
            scored.append((share, _RANK[kind], age, kind, sentence))
    scored.sort(reverse=True)
    best: dict[str, Found] = {}
    for share, _, _, kind, sentence in scored:
        if share == scored[0][0]:
            best.setdefault(sentence.casefold(), Found(clip(sentence, LONGEST_QUOTE), _WHERE[kind]))
    return list(best.values())[:MOST]


def is_canned(text: str) -> bool:
    """Whether this is one of the stand-in's own phrases, which only repeat what others said."""
    return text.startswith(CANNED)


def keywords(text: str) -> set[str]:
    """Return the words that carry meaning, without their commonest endings."""
    return set(map(_stem, subjects(text)))


def subjects(text: str) -> list[str]:
    """Return the words that carry meaning, in order, each once."""
    words = (word.casefold().removesuffix("'s") for word in _WORD.findall(text))
    kept = (word for word in words if word not in _STOP and len(word) >= SHORTEST_WORD)
    return list(dict.fromkeys(kept))


def sentences(text: str) -> list[str]:
    """Return a text's sentences and lines, without list marks."""
    found = (match[0].strip().lstrip("-*•> ").strip() for match in _SENTENCE.finditer(text))
    return [sentence for sentence in found if sentence]


def clip(text: str, length: int) -> str:
    """Return the text on one line, cut at a word where it is longer than ``length``."""
    line = " ".join(text.split())
    if len(line) <= length:
        return line
    return line[:length].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def _sentences(happenings: Sequence[Happening]) -> Iterator[tuple[Kind, str]]:
    for happening in happenings:
        if happening.kind not in _RANK or is_canned(happening.text):
            continue
        for sentence in sentences(happening.text):
            asks = happening.kind == "user" and sentence.endswith("?")
            if not asks and not is_canned(sentence):
                yield happening.kind, sentence


def _stem(word: str) -> str:
    for ending in ("ments", "ment", "ing", "ed", "es", "s", "e"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > SHORTEST_WORD:
            return stem
    return word
