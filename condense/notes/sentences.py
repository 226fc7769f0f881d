"""Messages as plain text, to look facts up in and to measure."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from condense.messages import Block, Message, TextBlock, ToolResultBlock, ToolUseBlock
from condense.notes.cues import DECISIONS, PROMISES, REPLACEMENTS, RULES, Cues

BYTES_PER_TOKEN = 4
# Anything a reader may take for the end of a line, and what no line should hold.
_BREAKS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]+")


def plain_text(messages: Iterable[Message]) -> str:
    """Return all that the messages say: texts, tool calls' arguments and tool results."""
    return "\n".join(
        [text for message in messages for block in message.blocks for text in _texts(block)]
    )


def result_text(result: ToolResultBlock) -> str:
    """Return the text of a tool's answer."""
    if isinstance(result.content, tuple):
        return "\n".join([item.text for item in result.content if isinstance(item, TextBlock)])
    return result.content or ""


def estimate(text: str) -> float:
    """Return about how many tokens a text takes, without a vocabulary.

    Four bytes are a token: vocabularies are made of bytes, so this holds for any script, where
    characters differ by a factor of three.
    """
    return len(text.encode(errors="replace")) / BYTES_PER_TOKEN


def one_line(text: str, limit: int) -> str:
    """Return the text without line breaks, cut to ``limit`` characters with an ellipsis."""
    flat = _BREAKS.sub(" ", text[: 2 * limit])
    return flat if len(flat) <= limit and len(text) <= 2 * limit else f"{flat[:limit]}…"


def _texts(block: Block) -> Iterator[str]:
    match block:
        case TextBlock(text):
            yield text
        case ToolUseBlock(_, name, input_):
            yield name
            yield from leaves(input_)
        case ToolResultBlock():
            yield result_text(block)


def leaves(value: Any) -> Iterator[str]:
    """Yield all that a call's arguments say."""
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from leaves(item)
        case list() | tuple():
            for item in value:
                yield from leaves(item)
        case None:
            return
        case _:
            yield str(value)


SENTENCE = 300  # characters; a longer one is cut, it is no rule but a text
_LABEL = re.compile(r"\W?[\da-zA-Z]{1,2}[.)]")  # "1." begins a sentence, it is none
# What ends a sentence by Unicode's property Sentence_Terminal, in the scripts that chats are mostly
# written in. Where words are set apart by spaces, one has to follow.
# A full stop after a day or a label ends none.
_END = re.compile(
    r"(?:(?<!\b\d)(?<!\b\d\d)\.|[!?…؟۔।॥։።])[\"'”’»)\]*_]*+(?=\s)|[。！？｡．][」』”’）]*+|\n"
)
_WORD = re.compile(r"\w+")
# A number with what makes it one to keep: a currency, a unit or month with a large letter or of a
# script that has none, a time, decimals, or that it is long; and codes, as BK-48213.
_MEASURED = re.compile(
    r"[$€£¥₹₩₽]\s?\d|\d\s?[%‰°€£¥₹₩₽$]|\d[.,:/-]\d|\d{3}|\d\.?\s?[^\W\d_a-z]"
    r"|\b(?=[A-Z-]{0,12}\d)[A-Z\d]{1,12}-?[A-Z\d]{2,12}\b"
)
_DIGIT = re.compile(r"\d")
_SAYS_NOTHING = 3  # tokens, as in "I will."


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences and lines of a text, without space around them."""
    start = 0
    for end in _END.finditer(text):
        sentence = text[start : end.end()].strip()
        if end[0] == "\n" or not _LABEL.fullmatch(sentence):
            start = end.end()
            if sentence:
                yield sentence
    if rest := text[start:].strip():
        yield rest


def is_rule(sentence: str) -> bool:
    """Whether the sentence says what must be, or must not."""
    return bool(_says(sentence, RULES))


def replaces(sentence: str) -> bool:
    """Whether the sentence says that something takes the place of something else."""
    return bool(_says(sentence, REPLACEMENTS))


@lru_cache(1_000)
def weight(sentence: str) -> int:
    """Return how much the sentence states: figures, codes, decisions, promises; 0 for none."""
    if estimate(sentence) <= _SAYS_NOTHING:
        return 0
    figures = 0
    if _DIGIT.search(sentence):
        figures = 2 if _MEASURED.search(sentence) else 1
    return figures + 2 * _says(sentence, PROMISES, DECISIONS)


def short(sentence: str) -> str:
    """Return the sentence on one line, cut where it is a text of its own."""
    return one_line(sentence, SENTENCE)


def _says(sentence: str, *kinds: Cues) -> int:
    """Return of how many kinds the sentence has cues."""
    folded = sentence.casefold().replace("’", "'")
    words = frozenset(_WORD.findall(folded))
    return sum([cues.stand_in(folded, words) for cues in kinds])


# How many sentences that replace something are looked at, and how many requests for each.
LATER, EARLIER = 8, 100
_LOOKED_AT = 8_000  # characters at the beginning of a request
_STEM, _LEAST = 6, 4  # characters of a word: what is compared, and below what it says little
# Words that two sentences about the same have in common: two, and a third of the older one's; of
# brief sentences one is enough.
_SHARED, _OF_OLDER, _BRIEF = 2, 1 / 3, 4


def replacing(text: str) -> list[str]:
    """Return the sentences that say they take the place of earlier ones."""
    return [*islice(filter(replaces, sentences(text)), LATER)]


def most_alike[Key](sentence: str, texts: Iterable[tuple[Key, str]]) -> Key | None:
    """Return the key of the text that the sentence is most likely about, the first of equals."""
    best, most = None, 0
    for key, text in islice(texts, EARLIER):
        likeness = max([_likeness(sentence, old) for old in _sentences(text)], default=0)
        if likeness > most:
            best, most = key, likeness
    return best


@lru_cache(EARLIER)
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(islice(sentences(text[:_LOOKED_AT]), 2 * LATER))


def _likeness(sentence: str, old: str) -> int:
    """Return how many words both have in common; 0 where that may be chance."""
    new_words, old_words = _content(sentence), _content(old)
    shared = len(new_words & old_words)
    is_alike = shared >= _SHARED and shared >= _OF_OLDER * len(old_words)
    is_brief = max(len(new_words), len(old_words)) <= _BRIEF
    return shared if is_alike or is_brief else 0


@lru_cache(1_000)
def _content(sentence: str) -> frozenset[str]:
    """Return the words that a sentence is about; of scripts without spaces, pairs of signs."""
    found: set[str] = set()
    for word in _WORD.findall(sentence.casefold()):
        if word.isascii() or not any("\u2e80" <= sign <= "\uffdc" for sign in word):
            if len(word) >= _LEAST and word not in REPLACEMENTS.words:
                found.add(word[:_STEM])
        else:
            found.update([word[at : at + 2] for at in range(len(word) - 1)])
    return frozenset(found)
