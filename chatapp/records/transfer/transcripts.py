"""Transcripts: a conversation put together from another program's items, one by one."""

import re
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

import condense
from chatapp.agent.tool_arguments import read_arguments
from chatapp.models import hidden_messages
from chatapp.models.conversations import LONGEST_TITLE
from chatapp.providers import request_bytes
from chatapp.records.transfer import Beside, Piece, Problem
from chatapp.records.transfer.record_rows import WRONG, WRONG_BUILD
from chatapp.records.transfer.source_texts import (
    describe_loss,
    fields,
    joined,
    leaves,
    listed,
    texts_in,
)
from chatapp.records.transfer.transcript_files import Item
from condense import noop

Block = dict[str, Any]

# A number above this is a time in milliseconds, since 1973; below, in seconds, until 5138.
_MILLISECONDS = 10**11
# Blocks that the engine reads.
_READ = {"text", "image", "tool_use", "tool_result"}

# Other names for parts of messages, and parts without words for people.
_THOUGHT = re.compile("think|thinking|reasoning")
_CALL = re.compile(r"custom|function|\w*(?:tool_use|(?:tool|function|shell|patch|mcp)_call)")
_RESULT = re.compile(r"(?:\w+_)?(?:tool|function|shell|patch)\w*_(?:result|output)")
_MEDIA = re.compile(r"\w*image\w*|error|file|input_file|collection")
_ADDRESS = re.compile(r"(?:url|link): https?://[^\s<>]+")
_GIVEN = ("arguments", "args", "input", "action", "operation")
_IDS = ("call_id", "tool_use_id", "id")
_SILENT = {"agent_update", "token_budget", "flag", "text", "input_text", "output_text"}
# Returns blocks in place of a part that has no words.
Missing = Callable[[Any], Iterable[Block] | None]
# Keys of a block of text.
_CUT = ("text", condense.USER_WORDS)
IN_PARTS = noop("It is too long for one message, and was imported in parts: {count}.")

# By whether a message is a summary: the kind of its record, and how its tags begin.
_MADE = {True: ("condensed", "condense"), False: ("truncated", "truncation")}


