"""Words in any script: their comparison, and the search terms of a question."""

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise
from typing import Literal

from stop_words import get_stop_words

# Letters of scripts that put no space between words: Thai to Burmese, Khmer, East Asia's.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\ua4cf"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
_UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")
# Vowel signs of India's scripts are parts of words.
_INDIC = "\u0900-\u0963\u0970-\u0dff"
_RUN = re.compile(rf"[{UNSPACED}]+|(?:[^\W_{UNSPACED}]|[{_INDIC}])+")
_HAN = re.compile("[\u3400-\u9fff]")
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_ARABIC = re.compile("[\u0600-\u06ff]")
# Signs of any Chinese or Japanese text; what they stand between are words.
_LINKS = (
    "[的了是吗嗎呢吧啊呀在有和与與就也都还還把被给給让讓请請我你您他她它們们这這那哪什么麼怎几幾多少个個"
    "再来着啥何誰好谢謝]"
)
# With what an Arabic word may begin: and, with, so, like, for, and the article.
_ARTICLES = ("وال", "بال", "فال", "كال", "ال", "لل")
_HEADS = (*_ARTICLES, "و", "ب", "ل", "ف", "ك")
# Endings of a short word, in the plural or another case.
_TAILS = ("s", "es", "n", "en", "e")
# Shorter words are looked for as they are, of longer ones this share of their letters.
SHORTEST_STEM, STEM = 5, 0.7
MOST_TERMS, LONGEST = 48, 500  # of a question; characters that are read for them
# Where a text has more, what it asks is looked for: in so many characters at either end, where the
# questions have so many bytes.
ENDS, LEAST_ASKED = 2_000, 20
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？؟])|\n+")
MARKS = ("?", "？", "؟")
# Of several languages that a text may be of, it is of the first.
_LANGUAGES = ("en", "de", "fr", "es", "pt", "ru", "ar", "hi", "ko", "it", "tr", "nl", "pl")
# Where names and numbers are spelled otherwise, too: 250000, maxSize, RAL7016, max_size, 250.000.
_SPELLED = re.compile(
    r"(\d{5,15})|(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"
    r"|(?<=[^\W_])_(?=[^\W_])|(?<=\d)[.,'\u2019\xa0\u202f ](?=\d{3}(?!\d))"
)
Kind = Literal["word", "stem", "pair", "sign", "common"]
WHOLE = ("word", "common")  # what is no part of another word
Forms = tuple[tuple[str, bool], ...]


def common_words(words: Collection[str]) -> frozenset[str]:
    """Return the common ones among words, by the language that most of them may belong to.

    Words of small talk are common in all languages.
    """
    small, stems = _small_talk()
    lists = map(_stop_words, _LANGUAGES)
    common = small | max(lists, key=lambda common: sum(word in common for word in words))
    return frozenset([one for one in words if one in common or one.startswith(stems)])


@cache
def _stop_words(language: str) -> frozenset[str]:
    # The package's English list has 1,300 words, of which many tell: "problem", "website", "year".
    words = _read("english.txt") if language == "en" else get_stop_words(language)
    return frozenset(map(fold, words))


@cache
def _small_talk() -> tuple[frozenset[str], tuple[str, ...]]:
    """Return words of small talk, and beginnings of such words."""
    words = _read("small_talk.txt")
    stems = tuple([word[:-1] for word in words if word.endswith("-")])
    return frozenset(words).difference([f"{one}-" for one in stems]), stems


def is_small_talk(text: str) -> bool:
    """Return True if a text has a word of small talk."""
    small, stems = _small_talk()
    words = _RUN.findall(folded := fold(unicodedata.normalize("NFC", text)))
    within = [one for one in (*small, *stems) if one in folded and is_unspaced(one[0])]
    return bool(within) or any(one in small or one.startswith(stems) for one in words)


@cache
def asking_words() -> re.Pattern[str]:
    """Return a pattern for the words that ask, or ask to forget, in folded text."""
    return _either("asking.txt")


@cache
def correcting_words() -> re.Pattern[str]:
    """Return a pattern for the words that begin a correction, in folded text."""
    return re.compile(rf"\W*(?:{_either('corrections.txt').pattern})")


def _either(name: str) -> re.Pattern[str]:
    words = map(re.escape, _read(name))
    either = [one if is_unspaced(one[0]) else rf"(?<![^\W_]){one}(?![^\W_])" for one in words]
    return re.compile("|".join(either))


def _read(name: str) -> list[str]:
    text = resources.files(__package__).joinpath(name).read_text("utf-8")
    return fold(unicodedata.normalize("NFC", text)).split()


@cache
def _links() -> re.Pattern[str]:
    """Return a pattern for signs and common words between the words of a text without spaces."""
    words = {*_small_talk()[0], *_stop_words("zh"), *_stop_words("ja")}
    unspaced = [word for word in words if is_unspaced(word[0]) and len(word) > 1]
    return re.compile("|".join([*sorted(unspaced, key=len, reverse=True), f"{_LINKS}+"]))


