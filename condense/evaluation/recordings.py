"""Recorded sessions in Anthropic's message format, and where they were cut."""

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from condense.errors import InvalidMessage
from condense.messages import Message
from condense.tokens import TokenCounter

_GZIP_MAGIC = b"\x1f\x8b"
SUFFIXES = (".json", ".json.gz")


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a session was condensed: before the message at index ``at``.

    ``summary`` is the one on record, empty where the cut is only tried.
    """

    at: int
    trigger: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """Words in the message at index ``at`` that somebody will come back to."""

    at: int
    text: str


@dataclass(frozen=True, slots=True)
class Recording:
    """A session's messages, numbered from 1 and counted, its recorded cuts and planted facts."""

    name: str
    messages: tuple[Message, ...]
    cuts: tuple[Cut, ...] = ()
    facts: tuple[Fact, ...] = ()


def find_recordings(folder: Path) -> list[Path]:
    """Return the transcript files of a folder by name, or the file itself."""
    if folder.is_file():
        return [folder]
    return sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIXES))


def read_recording(path: Path, counter: TokenCounter) -> Recording:
    """Return the session that a file holds: a JSON list of messages, or an object with one.

    The object may also list "compactions", each with "at", "trigger" and "summary", and "facts"
    to look for, each with the "text" and the index "at" of the message that says it.

    Raises InvalidMessage where the file holds none, and OSError where it can't be read.
    """
    data = _parse(path)
    items, rest = (data, {}) if isinstance(data, list) else _parts(data, path)
    try:
        messages = tuple(_message(item, seq, counter) for seq, item in enumerate(items, start=1))
    except InvalidMessage as error:
        raise InvalidMessage(f"{path.name}: {error}") from error
    if not messages:
        raise InvalidMessage(f"{path.name} holds no messages.")
    cuts = _cuts(_list(rest, "compactions"), len(messages))
    facts = _facts(_list(rest, "facts"), len(messages))
    return Recording(path.name.split(".")[0], messages, tuple(cuts), tuple(facts))


def _parse(path: Path) -> Any:
    packed = path.read_bytes()
    try:
        return json.loads(gzip.decompress(packed) if packed[:2] == _GZIP_MAGIC else packed)
    except (ValueError, EOFError, OSError) as error:
        raise InvalidMessage(f"{path.name} is not JSON: {error}") from error


def _parts(data: Any, path: Path) -> tuple[list[Any], Mapping[str, Any]]:
    if not isinstance(data, dict) or not isinstance(data.get("messages"), list):
        raise InvalidMessage(f"{path.name} holds no list of messages.")
    return data["messages"], data


def _list(rest: Mapping[str, Any], key: str) -> Sequence[Any]:
    found = rest.get(key)
    return found if isinstance(found, list) else ()


def _message(item: Any, seq: int, counter: TokenCounter) -> Message:
    if not isinstance(item, dict):
        raise InvalidMessage(f"Message {seq} is no JSON object.")
    message = Message.from_api(item, id=f"m{seq}", seq=seq)
    return replace(message, tokens=counter.count(message.content))


def _cuts(known: Iterable[Any], count: int) -> Iterable[Cut]:
    for item in known:
        match item:
            case {"at": int(at), **rest} if 0 < at <= count:
                yield Cut(at, str(rest.get("trigger") or ""), str(rest.get("summary") or ""))


def _facts(known: Iterable[Any], count: int) -> Iterable[Fact]:
    for item in known:
        match item:
            case {"at": int(at), "text": str(text)} if 0 <= at < count and text.strip():
                yield Fact(at, text)


def even_cuts(messages: Sequence[Message], count: int) -> tuple[Cut, ...]:
    """Return ``count`` cuts that part the messages into stretches of like many tokens.

    There are fewer where there are too few replies to cut before.
    """
    total = sum(message.tokens or 0 for message in messages)
    places: dict[int, None] = {}
    tokens = 0
    for index, message in enumerate(messages):
        due = min(count, (count + 1) * tokens // max(1, total))
        if message.role == "assistant" and index and due > len(places):
            places[index] = None
        tokens += message.tokens or 0
    return tuple(Cut(place, "round") for place in places)


def cuts_at(messages: Sequence[Message], threshold: int) -> tuple[Cut, ...]:
    """Return a cut before the reply to each message at which ``threshold`` tokens have come up.

    They are counted anew after each cut, whatever a strategy leaves of what came before.
    """
    cuts, tokens = [], 0
    for index, message in enumerate(messages):
        if tokens >= threshold and message.role == "assistant":
            cuts.append(Cut(index, "threshold"))
            tokens = 0
        tokens += message.tokens or 0
    return tuple(cuts)
