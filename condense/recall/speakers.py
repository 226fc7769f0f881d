"""Speakers: the speaker of each part of a message, by the kind of block, never by its text."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from condense.messages import (
    PASSING,
    USER_WORDS,
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    beside_of,
    user_words,
)

# As the model reads it.
USER, MODEL, PROGRAM = "the user", "you", "a program in the user's name"
# Arguments of calls that read, write or search files, in small letters and without underscores.
_FILES = {
    "absolutepath", "diff", "file", "filename", "filepath", "files", "notebookpath", "patch",
    "path", "paths", "targetfile",
}  # fmt: skip
Source = Literal["", "result", "file"]
NAME_CHARS = 80  # of a tool's or a file's name
# A name stands in a line of its own kind, which it can neither end nor go on.
_SIGNS = str.maketrans({one: f"&#{ord(one)};" for one in '[]<>()"'})


class Part(NamedTuple):
    """A part of a message: its speaker, its text, and if a person or the model wrote it.

    ``source`` is "" but for the result of a tool, and for what a call reads or writes of files.
    """

    speaker: str
    text: str
    is_prose: bool = False
    source: Source = ""


def parts_of(messages: Iterable[Message]) -> Iterator[tuple[Message, list[Part]]]:
    """Yield each message with its visible parts, in order."""
    calls: dict[str, tuple[str, Source]] = {}
    for message in messages:
        for use in message.tool_uses:
            about = next((text for text in texts_in(use.input) if text.strip()), "")
            speaker = _named(f"the tool {printable(use.name)}", about)
            calls[use.id] = speaker, _source(use.input) or "result"
        yield message, [one for one in _parts(message, calls) if one.text.strip()]


def _parts(message: Message, calls: dict[str, tuple[str, Source]]) -> Iterator[Part]:
    for block in message.blocks:
        beside = beside_of(block)
        if kind := beside.get("kind"):
            speaker = _named(f"the {printable(kind)}", beside.get("name"))
        else:
            speaker = MODEL if message.role == "assistant" else USER
        match block:
            case TextBlock(text) if kind not in PASSING:
                own = text if USER_WORDS not in block.extra else user_words(block)
                is_own = own.strip() == text.strip()
                yield Part(speaker if is_own else PROGRAM, text, not kind and bool(own.strip()))
            case ImageBlock() if name := beside.get("name"):
                yield Part(speaker, f"[{name}]")
            case ToolUseBlock(_, _, arguments):
                yield Part(MODEL, "\n".join(texts_in(arguments)), source=_source(arguments))
            case ToolResultBlock(id_, content):
                inner = content if isinstance(content, tuple) else (TextBlock(content or ""),)
                said = [one.text for one in inner if isinstance(one, TextBlock)]
                speaker, source = calls.get(id_, ("a tool", "result"))
                yield Part(speaker, "\n".join(said), source=source)
            case OpaqueBlock({"type": "thinking", "thinking": str(text)}):
                yield Part(MODEL, text)


def _source(arguments: Any) -> Source:
    named = arguments if isinstance(arguments, dict) else {}
    return "file" if any(key.replace("_", "").lower() in _FILES for key in named) else ""


def texts_in(value: Any) -> Iterator[str]:
    """Yield all strings in a nested value, in order."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case dict(members):
                waiting.extend(reversed(members.values()))
            case list(items):
                waiting.extend(reversed(items))


def _named(speaker: str, name: object) -> str:
    return f"{speaker} ({printable(name)})" if isinstance(name, str) and name.strip() else speaker


def printable(name: object) -> str:
    """Return an untrusted name for use within a heading: on one line, escaped, cut."""
    shown = "".join([one if one.isprintable() else " " for one in str(name)[: 4 * NAME_CHARS]])
    flat = " ".join(shown.split())
    return (flat if len(flat) <= NAME_CHARS else f"{flat[:NAME_CHARS]}…").translate(_SIGNS)
