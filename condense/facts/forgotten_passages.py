"""Forgotten passages: find a request to forget, the sentences it means, and cut them from messages.

Stored messages do not change. Ledgers, summaries and recalled passages are made of messages without
their forgotten passages, so none of them carries one.
"""

import html
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache, lru_cache, partial
from importlib import resources
from typing import Any

from condense.facts.rules import own_sentences
from condense.facts.texts import GAP, sentences
from condense.messages import (
    USER_WORDS,
    Block,
    Message,
    OpaqueBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from condense.recall.ranking import Index
from condense.recall.words import UNSPACED, Term, fold, terms_in, terms_of
from condense.sentences import each_text

# Messages of each word that are looked at, and sentences: who asks for more has meant something
# else, such as all that was said of the project.
MOST, MOST_MEANT = 1_000, 40
READ_CHARS, LONGEST_REQUEST = 10_000, 500  # characters; what is longer is a text, and no request
# A sentence is meant that has more than this share of the words, and so much of what the best has:
# a room's number is no phone number.
SHARE, OF_BEST = 0.5, 0.75
# A number or a code that is meant is forgotten wherever it stands, also in groups or without its
# signs; a year is no secret.
_VALUE = re.compile(
    r"\b(?!(?:19|20)\d\d\b)(?=(?:[\w.,:/-]{0,40}\d){3})\w[\w.,:/-]{2,}\w"
    r"|\b(?=\S{0,60}\d)[^\W\d]{2}\w*(?:[-!@#$%&*+=]+\w+)+|[〇零一二两兩三四五六七八九十百千万億亿兆]{2,}"
    r"|(?<!\S)(?=\S{0,40}\d)[^\W\d][^\s!-/:-@]{5,}|\d[\d.,]* ?(?:kg|lbs?|cm|ft)\b"
    r"|(?<![^\s@])[^\s@]{1,64}@[\w-]+\.[\w.-]*\w"
)
_GROUPS = re.compile(r"\b\w{0,30}\d\w{0,30}(?:[ .,:/-]{1,3}\w{0,30}\d\w{0,30})+")
# The signs of a number, its empty cents, and words that it is joined to.
_AROUND = re.compile(rf"(?<=\d\d\d)[.,]00?(?!\d)|[\W{UNSPACED}]")
_DIGITS = re.compile(r"\d{3,}")
_UPPER = "[A-ZÀ-ÖØ-ÞĆČĐĘĞİŁŃŐŘŚŞŠŰŹŻŽΑ-ΩА-ЯЁ]"
_NAME = re.compile(rf"(?<!\w)(?!\w{{1,4}}\.\s){_UPPER}[^\W\d_]*(?:[-' ]{_UPPER}[^\W\d_]*)*")
SHORTEST_VALUE, LONG_VALUE = 3, 7  # characters; a long one counts within others, too
# As far as a comma or the end.
_SUBJECT = r"(.+?)(?:[,;:.!?،؟](?=\s|\Z)|\Z)"

Meant = dict[int, list[str]]
Read = Callable[[Iterable[int]], Mapping[int, str]]


@lru_cache(100)  # a new message is asked about at each of its steps
def find_forget_requests(text: str) -> tuple[tuple[str, str], ...]:
    """Return (subject, whole sentence) for each request to forget in a text."""
    found = [
        (said[slice(*asked.span(asked.lastindex or 0))].strip(), said)
        for said, shown in own_sentences(text[:READ_CHARS], _asked_in)
        if (asked := _asked_in(shown))
    ]
    return tuple([one for one in found if _terms(one[0])])


def _asked_in(sentence: str) -> re.Match[str] | None:
    """Return the match of a request to forget in a sentence, None if it is none."""
    asks, never, *_ = _patterns()
    if len(sentence) > LONGEST_REQUEST:
        return None
    asked = asks.match(sentence.replace(":", " ", 1))
    return asked if asked and not never.search(sentence, asked.end("lead")) else None


def _terms(request: str) -> list[Term]:
    return [one for one in terms_of(_patterns()[2].sub("", request)) if one.kind != "common"]


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of requests, exceptions, words for any subject, sequels, and naming."""
    text = resources.files(__package__).joinpath("forget_requests.toml").read_text("utf-8")
    tables = tomllib.loads(text.replace("{}", _SUBJECT))
    lead, goes_on, never, told, named, *asks = ["|".join(several) for several in tables.values()]
    asked = rf"(?P<lead>(?:[\s*_#…¡¿-]|(?:{lead})[\s,،!.…:-]++)*)(?:{'|'.join(asks)})"
    return tuple([re.compile(one, re.IGNORECASE) for one in (asked, never, told, goes_on, named)])


def find_meant(index: Index, request: str, read: Read) -> Meant:
    """Return the sentences that match a request, by the number of their message.

    ``read`` returns the texts of messages by their numbers, and may add others.
    """
    terms = _terms(request)
    found = index.look_up([(one,) for one in terms], MOST)
    having = Counter([number for numbers in found for number in numbers])
    texts = read([number for number, many in having.items() if many > SHARE * len(terms)])
    said_of = {at: [*sentences(text)] for at, text in texts.items()}
    counts = {one: len(terms_in(terms, one)) for said in said_of.values() for one in said}
    least = max(SHARE * len(terms) + 1 / 2, OF_BEST * max(counts.values(), default=0))
    best = {one for one, count in counts.items() if count >= least}
    meant = {at: [*_goes_on(said, best)] for at, said in said_of.items()}
    values = {value for said in meant.values() for one in said for value in _values_in(one)}
    names = (
        [name for one in best for name in _names_in(one, terms)]
        if _patterns()[4].search(request)
        else []
    )
    if values or names:
        written = {one for each in meant.values() for said in each for one in _VALUE.findall(said)}
        grouped = {" ".join(re.findall(".{1,4}", value)) for value in values}
        grouped |= {re.sub(r"\B(?=(?:\d{3})+\Z)", " ", value) for value in values}
        pieces = {piece for one in written for piece in _DIGITS.findall(one)}
        forms = sorted(values | written | grouped | pieces)[: 2 * MOST_MEANT]
        telling = [*(tuple(terms_of(value)) for value in forms), *((name,) for name in names)]
        more = [number for numbers in index.look_up(telling, MOST) for number in numbers]
        for number, text in {**texts, **read(more)}.items():
            said = [one for one in sentences(text) if _says(one, values) or terms_in(names, one)]
            meant[number] = [*dict.fromkeys([*meant.get(number, ()), *said])]
    sayings = {one for said in meant.values() for one in said}
    return {at: said for at, said in meant.items() if said and len(sayings) <= MOST_MEANT}


def _goes_on(said: Sequence[str], meant: Container[str]) -> Iterator[str]:
    """Yield the meant ones among a text's sentences, with those behind them about a person."""
    is_meant = False
    for one in said:
        is_meant = one in meant or (is_meant and bool(_patterns()[3].match(one)))
        if is_meant:
            yield one


def _says(sentence: str, values: AbstractSet[str]) -> bool:
    plain = _AROUND.sub("", unicodedata.normalize("NFC", sentence)).lower()
    long = (one for one in values if len(one) >= LONG_VALUE)
    return bool(values & _values_in(sentence)) or any(one in plain for one in long)


def _values_in(sentence: str) -> set[str]:
    """Return a sentence's numbers and codes, without their signs."""
    said = unicodedata.normalize("NFC", sentence)
    found = [*_VALUE.findall(said), *_GROUPS.findall(said)]
    plain = [_AROUND.sub("", one).lower() or one for one in found]
    return {one for one in plain if len(one) >= SHORTEST_VALUE or not one.isascii()}


def _names_in(sentence: str, asked: Iterable[Term]) -> Iterator[Term]:
    """Yield the words of the name behind the asked terms of a sentence, or else at its start."""
    folded = fold(sentence)
    ends = [place.end() for one in asked for place in one.places(folded)]
    name = _NAME.search(sentence, max(ends, default=0)) or _NAME.match(sentence)
    for word in re.findall(r"[^\W\d_]+", name[0] if name else ""):
        yield Term(fold(word), "word")


def passages_in(shown: str) -> list[str]:
    """Return the original sentences of a text that a page shows escaped or cut."""
    return [*sentences(html.unescape(shown).strip("… "))]


def passage_pattern(passages: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches any of the passages at word boundaries."""
    either = "|".join(map(re.escape, sorted(passages, key=len, reverse=True)))
    return re.compile(rf"(?<![A-Za-z0-9_])(?:{either})(?![A-Za-z0-9_])")


def tells_any(title: str, passages: Iterable[str]) -> bool:
    """Return True if a title has a passage's value, most of its words, or its cut beginning."""
    values, cut = _values_in(title), title.endswith("…") and passages_in(title)[-1:]
    return any(
        values & _values_in(one)
        or len(terms_in(terms := _terms(one), title)) > SHARE * len(terms)
        or (cut and one.startswith(cut[0]))
        for one in passages
    )


def without_forgotten(message: Message, passages: Sequence[str]) -> Message:
    """Return a message without some passages, for the model."""
    if not passages:
        return message
    cut = partial(each_text, change=partial(passage_pattern(passages).sub, GAP))
    # Signed blocks beside it are not sent any more.
    left = tuple(_without(message.blocks, cut, passages))
    return message.with_content(left).with_tags(unbound=True)


def _without(
    blocks: Iterable[Block], cut: Callable[[Any], Any], passages: Sequence[str]
) -> Iterator[Block]:
    for block in blocks:
        match block:
            case TextBlock(text, extra):
                yield TextBlock(cut(text), _marks(extra, cut, passages))
            case ToolUseBlock():
                yield replace(block, input=cut(block.input))
            case ToolResultBlock(_, content):
                extra = _marks(block.extra, cut, passages)
                if isinstance(content, tuple):
                    inner = tuple(_without(content, cut, passages))
                    yield replace(block, content=inner, extra=extra)
                else:
                    yield replace(block, content=cut(content), extra=extra)
            case OpaqueBlock(data):
                told = {name: cut(data[name]) for name in ("thinking", "content") if name in data}
                yield OpaqueBlock({**data, **told})
            case _:
                yield block


def _marks(
    extra: Mapping[str, Any], cut: Callable[[Any], Any], passages: Sequence[str]
) -> Mapping[str, Any]:
    """Cut the user's words, too; a passage may have others before or behind them."""
    if USER_WORDS not in extra:
        return extra
    words = cut(extra[USER_WORDS])
    for said in sentences(words):
        if any(said in one for one in passages):
            words = words.replace(said, GAP)
    return {**extra, USER_WORDS: words}
