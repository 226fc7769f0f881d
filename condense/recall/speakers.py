"""Speakers: the speaker of each part of a message, by the kind of block, never by its text."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from condense.folded_files.files_read import PATHS
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
_END = re.compile(r"(?:[^/\\]+[/\\])?[^/\\]+\Z")  # the folder and the name of a file
NAME_CHARS, PATH_CHARS = 80, 200  # of a tool's or a file's name; of the end of a path
# A name stands in a line of its own kind, which it can neither end nor go on.
_SIGNS = str.maketrans({one: f"&#{ord(one)};" for one in '[]<>()"'})


class Part(NamedTuple):
    """A part of a message: its speaker and text, if it is prose, and a tool's file, or ""."""

    speaker: str
    text: str
    is_prose: bool = False
    file: str | None = None


def parts_of(messages: Iterable[Message]) -> Iterator[tuple[Message, list[Part]]]:
    """Yield each message with its visible parts, in order."""
    calls: dict[str, tuple[str, str | None]] = {}
    for message in messages:
        for use in message.tool_uses:
            about = next((text for text in texts_in(use.input) if text.strip()), "")
            calls[use.id] = _named(f"the tool {printable(use.name)}", about), _file_of(use)
        yield message, [one for one in _parts(message, calls) if one.text.strip()]


def _parts(message: Message, calls: dict[str, tuple[str, str | None]]) -> Iterator[Part]:
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
                yield Part(MODEL, "\n".join(texts_in(arguments)), file=_file_of(block))
            case ToolResultBlock(id_, content):
                inner = content if isinstance(content, tuple) else (TextBlock(content or ""),)
                said = [one.text for one in inner if isinstance(one, TextBlock)]
                speaker, file = calls.get(id_, ("a tool", ""))
                yield Part(speaker, "\n".join(said), file=file or "")
            case OpaqueBlock({"type": "thinking", "thinking": str(text)}):
                yield Part(MODEL, text)


def _file_of(call: ToolUseBlock) -> str | None:
    """Return the end of the path of the file that a call is about; None for no file."""
    named = call.input if isinstance(call.input, dict) else {}
    path = next(texts_in([named[key] for key in PATHS if key in named]), "")
    return next(iter(_END.findall(path[-PATH_CHARS:])), None)


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