class Transcript:
    """Messages in their order, with the records of conversation, calls and condensations.

    A format is a subclass whose ``take`` adds each item, and whose ``words_in`` knows the words of
    its user by its own form alone: text of a tool or a server never counts.
    """

    # The name of the condensing method, for people.
    strategy = ""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.besides: list[Beside] = []
        self.problems: list[Problem] = []
        self.tool_calls: dict[str, Block] = {}
        self.rewinds: list[dict[str, Any]] = []
        # Texts of the source, and blocks that are imported in another form.
        self.texts: list[str] = []
        self.reshaped: list[list[Block]] = []

    def take(self, index: int, item: Any, /) -> None:
        """Add an item of the file."""
        raise NotImplementedError

    def counted(self, item: Any, /) -> Any:
        """Return the part of an item whose texts belong to the conversation."""
        return item

    def read(self, found: Iterable[Item | Problem]) -> Iterator[Piece]:
        """Yield the pieces of a file's items; nothing is read before the first is asked for."""
        for one in found:
            if isinstance(one, Problem):
                self.problems.append(one)
                continue
            counted = one[1]
            try:
                self.take(*one)
                counted = self.counted(one[1])
            except WRONG:
                self.refuse(one[0], WRONG_BUILD)
            self.texts += texts_in(counted)
        yield from self.pieces()

    def refuse(self, index: int, reason: str) -> None:
        """Note an item that can't be used, and the reason."""
        self.problems.append(Problem(index, reason))

    def checked(self, index: int, item: Any) -> dict[str, Any] | None:
        """Return a message of the Messages API with its usable blocks, None for no message."""
        message, reasons = check_message(item)
        self.problems += [Problem(index, reason) for reason in reasons]
        if message and isinstance(message["content"], str):
            message["content"] = [text_block(message["content"])]
        return message

    def mark(self, role: str, blocks: Sequence[Block]) -> list[Block]:
        """Return a message's blocks, marked with the user's words if they need it."""
        if role == "assistant":
            self.tool_calls |= {
                str(one.get("id")): one for one in blocks if one["type"] == "tool_use"
            }
            return [*blocks]
        return [
            block if words is None else {**block, condense.USER_WORDS: words}
            for block, words in zip(blocks, self.words_in(blocks), strict=True)
        ]

    def words_in(self, blocks: Sequence[Block]) -> Iterator[str | None]:
        """Yield the user's words in each block, None for its whole text and for no words."""
        raise NotImplementedError

    def describe(self, **about: str) -> None:
        """Note the conversation's title or prompt; the first one stays."""
        if "title" in about:
            about["title"] = " ".join(about["title"].split())[:LONGEST_TITLE]
        if not any(one.section == "conversation" for one in self.besides):
            self.besides.append(Beside("conversation", about))

    def say(self, role: str, blocks: list[Block], at: Any = None, *, joins: bool = False) -> None:
        """Add a message; it ``joins`` a reply before it, and results of tools join results."""
        last = self.messages[-1] if self.messages else {}
        is_part = joins and role == "assistant"
        is_part = is_part or (are_results(blocks) and are_results(last.get("content", [])))
        if is_part and role == last.get("role"):
            last["content"] += blocks
        elif blocks:
            self.add_message({"role": role, "content": blocks, **dated(at, "created_at")})

    def add_message(self, message: dict[str, Any]) -> None:
        """Add a message; a text that is too long becomes several, which the report says."""
        parts = in_parts(message)
        if len(parts) > 1:
            self.refuse(len(self.messages) + 1, IN_PARTS.format(count=len(parts)))
        self.messages += parts

    def condense(self, text: str, at: Any, **figures: Any) -> None:
        """Put a summary in place of all visible messages, with its record."""
        name = str(uuid.uuid4())
        for message in self.messages:
            message.setdefault("condense_parent", name)
        made = {"role": "user", "content": [text_block(text)], "condense_id": name}
        self.messages.append(made | dated(at, "created_at"))
        self.record(len(self.messages), at, summary=text, **figures)

    def record(self, number: int, at: Any, **figures: Any) -> None:
        """Record that a message stands for others; unknown figures are left empty."""
        made = self.messages[number - 1]
        kind, prefix = _MADE["condense_id" in made]
        name = made[f"{prefix}_id"]
        attempt = {
            "at_seq": number - 1,
            "message": number,
            "status": "succeeded",
            "kind": kind,
            "trigger": "auto",
            "strategy": self.strategy,
            "messages_hidden": sum(one.get(f"{prefix}_parent") == name for one in self.messages),
            **dated(at, "started_at", "finished_at"),
        }
        self.besides.append(Beside("condensations", attempt | figures))

    def call(self, model: str, at: Any, **figures: int) -> dict[str, Any]:
        """Put on record the call that wrote the newest message, and return the record."""
        known = {"purpose": "chat", "status": "succeeded", "usage_measured": True, "model": model}
        call = known | dated(at, "created_at") | {"message": len(self.messages)} | figures
        self.besides.append(Beside("calls", call))
        return call

    def set_aside(self, root: int, version: int, start: int, since: int) -> None:
        """Hide all messages since as a version; an edited message's ``root`` is negative."""
        found = [*self.messages[start:], *self.rewinds[since:]]
        hidden = [one for one in found if "rewind_parent" not in one]
        record = {
            "cause": "edited" if root < 0 else "regenerated",
            "root_seq": abs(root),
            "version": version,
            "to_seq": start + 1,
            "last_seq": len(self.messages),
            "messages_hidden": sum("role" in one for one in hidden),
        }
        self.rewinds.append(record)
        for one in hidden:
            one["rewind_parent"] = len(self.rewinds)

    def go_back(self, start: int, first: int) -> None:
        """Set aside the user's words in a place, from the first message that is still seen."""
        places = [one["root_seq"] for one in self.rewinds]
        since = max((n for n, root in enumerate(places, 1) if root <= start + 1), default=0)
        self.set_aside(-start - 1, places.count(start + 1) + 1, first, since)

    def pieces(self) -> Iterator[Piece]:
        """Yield the collected pieces; summaries and markers list the messages that they hide."""
        about = [one.item for one in self.besides]
        if loss := describe_loss(self.texts, [self.messages, about, self.reshaped]):
            yield Problem(0, loss)
        # Their times say which version is which.
        now = timezone.now()
        for number, one in enumerate(self.rewinds):
            at = (now + timedelta(microseconds=number)).isoformat()
            yield Beside("rewinds", one | {"created_at": at})
        behind = defaultdict[str, list[int]](list)
        for number, one in enumerate(self.messages, 1):
            for name in filter(None, {one.get("condense_parent"), one.get("truncation_parent")}):
                behind[name].append(number)
            made = one.get("condense_id") or one.get("truncation_id")
            if made and behind[made]:
                one["hides"] = hidden_messages.runs_of(behind[made])
        yield from self.problems
        yield from self.messages
        yield from self.besides


