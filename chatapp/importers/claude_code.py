"""Sessions of Claude Code: JSON Lines, each with a message, a part of one, or a note."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import condense
from chatapp.transfer import Piece
from chatapp.transfer.claude_code_words import ClaudeCodeWords
from chatapp.transfer.transcript_files import Sample, read_lines
from chatapp.transfer.transcripts import Block, Transcript, count, joined_text, text_block

LABEL = "Claude Code session"

_LONGEST_TITLE = 200
_FIGURES = {
    "tokens_input": "input_tokens",
    "tokens_output": "output_tokens",
    "tokens_cache_read": "cache_read_input_tokens",
    "tokens_cache_write": "cache_creation_input_tokens",
}


def recognise(sample: Sample) -> bool:
    """Whether its lines name their session, or sum one up."""
    marks = ({"sessionId", "uuid"}, {"leafUuid", "summary"})
    return sample.in_lines and any(mark <= item.keys() for mark in marks for item in sample.items)


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield messages with their calls' figures, and summaries with what they hide."""
    return _Session().read(read_lines(path))


class _Session(Transcript):
    """A session, line by line: a reply comes in parts, which have its id."""

    strategy = LABEL

    def __init__(self) -> None:
        super().__init__()
        self._words = ClaudeCodeWords()
        self._reply: Any = None
        self._call: dict[str, Any] = {}
        self._boundary: Mapping[Any, Any] = {}

    def take(self, index: int, item: Any, /) -> None:
        match item:
            case {"isSidechain": True}:
                self.refuse(index, "What a subagent said is not part of the conversation.")
            case {"type": "system", "compactMetadata": {**told}}:
                self._boundary = told
            case {"type": "summary", "summary": str(title)}:
                self.describe(title=title[:_LONGEST_TITLE])
            case {"type": "user" | "assistant", "message": {**message}}:
                if said := self.checked(index, message):
                    content, at = said["content"], item.get("timestamp")
                    if item.get("isCompactSummary") is True:
                        self._condense(joined_text(content), at)
                    else:
                        blocks = [text_block(content)] if isinstance(content, str) else content
                        marked = self._words.mark(said["role"], blocks)
                        if item.get("isMeta") is True:
                            marked = [one | {condense.USER_WORDS: ""} for one in marked]
                        self._say(said["role"], marked, message, at)

    def _condense(self, text: str, at: Any) -> None:
        told, self._boundary = self._boundary, {}
        self.condense(
            text,
            at,
            trigger="manual" if told.get("trigger") == "manual" else "auto",
            tokens_before=count(told.get("preTokens")),
            tokens_before_measured=True,
        )

    def _say(self, role: str, blocks: list[Block], message: Mapping[Any, Any], at: Any) -> None:
        """Add a message, or to the reply that this is another part of, with what it took."""
        reply = message.get("id") if role == "assistant" else None
        if reply and reply == self._reply:
            self.messages[-1]["content"] += blocks
        else:
            self._reply, self._call = reply if isinstance(reply, str) else None, {}
            self.say(role, blocks, at)
        used = message.get("usage")
        if not (self._reply and isinstance(used, dict)):
            return
        figures = {name: count(used.get(one)) for name, one in _FIGURES.items()}
        if not self._call:
            model = message.get("model")
            name = model[:100] if isinstance(model, str) else ""
            self._call = self.call(name, at, **figures)
        elif figures["tokens_output"] > self._call["tokens_output"]:
            # Each part says how much it was by then.
            self._call |= figures
