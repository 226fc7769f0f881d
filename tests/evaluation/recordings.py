"""Recordings: sessions in Anthropic's message format, and the places where they are cut."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from condense.errors import InvalidMessage
from condense.messages import Message
from condense.tokens.counters import TokenCounter

if TYPE_CHECKING:
    from chatapp.records.importers.claude_code import Session

_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Cut:
    """A condensation before the message at index ``at``, with its recorded summary, if any."""

    at: int
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """Words in the message at index ``at`` that somebody will come back to."""

    at: int
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody asks later, and the forms of its answer in the message at index ``at``."""

    at: int
    words: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """A session's messages, numbered from 1 and counted, and what is looked for in them."""

    name: str
    messages: tuple[Message, ...]
    cuts: tuple[Cut, ...] = ()
    facts: tuple[Fact, ...] = ()
    questions: tuple[Question, ...] = ()


def find_recordings(folder: Path) -> list[Path]:
    """Return the transcript files of a folder by name, or the file itself."""
    if folder.is_file():
        return [folder]
    return sorted(path for path in folder.iterdir() if path.name.endswith((".json", ".json.gz")))


def read_recording(path: Path, counter: TokenCounter) -> Recording:
    """Return the session of a file: a JSON list of messages, or an object as evaluation.md has it.

    Raises InvalidMessage if the file holds none.
    """
    packed = path.read_bytes()
    try:
        data = json.loads(gzip.decompress(packed) if packed[:2] == _GZIP_MAGIC else packed)
    except (ValueError, EOFError, OSError) as error:
        raise InvalidMessage(f"{path.name} is not JSON: {error}") from error
    known = data if isinstance(data, dict) else {"messages": data}
    items = known.get("messages")
    if not items or not isinstance(items, list) or not all(isinstance(i, dict) for i in items):
        raise InvalidMessage(f"{path.name} holds no messages.")
    # Django must be set up.
    from chatapp.records.importers.claude_code import Session  # noqa: PLC0415

    words = Session()
    return Recording(
        path.name.split(".")[0],
        tuple(_message(item, seq, counter, words) for seq, item in enumerate(items, start=1)),
        tuple(Cut(one["at"], one.get("summary") or "") for one in known.get("compactions", ())),
        tuple(Fact(one["at"], one["text"]) for one in known.get("facts", ())),
    )


def _message(item: Any, seq: int, counter: TokenCounter, words: "Session") -> Message:
    content = item.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if isinstance(blocks, list):
        item = {**item, "content": words.mark(str(item.get("role")), blocks)}
    message = Message.from_api(item, id=f"m{seq}", seq=seq)
    return replace(message, tokens=counter.count(message.content))


def even_cuts(messages: Sequence[Message], count: int) -> tuple[Cut, ...]:
    """Return ``count`` cuts that part the messages into stretches of like many tokens.

    There are fewer if there are too few replies to cut before.
    """
    total = sum(message.tokens or 0 for message in messages)
    cuts: list[Cut] = []
    tokens = 0
    for index, message in enumerate(messages):
        due = min(count, (count + 1) * tokens // max(1, total))
        if message.role == "assistant" and index and due > len(cuts):
            cuts.append(Cut(index))
        tokens += message.tokens or 0
    return tuple(cuts)


def cuts_at(messages: Sequence[Message], threshold: int) -> tuple[Cut, ...]:
    """Return a cut before the next reply each time that ``threshold`` tokens have come up."""
    cuts, tokens = [], 0
    for index, message in enumerate(messages):
        if tokens >= threshold and message.role == "assistant":
            cuts.append(Cut(index))
            tokens = 0
        tokens += message.tokens or 0
    return tuple(cuts)
