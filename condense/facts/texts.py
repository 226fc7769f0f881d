"""Texts: what messages say, in plain characters and in tokens."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from condense.messages import Block, Message, TextBlock, ToolResultBlock, ToolUseBlock

BYTES_PER_TOKEN = 4
GAP = "[…]"  # stands where words are left out
HEAD = 0.85  # of what stays of a long text; the rest is its end, where the question may be
SHORTEST = 40  # characters; less of a text says nothing
# Anything a reader may take for the end of a line, and what no line should hold.
_BREAKS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]+")
_END = re.compile(r"[.!?…؟۔।][\"'”’»)\]*_]*+(?=\s)|[。！？]|\n")
_LABEL = re.compile(r"\W?(?:\d{1,2}|[a-zA-Z])[.)]")  # "1." begins a sentence, it is none


def plain_text(messages: Iterable[Message]) -> str:
    """Return all that the messages say: texts, tool calls' arguments and tool results."""
    return "\n".join(
        [text for message in messages for block in message.blocks for text in _texts(block)]
    )


def _texts(block: Block) -> Iterator[str]:
    match block:
        case TextBlock(text):
            yield text
        case ToolUseBlock(_, name, input_):
            yield name
            yield from leaves(input_)
        case ToolResultBlock():
            yield result_text(block)


def result_text(result: ToolResultBlock) -> str:
    """Return the text of a tool's answer."""
    if isinstance(result.content, tuple):
        return "\n".join([item.text for item in result.content if isinstance(item, TextBlock)])
    return result.content or ""


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


def shortened(text: str, tokens: float) -> str:
    """Return a text whole, or its beginning and end where it takes more tokens."""
    size = estimate(text)
    if size <= tokens:
        return text
    room = max(SHORTEST, int(len(text) * tokens / size) - len(GAP))
    head = int(room * HEAD)
    return f"{text[:head].rstrip()}\n{GAP}\n{text[len(text) - room + head :].lstrip()}"
