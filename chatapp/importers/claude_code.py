"""Sessions of Claude Code: JSON Lines, each with a message, a part of one, or a note."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from chatapp.exchange import Beside, Piece, Problem
from chatapp.exchange.samples import Sample
from chatapp.exchange.streams import read_lines
from chatapp.exchange.talks import Talk, count
from chatapp.importers.messages import check_item

LABEL = "Claude Code session"

_LONGEST_TITLE = 200


def recognise(sample: Sample) -> bool:
    """Whether its lines name their session, or sum one up."""
    marks = ({"sessionId", "uuid"}, {"leafUuid", "summary"})
    return sample.in_lines and any(mark <= item.keys() for mark in marks for item in sample.items)


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield messages with their calls' figures, and summaries with what they hide."""
    session = _Session()
    for found in read_lines(path):
        if isinstance(found, Problem):
            session.talk.problems.append(found)
        else:
            session.take(*found)
    yield from session.talk.pieces()


class _Session:
    """A session, line by line: a reply comes in parts, which have its id."""

    def __init__(self) -> None:
        self.talk = Talk()
        self._reply = ""
        self._call: dict[str, Any] = {}
        self._boundary: Mapping[Any, Any] = {}

    def take(self, index: int, line: dict[str, Any]) -> None:
        match line:
            case {"isSidechain": True}:
                self.talk.refuse(index, "What a subagent said is not part of the conversation.")
            case {"type": "system", "compactMetadata": {**told}}:
                self._boundary = told
            case {"type": "summary", "summary": str(title)}:
                self._entitle(title)
            case {"type": "user" | "assistant", "message": {**message}}:
                self._take_message(index, line, message)

    def _entitle(self, title: str) -> None:
        if not any(one.section == "conversation" for one in self.talk.besides):
            about = {"title": title[:_LONGEST_TITLE]}
            self.talk.besides.append(Beside("conversation", about))

    def _take_message(self, index: int, line: dict[str, Any], message: Mapping[Any, Any]) -> None:
        at = line.get("timestamp")
        for piece in check_item(index, message):
            if isinstance(piece, Problem):
                self.talk.problems.append(piece)
            elif isinstance(piece, dict):
                content = piece["content"]
                blocks = (
                    [{"type": "text", "text": content}] if isinstance(content, str) else content
                )
                if line.get("isCompactSummary") is True:
                    self._condense(blocks, at)
                else:
                    self._say(piece["role"], blocks, message, at)

    def _condense(self, blocks: list[dict[str, Any]], at: Any) -> None:
        text = "\n\n".join(one["text"] for one in blocks if one["type"] == "text")
        told, self._boundary = self._boundary, {}
        by_hand = told.get("trigger") == "manual"
        self.talk.condense(
            text,
            at,
            strategy=LABEL,
            trigger="manual" if by_hand else "auto",
            tokens_before=count(told.get("preTokens")),
            tokens_before_measured=True,
        )

    def _say(
        self, role: str, blocks: list[dict[str, Any]], message: Mapping[Any, Any], at: Any
    ) -> None:
        """Add a message, or to the reply that this is another part of."""
        reply = message.get("id") if role == "assistant" else None
        if reply and reply == self._reply:
            self.talk.messages[-1]["content"] += blocks
        else:
            before = len(self.talk.messages)
            self.talk.say(role, blocks, at)
            is_new = len(self.talk.messages) > before
            self._reply, self._call = (reply if isinstance(reply, str) and is_new else ""), {}
        used = message.get("usage")
        if self._reply and isinstance(used, dict):
            self._account(message.get("model"), used, at)

    def _account(self, model: Any, used: Mapping[Any, Any], at: Any) -> None:
        """Put on record what a reply took: each part says how much it was by then."""
        figures = {
            "tokens_input": count(used.get("input_tokens")),
            "tokens_output": count(used.get("output_tokens")),
            "tokens_cache_read": count(used.get("cache_read_input_tokens")),
            "tokens_cache_write": count(used.get("cache_creation_input_tokens")),
        }
        if not self._call:
            self.talk.call(model[:100] if isinstance(model, str) else "", at, **figures)
            self._call = self.talk.besides[-1].item
        elif figures["tokens_output"] > self._call["tokens_output"]:
            self._call |= figures
