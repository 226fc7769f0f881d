"""Task folders of Roo Code: what the model was sent with its tags, and what the page showed.

``api_conversation_history.json`` is enough; ``ui_messages.json`` has what condensing cost.
"""

import json
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from chatapp.exchange import Beside, Piece, Problem, Unusable
from chatapp.exchange.files import read_whole
from chatapp.exchange.samples import Sample
from chatapp.exchange.streams import read_items
from chatapp.exchange.talks import Talk, count, moment, parts_of
from chatapp.importers.messages import check_item

LABEL = "Roo Code task"
HISTORY, PAGE = "api_conversation_history.json", "ui_messages.json"

_TAGS = {
    "condenseId": "condense_id",
    "condenseParent": "condense_parent",
    "truncationId": "truncation_id",
    "truncationParent": "truncation_parent",
}
_FOLDER = uuid.UUID("7c5b0f9e-2a51-4b7e-8f0e-0d5f6f1d9a11")


def recognise(sample: Sample) -> bool:
    """Whether it is such a folder, or the one file of it that is needed."""
    named = bool({HISTORY, PAGE} & sample.names)
    tagged = any("ts" in item and "role" in item for item in sample.items)
    return named or (tagged and sample.head.startswith("["))


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield messages with their tags, and condensations with what they cost."""
    history = path / HISTORY if path.is_dir() else path
    if not history.is_file() or history.name == PAGE:
        raise Unusable(f"“{HISTORY}” is missing: it has what the model was sent.")
    task = _Task()
    for found in read_items(history):
        if isinstance(found, Problem):
            task.talk.problems.append(found)
        else:
            task.take(*found)
    task.hide_before_last_summary()
    page = path / PAGE
    if path.is_dir() and page.is_file():
        task.read_page(page)
    task.record_the_rest()
    yield from task.talk.pieces()


class _Task:
    """A task, message by message."""

    def __init__(self) -> None:
        self.talk = Talk()
        # The numbers of the messages that have a record.
        self._recorded: set[int] = set()

    def take(self, index: int, item: Any) -> None:
        """Add a message with its tags."""
        for piece in check_item(index, item):
            if isinstance(piece, Problem):
                self.talk.problems.append(piece)
            elif isinstance(piece, dict):
                at = moment(item.get("ts"))
                when = {"created_at": at} if at else {}
                self.talk.messages.append(piece | _tags_of(item) | when)

    def hide_before_last_summary(self) -> None:
        """Hide what stands before the newest summary, tagged or not: it was not sent either."""
        made = [index for index, one in enumerate(self.talk.messages) if "condense_id" in one]
        for message in self.talk.messages[: made[-1]] if made else ():
            message.setdefault("condense_parent", self.talk.messages[made[-1]]["condense_id"])

    def read_page(self, page: Path) -> None:
        """Take the title and the figures from what the page showed."""
        try:
            shown = json.loads(read_whole(page))
        except (ValueError, RecursionError, Unusable):
            self.talk.refuse(
                0, f"“{PAGE}” can't be read, so the figures of condensing are missing."
            )
            return
        for item in shown if isinstance(shown, list) else ():
            match item:
                case {"say": "text", "text": str(text)} if text.strip() and item is shown[0]:
                    title = " ".join(text.split())[:60]
                    self.talk.besides.append(Beside("conversation", {"title": title}))
                case {"contextCondense": {**told}, **rest}:
                    self._record_named("condense_id", told.get("condenseId"), told, rest.get("ts"))
                case {"contextTruncation": {**told}, **rest}:
                    name = told.get("truncationId")
                    self._record_named("truncation_id", name, told, rest.get("ts"))

    def _record_named(self, tag: str, name: Any, told: Mapping[Any, Any], ts: Any) -> None:
        """Put on record what the page says of a summary or a marker, where there is that one."""
        for number, one in enumerate(self.talk.messages, 1):
            if name and one.get(tag) == _id(name) and number not in self._recorded:
                self._record(tag, number, told, ts)
                return

    def record_the_rest(self) -> None:
        """Put on record what nothing is known of but that it stands for others."""
        for number, one in enumerate(self.talk.messages, 1):
            for tag in ("condense_id", "truncation_id"):
                if tag in one and number not in self._recorded:
                    self._record(tag, number, {"summary": _text_of(one)}, one.get("created_at"))

    def _record(self, tag: str, number: int, told: Mapping[Any, Any], ts: Any) -> None:
        """Put on record what a summary or a marker took and saved."""
        self._recorded.add(number)
        name = self.talk.messages[number - 1][tag]
        at = {"started_at": moment(ts), "finished_at": moment(ts)} if moment(ts) else {}
        text, cost = told.get("summary"), told.get("cost")
        parent = tag.replace("_id", "_parent")
        attempt = {
            "at_seq": number - 1,
            "message": number,
            "status": "succeeded",
            "kind": "condensed" if tag == "condense_id" else "truncated",
            "trigger": "auto",
            "strategy": LABEL,
            "summary": text if isinstance(text, str) else "",
            "tokens_before": count(told.get("prevContextTokens")),
            "tokens_after": count(told.get("newContextTokens")),
            "messages_hidden": sum(one.get(parent) == name for one in self.talk.messages),
            **({"cost": f"{cost:.10f}"} if isinstance(cost, float) and 0 <= cost < 10**6 else {}),
            **at,
        }
        self.talk.besides.append(Beside("condensations", attempt))


def _text_of(message: Mapping[str, Any]) -> str:
    """Return what a summary says; a marker says nothing of what it hides."""
    if "condense_id" not in message:
        return ""
    blocks = parts_of(message["content"])
    return "\n\n".join(one["text"] for one in blocks if one["type"] == "text")


def _tags_of(item: dict[str, Any]) -> dict[str, str]:
    """Return the tags: an id is one only on what is a summary or a marker."""
    told = {tag: _id(item[name]) for name, tag in _TAGS.items() if item.get(name)}
    if not item.get("isSummary"):
        told.pop("condense_id", None)
    elif "condense_id" not in told:
        told["condense_id"] = str(uuid.uuid4())
    if not item.get("isTruncationMarker"):
        told.pop("truncation_id", None)
    return told


def _id(name: Any) -> str:
    try:
        return str(uuid.UUID(name))
    except (ValueError, TypeError, AttributeError):
        return str(uuid.uuid5(_FOLDER, repr(name)))
