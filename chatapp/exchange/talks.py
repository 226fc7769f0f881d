"""A conversation as it is put together from what another program has recorded."""

import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from chatapp.exchange.pieces import Beside, Piece, Problem
from chatapp.models import hiding
from chatapp.providers import wire

Block = dict[str, Any]


class Talk:
    """Collects messages in their order, what hides them, and what else is known of them."""

    def __init__(self) -> None:
        """Begin with nothing said."""
        self.messages: list[dict[str, Any]] = []
        self.besides: list[Beside] = []
        self.problems: list[Problem] = []

    def say(self, role: str, blocks: list[Block], at: str | None = None) -> None:
        """Add a message; results of tools that follow each other are one."""
        last = self.messages[-1] if self.messages else {}
        if _holds_results(blocks) and last.get("role") == role and _holds_results(last["content"]):
            last["content"] += blocks
        elif blocks:
            self.messages.append({"role": role, "content": blocks, **_when(at)})

    def refuse(self, index: int, reason: str) -> None:
        """Note what can't be used."""
        self.problems.append(Problem(index, reason))

    def condense(self, text: str, at: str | None, **figures: Any) -> None:
        """Put a summary in place of all that is visible, with the record of it."""
        name = str(uuid.uuid4())
        for message in self.messages:
            if not message.get("condense_parent"):
                message["condense_parent"] = name
        self.messages.append(
            {"role": "user", "content": [text_block(text)], "condense_id": name, **_when(at)}
        )
        self.record("condensed", text, at, **figures)

    def record(self, kind: str, text: str, at: str | None, **figures: Any) -> None:
        """Put on record that the newest message stands for others; what is not known is empty."""
        attempt = {
            "at_seq": len(self.messages) - 1,
            "message": len(self.messages),
            "status": "succeeded",
            "kind": kind,
            "trigger": "auto",
            "summary": text,
            "messages_hidden": len(self.messages) - 1,
            **({"started_at": moment(at), "finished_at": moment(at)} if moment(at) else {}),
        }
        self.besides.append(Beside("condensations", attempt | figures))

    def call(self, model: str, at: str | None, **figures: Any) -> None:
        """Put on record the call that wrote the newest message."""
        known = {"purpose": "chat", "status": "succeeded", "usage_measured": True, "model": model}
        when = {"created_at": moment(at)} if moment(at) else {}
        self.besides.append(
            Beside("calls", known | when | {"message": len(self.messages), **figures})
        )

    def pieces(self) -> Iterator[Piece]:
        """Yield what was collected; summaries and markers say what they hide, to be redone."""
        behind = defaultdict[str, list[int]](list)
        for number, one in enumerate(self.messages, 1):
            named = {
                str(one[tag]) for tag in ("condense_parent", "truncation_parent") if tag in one
            }
            for name in named:
                behind[name].append(number)
            made = one.get("condense_id") or one.get("truncation_id")
            if made and behind[made]:
                one["hides"] = hiding.runs_of(behind[made])
        yield from self.problems
        yield from self.messages
        yield from self.besides


def _holds_results(blocks: list[Block]) -> bool:
    return bool(blocks) and all(block.get("type") == "tool_result" for block in blocks)


def _when(at: str | None) -> dict[str, str]:
    found = moment(at)
    return {"created_at": found} if found else {}


def moment(at: Any) -> str | None:
    """Return a time, in words or in milliseconds, as records have it; None where it is none."""
    try:
        if isinstance(at, int | float) and not isinstance(at, bool):
            found = datetime.fromtimestamp(at / 1000, UTC)
        else:
            found = datetime.fromisoformat(at)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    in_time = found.tzinfo is not None and 1970 <= found.year < 2200  # noqa: PLR2004 - years
    return found.isoformat() if in_time else None


def count(value: Any) -> int:
    """Return a number of tokens, 0 for what is none."""
    return value if type(value) is int and 0 <= value < 2**31 else 0


def text_block(text: str) -> Block:
    """Return text as a block."""
    return {"type": "text", "text": text}


def image_block(url: Any) -> Block | None:
    """Return an image by its address, None for what is none."""
    if not isinstance(url, str):
        return None
    kind, comma, data = url.partition(";base64,")
    if comma and kind.startswith("data:image/"):
        source = {"type": "base64", "media_type": kind.removeprefix("data:"), "data": data}
        return {"type": "image", "source": source}
    if url.startswith(("https://", "http://")):
        return {"type": "image", "source": {"type": "url", "url": url}}
    return None


def call_block(name: Any, call_id: Any, arguments: Any) -> Block | None:
    """Return a tool's call, None for what is none; arguments that are no JSON are kept as text."""
    if not (isinstance(name, str) and isinstance(call_id, str)):
        return None
    given = wire.decode_input(arguments) if isinstance(arguments, str) else arguments
    return {"type": "tool_use", "id": call_id, "name": name, "input": given or {}}


def result_block(call_id: Any, output: Any) -> Block | None:
    """Return what a tool answered, None for what is none."""
    if not isinstance(call_id, str):
        return None
    text = output if isinstance(output, str) else wire.encode(output).decode()
    return {"type": "tool_result", "tool_use_id": call_id, "content": text}


def parts_of(content: Any) -> list[Block]:
    """Return the blocks of a message whose parts are text and images, under whatever name."""
    if isinstance(content, str):
        return [text_block(content)] if content.strip() else []
    found = (_part(part) for part in listed(content) if isinstance(part, Mapping))
    return [block for block in found if block]


def listed(value: Any) -> list[Any]:
    """Return a list, an empty one for what is none."""
    return value if isinstance(value, list) else []


def _part(part: Mapping[str, Any]) -> Block | None:
    match part:
        case {"type": "text" | "input_text" | "output_text" | "refusal", **rest}:
            text = rest.get("text", rest.get("refusal"))
            return text_block(text) if isinstance(text, str) and text.strip() else None
        case {"type": "image_url" | "input_image", "image_url": {"url": url}}:
            return image_block(url)
        case {"type": "image_url" | "input_image", "image_url": url}:
            return image_block(url)
    return None
