"""Rules and denials: sentences that are one, in the languages that people write most."""

import itertools
import re
from collections.abc import Iterator

from condense.notes.cues import PLAIN_RULES
from condense.receipts.lookup import plain

SENTENCE = 300  # characters; a longer one is no rule but a text
MUCH = 0.3  # of a long message's lines
LONG = 600  # characters; in a longer message, what is no prose was pasted
_WORD = re.compile(r"\w+")
_SENTENCES = re.compile(r"(?<=[.!?\u061f])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_FENCED = re.compile(r"^\s*(?:```|~~~).*?(?:^\s*(?:```|~~~)\s*$|\Z)", re.DOTALL | re.MULTILINE)
# How lines of code, logs, differences and data begin; a list's dash and a heading are prose.
_PASTED = re.compile(
    r"\s*(?:[+|>{}\[\]<$\u23bf\u23fa\u2713\u2714\u2717\u2718]|-\s{2}|//|/\*|\d+[:|\u2192]|\d{4}-\d\d-\d\d|={3}|[\"'][^\"']*[\"']\s*[:=])"
)
_PROSE = 0.8  # of a line's characters are letters, spaces and what parts sentences
_OTHER = re.compile(r"[^\w\s.,;:!?'\"()\u3001\u3002\uff0c-]|_|\d|(?<=\w)[.:(](?=\w)")

# Words that make a rule in some places of a sentence only.
_SOMETIMES = re.compile(
    # What somebody or something never does is no rule.
    r"\bnever\b(?! \w+(?:[^s\W]s|ed)\b)"
    # Where a sentence begins with them, or tells somebody to.
    r"|\A\W*(?:please |but |and )?(?:always|only|keep|leave)\b"
    r"|(?:\A\W*|[,;:&]\s|\b(?:and|also|so|but|please|just|then|or|you)\s)(?:do not|don['\u2019]t)\b"
    r"|\A\W*no(?: \w+){1,3}\W*\Z"
    r"|(?<!\bin theory )\b(?:it|this|that|we|you|they|there) should\b"
    r"|\b(?:we|you|please|and) (?:always|only|keep|leave)\b",
    re.IGNORECASE,
)
# Each of the former has one of these words: they are found five times as fast.
_HINTS = frozenset("should never always only keep leave no do don".split())  # noqa: SIM905 - words
_QUESTION = ("?", "\u061f", "\uff1f")
_DENIALS = re.compile(
    r"\b(?:not?|never|cannot|cant|dont|doesnt|didnt|isnt|wasnt|arent|wont|without|neither|nor"
    r"|instead of|rather than|no longer|nicht|kein\w{0,2}|nie|niemals|ohne|statt|pas|jamais|sans"
    r"|nunca|sin|não|nunca|sem|mai|senza|не|нет|без|никогда|لا|ليس|بدون|لم|لن)\b"
    r"|n\u2019t\b|不|没|未|别|無|非"
)
_DENIED_AFTER = re.compile(r"[^.!?\u3002]{0,12}(?:ない|ません|ず|않|없)")
NEAR = 40  # characters before a name in which a denial may be meant for it


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences and lines of a text, none of them empty."""
    return filter(None, map(str.strip, _SENTENCES.split(text)))


def rules_in(text: str) -> Iterator[str]:
    """Yield the sentences that ask for something to be kept to; a question does not."""
    for sentence in sentences(text):
        if len(sentence) > SENTENCE or sentence.endswith(_QUESTION):
            continue
        folded = sentence.casefold().replace("\u2019", "'")
        words = frozenset(_WORD.findall(folded))
        sometimes = not _HINTS.isdisjoint(words) and _SOMETIMES.search(sentence)
        if sometimes or PLAIN_RULES.stand_in(folded, words):
            yield sentence


def own_words(text: str) -> str:
    """Return what somebody wrote themselves of a message, without code and pasted logs.

    Of a long message with much of that, what comes before and after it.
    """
    if "```" in text or "~~~" in text:
        text = _FENCED.sub("\n", text)
    is_long = len(text) > LONG
    if not is_long and "\n" not in text:
        return text
    lines = [line for line in text.split("\n") if line.strip()]
    own = [not _is_pasted(line, is_long=is_long) for line in lines]
    if is_long and own.count(False) > MUCH * len(own):
        first, last = own.index(False), len(own) - own[::-1].index(False)
        return "\n".join((*lines[:first], *lines[last:]))
    return "\n".join(itertools.compress(lines, own))


def _is_pasted(line: str, *, is_long: bool) -> bool:
    if _PASTED.match(line):
        return True
    others = len(_OTHER.findall(line, 0, SENTENCE)) if is_long else 0
    return others > (1 - _PROSE) * min(len(line), SENTENCE)


def is_denied(text: str, start: int, end: int) -> bool:
    """Whether a denial stands near a name in a plain text, in the same sentence."""
    before = re.split(r"[.!?;:\u3002](?:\s|$)", text[max(0, start - NEAR) : start])[-1]
    return bool(_DENIALS.search(before) or _DENIED_AFTER.match(text, end))


def content_words(text: str) -> frozenset[str]:
    """Return the beginnings of the words that carry what a text says, as others would say it."""
    return frozenset(
        [_ENDING.sub("", word)[:STEM] for word in _WORDS.findall(plain(text)) if word not in _EMPTY]
    )


STEM = 5  # letters by which forms of a word are taken for the same
_WORDS = re.compile(r"[^\W_]{3,}")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|en|e)\Z")
_EMPTY = frozenset(
    """
    dont doesnt didnt cant cannot
    the and that this with for from are was were has have had will would can could should must not
    you your our its but into then than when where which what who how all any some there here they
    them let lets also just now please want need der die das und ist nicht ein eine den dem mit auf
    les des une que pour dans est los las una por con para
    """.split()  # noqa: SIM905 - words, not code
)
