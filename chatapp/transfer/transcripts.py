"""Transcripts: a conversation put together from another program's items, one by one."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from chatapp.models import hidden_messages
from chatapp.transfer import Beside, Piece, Problem
from chatapp.transfer.foreign_blocks import Block, check_message, text_block
from chatapp.transfer.transcript_files import Item

# By whether a message is a summary: the kind of its record, and how its tags begin.
_MADE = {True: ("condensed", "condense"), False: ("truncated", "truncation")}


class Transcript:
    """Messages in their order, what hides them, and what else is known of them.

    A format is a subclass whose ``take`` says what each item adds.
    """

    # What condensed, as people call it.
    strategy = ""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.besides: list[Beside] = []
        self.problems: list[Problem] = []

    def take(self, index: int, item: Any, /) -> None:
        """Add what an item of the file says."""
        raise NotImplementedError

    def take_all(self, found: Iterable[Item | Problem]) -> None:
        """Add what all items of a file say."""
        for one in found:
            if isinstance(one, Problem):
                self.problems.append(one)
            else:
                self.take(*one)

    def read(self, found: Iterable[Item | Problem]) -> Iterator[Piece]:
        """Yield what the items of a file say; nothing is read before the first is asked for."""
        self.take_all(found)
        yield from self.pieces()

    def refuse(self, index: int, reason: str) -> None:
        """Note what can't be used."""
        self.problems.append(Problem(index, reason))

    def checked(self, index: int, item: Any) -> dict[str, Any] | None:
        """Return a message of the Messages API with what can be used of it, None for no message."""
        message, reasons = check_message(item)
        self.problems += [Problem(index, reason) for reason in reasons]
        return message

    def describe(self, **about: str) -> None:
        """Note the conversation's title or prompt; the first that is told holds."""
        if not any(one.section == "conversation" for one in self.besides):
            self.besides.append(Beside("conversation", about))

    def say(self, role: str, blocks: list[Block], at: Any = None) -> None:
        """Add a message; results of tools that follow each other are one."""
        last = self.messages[-1] if self.messages else {}
        if _holds_results(blocks) and last.get("role") == role and _holds_results(last["content"]):
            last["content"] += blocks
        elif blocks:
            self.messages.append({"role": role, "content": blocks, **dated(at, "created_at")})

    def condense(self, text: str, at: Any, **figures: Any) -> None:
        """Put a summary in place of all that is visible, with the record of it."""
        name = str(uuid.uuid4())
        for message in self.messages:
            message.setdefault("condense_parent", name)
        made = {"role": "user", "content": [text_block(text)], "condense_id": name}
        self.messages.append(made | dated(at, "created_at"))
        self.record(len(self.messages), at, summary=text, **figures)

    def record(self, number: int, at: Any, **figures: Any) -> None:
        """Put on record that a message stands for others; what is not known is empty."""
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

    def pieces(self) -> Iterator[Piece]:
        """Yield what was collected; summaries and markers say what they hide, to be redone."""
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


def _holds_results(blocks: list[Block]) -> bool:
    return bool(blocks) and all(block.get("type") == "tool_result" for block in blocks)


def dated(at: Any, *names: str) -> dict[str, str]:
    """Return a time, in words or in milliseconds, under these names; nothing for what is none."""
    try:
        if isinstance(at, int | float) and not isinstance(at, bool):
            found = datetime.fromtimestamp(at / 1000, UTC)
        else:
            found = datetime.fromisoformat(at)
    except (TypeError, ValueError, OverflowError, OSError):
        return {}
    in_time = found.tzinfo is not None and 1970 <= found.year < 2200  # noqa: PLR2004 - years
    return dict.fromkeys(names, found.isoformat()) if in_time else {}


def count(value: Any) -> int:
    """Return a number of tokens, 0 for what is none."""
    return value if type(value) is int and 0 <= value < 2**31 else 0