def are_results(blocks: list[Block]) -> bool:
    """Return True if all blocks are results of tools."""
    return bool(blocks) and all(block.get("type") == "tool_result" for block in blocks)


def dated(at: Any, *names: str) -> dict[str, str]:
    """Return a time, from text or a number, under these names; nothing for other values."""
    try:
        if isinstance(at, int | float) and not isinstance(at, bool):
            found = datetime.fromtimestamp(at / 1000 if at > _MILLISECONDS else at, UTC)
        else:
            found = datetime.fromisoformat(at)
    except (TypeError, ValueError, OverflowError, OSError):
        return {}
    in_time = found.tzinfo is not None and 1970 <= found.year < 2200  # noqa: PLR2004 - years
    return dict.fromkeys(names, found.astimezone(UTC).isoformat()) if in_time else {}


def count(value: Any) -> int:
    """Return a number of tokens, 0 for other values."""
    return value if type(value) is int and 0 <= value < 2**31 else 0


def in_parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Split a message whose text exceeds LONGEST_MESSAGE into several.

    Each block becomes one message; summaries and markers stay whole.
    """
    most, cut, content = settings.LONGEST_MESSAGE, list[Block](), message["content"]
    blocks = [text_block(content)] if isinstance(content, str) else content
    for block in blocks:
        said = {name: block[name] for name in _CUT if name in block and block["type"] == "text"}
        for at in range(0, len(said.get("text", "")) or 1, most):
            cut.append(block | {name: text[at : at + most] for name, text in said.items()})
    is_whole = len(cut) == len(blocks) or {"condense_id", "truncation_id"} & message.keys()
    return [message] if is_whole else [message | {"content": [one]} for one in cut]


def text_block(text: str) -> Block:
    """Return text as a block."""
    return {"type": "text", "text": text}


def call_block(name: str, call_id: Any, arguments: Any) -> Block:
    """Return a tool's call; arguments that are no JSON are kept as text."""
    given = read_arguments(arguments) if isinstance(arguments, str) else arguments
    return {"type": "tool_use", "id": str(call_id), "name": name, "input": given or {}}


def result_block(call_id: Any, output: Any, missing: Missing) -> Block:
    """Return a tool's result: text, or blocks if it has pictures."""
    parts = [*blocks_in(output, missing=missing)]
    text = output if isinstance(output, str) else request_bytes.encode(output).decode()
    text = result_text(parts) if parts or output in ([], None) else text
    said = text if all(one["type"] == "text" for one in parts) else parts
    return {"type": "tool_result", "tool_use_id": str(call_id), "content": said}


