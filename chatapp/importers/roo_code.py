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
from chatapp.exchange.talks import Talk, count, moment
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
    yield from task.talk.pieces()


class _Task:
    """A task, message by message."""

    def __init__(self) -> None:
        self.talk = Talk()

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
                    self._record("condense_id", told.get("condenseId"), told, rest.get("ts"))
                case {"contextTruncation": {**told}, **rest}:
                    self._record("truncation_id", told.get("truncationId"), told, rest.get("ts"))

    def _record(self, tag: str, name: Any, told: Mapping[Any, Any], ts: Any) -> None:
        """Put on record what a summary or a marker took and saved."""
        messages = self.talk.messages
        made = [at for at, one in enumerate(messages, 1) if name and one.get(tag) == _id(name)]
        if not made:
            return
        at = {"started_at": moment(ts), "finished_at": moment(ts)} if moment(ts) else {}
        text, cost = told.get("summary"), told.get("cost")
        parent = tag.replace("_id", "_parent")
        attempt = {
            "at_seq": made[0] - 1,
            "message": made[0],
            "status": "succeeded",
            "kind": "condensed" if tag == "condense_id" else "truncated",
            "trigger": "auto",
            "strategy": LABEL,
            "summary": text if isinstance(text, str) else "",
            "tokens_before": count(told.get("prevContextTokens")),
            "tokens_after": count(told.get("newContextTokens")),
            "messages_hidden": sum(one.get(parent) == _id(name) for one in messages),
            **({"cost": f"{cost:.10f}"} if isinstance(cost, float) and 0 <= cost < 10**6 else {}),
            **at,
        }
        self.talk.besides.append(Beside("condensations", attempt))


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