@dataclass(frozen=True, slots=True)
class Term:
    """A search term: a word, the beginning of words, two signs, one sign, or a common word.

    ``word`` is the whole word if the term is its beginning.
    """

    text: str
    kind: Kind
    word: str = field(default="", compare=False)

    @property
    def forms(self) -> Forms:
        """The forms in a text, each with True if the word may go on."""
        heads = ("", *_HEADS) if _ARABIC.match(self.text) else ("",)
        has_tails = self.kind == "word" and self.text.isascii() and self.text[2:]
        tails = ("", *_TAILS) if has_tails else ("",)
        return tuple([(a + self.text + z, self.kind == "stem") for a in heads for z in tails])

    def places(self, folded: str) -> Iterable[re.Match[str]]:
        """Return its places in a folded text."""
        return _pattern(self.text, self.kind).finditer(folded) if self.text in folded else ()

    def count(self, folded: str) -> int:
        """Return the number of its places in a folded text."""
        if self.kind in WHOLE:
            return len([*self.places(folded)])
        return folded.count(self.text)


@lru_cache(1_000)
def _pattern(text: str, kind: Kind) -> re.Pattern[str]:
    literal = re.escape(text)
    if kind not in WHOLE:
        # A stem may stand within a word, as in a German compound.
        return re.compile(literal)
    # A literal in front is looked for at the speed of a plain search.
    begins = rf"{literal}(?<![^\W_]{literal})"
    if _ARABIC.match(text):
        begins = rf"(?<![^\W_])(?:{'|'.join(_HEADS)})?{literal}"
    ends = f"(?:{'|'.join(_TAILS)})?" if kind == "word" else ""
    return re.compile(rf"{begins}{ends}(?![^\W_])")


def terms_of(question: str) -> list[Term]:
    """Return the search terms, each once: significant words in their order, then common ones.

    Common words only make texts with the other terms fit better. The terms of a long text are those
    of its questions, or else of its beginning.
    """
    if len(question) > LONGEST:
        question = _questions_in(question) or question
    words = _RUN.findall(fold(unicodedata.normalize("NFC", question[:LONGEST])))
    common = common_words(words)
    found = dict.fromkeys(term for word in words for term in _terms(word, common))
    return sorted(found, key=lambda one: one.kind == "common")[:MOST_TERMS]


def respelled(text: str) -> str:
    """Return a text with its names and numbers in another spelling: max Size, 250,000, maxsize."""
    return _SPELLED.sub(lambda at: f"{int(at[1]):,}" if at[1] else " " * (not at[0]), text)


def _questions_in(text: str) -> str:
    """Return the sentences at either end of a text that ask, "" if they say too little."""
    ends = text if len(text) <= 2 * ENDS else f"{text[:ENDS]}\n{text[-ENDS:]}"
    asked = " ".join([one for one in _SENTENCE_END.split(ends) if one.endswith(MARKS)])
    return asked[-LONGEST:] if len(asked.encode(errors="replace")) >= LEAST_ASKED else ""


def _terms(word: str, common: frozenset[str]) -> Iterator[Term]:
    if word in common:
        yield Term(word, "common")
    elif is_unspaced(word[0]):
        for part in _links().split(word):
            for pair in map("".join, pairwise(part)):
                yield Term(pair, "common" if _HIRAGANA.fullmatch(pair) else "pair")
            signs = part if len(part) > 1 else _HIRAGANA.sub("", part)
            yield from (Term(one, "sign") for one in signs if len(part) == 1 or _HAN.match(one))
    elif len(word) > 1 or word.isdigit():
        if _ARABIC.match(word):
            heads = [one for one in _ARTICLES if word.startswith(one) and len(word) > len(one) + 2]
            word = word.removeprefix(next(iter(heads), ""))
        # Letters of other scripts than Latin say more.
        shortest = SHORTEST_STEM if word.isascii() else SHORTEST_STEM - 1
        if len(word) < shortest or not word.isalpha():
            yield Term(word, "word")
        else:
            yield Term(word[: max(shortest - 1, math.ceil(STEM * len(word)))], "stem", word)


def terms_in(terms: Iterable[Term], text: str) -> list[Term]:
    """Return those of the terms that a text has."""
    folded = fold(text)
    return [one for one in terms if any(one.places(folded))]


def words_of(text: str) -> Iterator[str]:
    """Yield the keys of a text in an index in memory: words once, signs and pairs of them."""
    for word in {*_RUN.findall(fold(unicodedata.normalize("NFC", text)))}:
        if not word.isascii() and is_unspaced(word[0]):
            yield from word
            yield from map("".join, pairwise(word))
        else:
            yield word


def space_out(text: str) -> str:
    """Put each character that may be a word of its own between spaces."""
    return text if text.isascii() else _UNSPACED_CHARACTER.sub(r" \g<0> ", text)


def is_unspaced(character: str) -> bool:
    """Return True if a character may be a word of its own."""
    return bool(_UNSPACED_CHARACTER.match(character))


def fold(text: str) -> str:
    """Return a text of the same length without capitals and accents."""
    # Most texts, and most characters of others, are ASCII, for which there is a shorter way.
    if text.isascii():
        return text.lower()
    return _FOREIGN.sub(lambda found: found[0].translate(_FOLDED), text).lower()


_FOREIGN = re.compile(r"[^\x00-\x7f]+(?: [^\x00-\x7f]+)*")


class _Folded(dict[int, str]):
    """Each character without capital and accent, computed when it is first asked for."""

    def __missing__(self, code: int) -> str:
        """Compute it; a character that is a word of its own has no accents, only parts."""
        character = chr(code)
        if not is_unspaced(character):
            character = unicodedata.normalize("NFD", character)[0].lower()[0]
        self[code] = character
        return character


_FOLDED = _Folded()