def blocks_in(value: Any, name: str = "call", missing: Missing = lambda _: ()) -> Iterator[Block]:
    """Yield the blocks of a message's parts under any name; an unknown part is its words.

    ``name`` begins the id of a call without one. ``missing`` returns the blocks of a part without
    words.
    """
    newest = name
    parts = [value] if isinstance(value, str) and value.strip() else listed(value)
    for number, part in enumerate(parts):
        kind = str(fields(part).get("type"))
        about, text = {**fields(part), **fields(fields(part).get(kind))}, joined(part)
        # Calls of Assistants are named by their own kind once more.
        about |= fields(about.get(str(about.get("type"))))
        links = links_in([about.get("citations"), {"url": about.get("url")}, about.get("action")])
        given = about.get("output", about.get("outputs"))
        output = about.get("content") if given is None else given
        if kind == "message":
            yield from blocks_in(output, name, missing)
        elif _THOUGHT.fullmatch(kind):
            thought = text or joined(about.get("summaries"))
            yield from [{"type": "thinking", "thinking": thought}] if thought else ()
        elif _CALL.fullmatch(kind):
            newest = _first(about, _IDS) or f"{name}_{number}"
            yield call_block(str(about.get("name", kind)), newest, _first(about, _GIVEN))
            if given is not None:
                yield result_block(newest, output, missing)
        elif _RESULT.fullmatch(kind):
            failed = {"is_error": True} if about.get("is_error") is True else {}
            yield result_block(_first(about, _IDS) or newest, output, missing) | failed
        elif image := _image(part):
            yield image
        elif (text or links) and not _MEDIA.fullmatch(kind) and isinstance(part, dict | str):
            yield from (*([text_block(text)] if text else []), *links)
        elif kind not in _SILENT:
            yield from missing(part) or ()


def _first(about: dict[str, Any], names: Sequence[str]) -> Any:
    return next((about[name] for name in names if about.get(name)), None)


def links_in(cited: Any) -> list[Block]:
    """Return titles and addresses that an answer cites as one text, each once."""
    found = [
        one for one in leaves(cited) if one[0] == "title" or _ADDRESS.fullmatch(": ".join(one))
    ]
    links = dict.fromkeys(text if key == "title" else f"<{text}>" for key, text in found)
    return [text_block(" ".join(links))] if {"url", "link"} & dict(found).keys() else []


def result_text(content: Any) -> str:
    """Return the text of a tool's result."""
    if isinstance(content, list):
        return "\n".join(str(one.get("text") or "") for one in content if isinstance(one, dict))
    return content if isinstance(content, str) else ""


def _image(part: Any) -> Block | None:
    match part:
        case {"type": "image", "source": {"type": "base64", "data": str()} as source}:
            return {"type": "image", "source": source}
        case {"type": "image_generation_call", "result": str(data)}:
            source = {"type": "base64", "media_type": "image/png", "data": data}
            return {"type": "image", "source": source}
        case (
            {"type": "image_url" | "input_image", "image_url": {"url": str(url)} | str(url)}
            | {"type": "image", "url": str(url)}
        ):  # fmt: skip
            kind, comma, data = url.partition(";base64,")
            if comma and kind.startswith("data:image/"):
                source = {"type": "base64", "media_type": kind.removeprefix("data:"), "data": data}
                return {"type": "image", "source": source}
            if url.startswith(("https://", "http://")):
                return {"type": "image", "source": {"type": "url", "url": url}}
    return None


def check_message(item: Any) -> tuple[dict[str, Any] | None, list[str]]:
    """Return a message of the Messages API without its unusable blocks, and the reasons."""
    if not isinstance(item, dict) or item.get("role") not in ("user", "assistant"):
        return None, [noop("A message is a JSON object whose role is 'user' or 'assistant'.")]
    content, reasons = item.get("content"), list[str]()
    if isinstance(content, list):
        reasons = [reason for block in content if (reason := _wrong_block(block))]
        # Only marks that were written here are believed.
        marks = {condense.BESIDE, condense.USER_WORDS}
        content = [
            {name: value for name, value in block.items() if name not in marks}
            for block in content
            if not _wrong_block(block)
        ]
        says = any(one["type"] != "text" or one["text"].strip() for one in content)
    else:
        says = isinstance(content, str) and bool(content.strip())
    if not says:
        return None, [*reasons, noop("The message has no content that can be used.")]
    pinned = {"pinned": True} if item.get("pinned") is True else {}
    return {"role": item["role"], "content": content, **pinned}, reasons


def _wrong_block(block: Any) -> str:
    """Return the fault of a block that the engine reads, "" if it has none or another type."""
    kind, opaque = fields(block).get("type"), condense.OpaqueBlock
    is_known = isinstance(kind, str)
    if is_known and (kind not in _READ or not isinstance(condense.block_from_api(block), opaque)):
        return ""
    return noop("A content block does not have the form that the API gives it.")
