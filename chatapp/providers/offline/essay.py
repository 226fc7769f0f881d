"""Write long, readable text about how condensing works, to fill a context window with."""

import re
import zlib
from collections.abc import Iterator
from itertools import islice

DEFAULT_WORDS, MOST_WORDS = 1_200, 20_000
SENTENCES, PARAGRAPHS = 5, 4

_WRITE = re.compile(r"\bwrite\b", re.IGNORECASE)
_LONG = re.compile(r"\b(?:long|words?)\b", re.IGNORECASE)
_WORDS = re.compile(r"(?<![\d,.])(\d[\d,.]{0,12})\s{0,3}words?", re.IGNORECASE)
_TOPIC = re.compile(r"\b(?:about|on)\s+([^.!?\n]+)", re.IGNORECASE)
_OPENERS = (
    "In a long conversation,",
    "When the window fills up,",
    "After a few hours of work,",
    "In practice,",
    "Before anything is hidden,",
    "On the page,",
    "Seen from the model's side,",
    "Seen from the reader's side,",
    "At first glance,",
    "Step by step,",
    "With every new message,",
)
_FACTS = (
    "the context is measured against the model's window",
    "older messages step behind a summary",
    "nothing that was written is ever deleted",
    "the summary keeps what the user asked for",
    "a tool call and its result stay together",
    "the newest question stays word for word",
    "every condensation leaves a row in the history",
    "the row says how many tokens it saved",
    "the price of the summary is written down to the last digit",
    "a condensation can be undone with one button",
    "hidden messages stay readable, only dimmed",
    "a second summary carries on what the first one kept",
    "a failed attempt is recorded like a successful one",
    "the next rung of the ladder runs when a summary does not shrink the context",
    "truncation hides the oldest messages when no summary can be had",
    "the provider's own count has the last word",
    "room is reserved for the reply",
    "the bar shows where condensing will begin",
    "a rewind hides what came later instead of erasing it",
    "file names, commands and error messages are kept as they were written",
    "the instruction for the summary is no message of the user",
    "scratch notes of the summary are stripped before the model reads it",
    "the receipt lists what the summary left out",
)
_REASONS = (
    "so that nobody has to ask the same thing twice",
    "and anyone can check that afterwards",
    "because a promise that is forgotten cannot be kept",
    "which costs one model call and saves many",
    "so the work goes on where it stopped",
    "and the page says so in plain numbers",
    "because a guess is worse than a look at the record",
    "which is why this page is called a palimpsest",
    "so that a wrong step can be taken back",
    "and it takes less time than it takes to read this",
    "because the window is small and the work is long",
    "which keeps the answer within reach",
    "and the older text is still there underneath",
)


def essay_wish(text: str) -> tuple[str, int] | None:
    """Return topic and number of words where a long text is asked for."""
    wish = _WRITE.search(text)
    if wish is None or not _LONG.search(text, wish.end()):
        return None
    number = _WORDS.search(text, wish.end())
    words = int(re.sub(r"\D", "", number[1])) if number else DEFAULT_WORDS
    topic = _TOPIC.search(text, (number or wish).end())
    about = topic[1].strip(" .\"'`") if topic else ""
    return about, max(1, min(words, MOST_WORDS))


def write_essay(topic: str, words: int) -> str:
    """Return about ``words`` words; the same for the same topic, and hardly a sentence twice."""
    about = f"You asked for a text about {topic}. " if topic else ""
    preface = (
        f"{about}I am the offline stand-in and know no subject but one, so this is about how "
        "Palimpsest condenses a conversation."
    )
    parts, left = [preface], words - len(preface.split())
    for number, paragraph in enumerate(_paragraphs(zlib.crc32(topic.encode()))):
        if left <= 0:
            break
        if number % PARAGRAPHS == 0:
            parts.append(f"## Part {number // PARAGRAPHS + 1}")
        text = " ".join(paragraph.split()[:left])
        parts.append(text if text.endswith(".") else f"{text} …")
        left -= len(text.split())
    return "\n\n".join(parts)


def _paragraphs(seed: int) -> Iterator[str]:
    sentences = _sentences(seed)
    while True:
        yield " ".join(islice(sentences, SENTENCES))


def _sentences(seed: int) -> Iterator[str]:
    """Combine the three lists; their lengths share no factor, so it takes long to repeat."""
    number = seed % (len(_OPENERS) * len(_FACTS) * len(_REASONS))
    while True:
        opener = _OPENERS[number % len(_OPENERS)]
        fact = _FACTS[number % len(_FACTS)]
        reason = _REASONS[number % len(_REASONS)]
        yield f"{opener} {fact}, {reason}."
        number += 1
