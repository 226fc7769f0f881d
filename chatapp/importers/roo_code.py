"""Task folders of Roo Code: what the model was sent with its tags, and what the page showed.

``api_conversation_history.json`` is enough; ``ui_messages.json`` has what condensing cost.
"""

import json
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from chatapp.transfer import Piece, Unusable
from chatapp.transfer.roo_words import RooWords
from chatapp.transfer.transcript_files import Sample, read_items, read_whole
from chatapp.transfer.transcripts import Transcript, count, dated, joined_text, text_block

LABEL = "Roo Code task"
HISTORY, PAGE = "api_conversation_history.json", "ui_messages.json"

_TAGS = {
    "condenseId": "condense_id",
    "condenseParent": "condense_parent",
    "truncationId": "truncation_id",
    "truncationParent": "truncation_parent",
}
_NAMESPACE = uuid.UUID("7c5b0f9e-2a51-4b7e-8f0e-0d5f6f1d9a11")


def recognise(sample: Sample) -> bool:
    """Whether it is such a folder, or the one file of it that is needed."""
    tagged = any("ts" in item and "role" in item for item in sample.items)
    return bool({HISTORY, PAGE} & sample.names) or (tagged and sample.head.startswith("["))


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield messages with their tags, and condensations with what they cost."""
    history = path / HISTORY if path.is_dir() else path
    if not history.is_file() or history.name == PAGE:
        raise Unusable(f"“{HISTORY}” is missing: it has what the model was sent.")
    task = _Task()
    task.take_all(read_items(history))
    task.hide_before_last_summary()
    page = path / PAGE
    task.record_all(task.read_page(page) if path.is_dir() and page.is_file() else {})
    yield from task.pieces()


class _Task(Transcript):
    strategy = LABEL

    def __init__(self) -> None:
        super().__init__()
        self._words = RooWords()

    def take(self, index: int, item: Any, /) -> None:
        if message := self.checked(index, item):
            content = message["content"]
            blocks = [text_block(content)] if isinstance(content, str) else content
            if not item.get("isSummary"):
                message["content"] = self._words.mark(message["role"], blocks)
            self.messages.append(message | _tags_of(item) | dated(item.get("ts"), "created_at"))

    def hide_before_last_summary(self) -> None:
        """Hide what stands before the newest summary, tagged or not: it was not sent either."""
        made = [index for index, one in enumerate(self.messages) if "condense_id" in one]
        for message in self.messages[: made[-1]] if made else ():
            message.setdefault("condense_parent", self.messages[made[-1]]["condense_id"])

    def read_page(self, page: Path) -> dict[str, Mapping[Any, Any]]:
        """Take the title from what the page showed; return what it says of summaries and markers.

        That is by their ids, with its time as ``ts``.
        """
        try:
            shown = json.loads(read_whole(page))
        except (ValueError, RecursionError, Unusable):
            reason = f"“{PAGE}” can't be read, so the figures of condensing are missing."
            self.refuse(0, reason)
            return {}
        told: dict[str, Mapping[Any, Any]] = {}
        for place, item in enumerate(shown if isinstance(shown, list) else ()):
            match item:
                case {"say": "text", "text": str(text)} if text.strip() and not place:
                    self.describe(title=" ".join(text.split())[:60])
                case {"contextCondense": {"condenseId": name, **figures}, **rest} if name:
                    told.setdefault(_id(name), {**figures, "ts": rest.get("ts")})
                case {"contextTruncation": {"truncationId": name, **figures}, **rest} if name:
                    told.setdefault(_id(name), {**figures, "ts": rest.get("ts")})
        return told

    def record_all(self, told: dict[str, Mapping[Any, Any]]) -> None:
        """Put each summary and marker on record, with what is told of it by its id."""
        for number, one in enumerate(self.messages, 1):
            if name := one.get("condense_id") or one.get("truncation_id"):
                figures = told.pop(name, {})
                text, cost = figures.get("summary"), figures.get("cost")
                known = isinstance(cost, float) and 0 <= cost < 10**6
                said = joined_text(one["content"]) if "condense_id" in one else ""
                self.record(
                    number,
                    figures.get("ts", one.get("created_at")),
                    summary=text if isinstance(text, str) else said,
                    tokens_before=count(figures.get("prevContextTokens")),
                    tokens_after=count(figures.get("newContextTokens")),
                    **({"cost": f"{cost:.10f}"} if known else {}),
                )


def _tags_of(item: dict[str, Any]) -> dict[str, str]:
    """Return the tags: an id is one only on what is a summary or a marker."""
    told = {tag: _id(item[name]) for name, tag in _TAGS.items() if item.get(name)}
    if not item.get("isSummary"):
        told.pop("condense_id", None)
    else:
        told.setdefault("condense_id", str(uuid.uuid4()))
    if not item.get("isTruncationMarker"):
        told.pop("truncation_id", None)
    return told


def _id(name: Any) -> str:
    try:
        return str(uuid.UUID(name))
    except (ValueError, TypeError, AttributeError):
        return str(uuid.uuid5(_NAMESPACE, repr(name)))
