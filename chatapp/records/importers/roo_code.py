"""Task folders of Roo Code: the model's messages with their tags, and the page's messages.

``api_conversation_history.json`` is enough; ``ui_messages.json`` has the costs of condensing. Words
of users are in tags of their own, next to results and surroundings. A tool's output may hold the
same tags, so that none counts after a result's heading, but for the tools whose results are the
user's words.
"""

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, override

from django.utils.translation import gettext_lazy

from chatapp.agent.tool_arguments import read_arguments
from chatapp.conversations.conversations import title_of
from chatapp.records.transfer import Piece, Problem, Unusable
from chatapp.records.transfer.source_texts import joined
from chatapp.records.transfer.transcript_files import Sample, read_items
from chatapp.records.transfer.transcripts import Block, Transcript, count, dated, result_text
from condense import noop, say

LABEL = noop("Roo Code task")
WHERE = gettext_lazy("The files of a task's folder, chosen together.")
HISTORY, PAGE = "api_conversation_history.json", "ui_messages.json"

_TAGS = {
    "condenseId": "condense_id",
    "condenseParent": "condense_parent",
    "truncationId": "truncation_id",
    "truncationParent": "truncation_parent",
}
_NAMESPACE = uuid.UUID("7c5b0f9e-2a51-4b7e-8f0e-0d5f6f1d9a11")

# Each of these takes linear time, since a file may hold anything.
_WRAPPED = re.compile(r"\s*<(task|user_message|feedback|answer)>(.*)</\1>\s*\Z", re.DOTALL)
_RESULT = re.compile(r"\[(\w++)[^\n]*\] Result:")
_OWN = re.compile(r"\s*(?:<environment_details>|\[ERROR\])")
_DENIED = re.compile(
    r"The user (?:denied|rejected) (?>[^\n]*?feedback:)\s*<feedback>(.*)</feedback>\s*\Z", re.DOTALL
)
# Tools whose results are the user's words, and those whose results the user writes.
_ASKING = {"ask_followup_question", "attempt_completion"}
_CHANGING = {
    "write_to_file", "apply_diff", "insert_content", "search_and_replace", "edit_file",
    "execute_command", "new_task", "switch_mode", "update_todo_list",
}  # fmt: skip


def recognise(sample: Sample) -> bool:
    """Return True for such a folder, or the one file of it that is needed."""
    tagged = any("ts" in item and "role" in item for item in sample.items)
    return bool({HISTORY, PAGE} & sample.names) or (tagged and sample.head.startswith("["))


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield messages with their tags, and condensations with their cost."""
    history = path / HISTORY if path.is_dir() else path
    if not history.is_file() or history.name == PAGE:
        raise Unusable(say("“{name}” is missing: it has what the model was sent.", name=HISTORY))
    page = path / PAGE
    yield from Task(page if path.is_dir() and page.is_file() else None).read(read_items(history))


class Task(Transcript):
    """A task: its history message by message, with the figures of its page."""

    strategy = LABEL

    def __init__(self, page: Path | None = None) -> None:
        super().__init__()
        self._page = page

    @override
    def take(self, index: int, item: Any, /) -> None:
        if message := self.checked(index, item):
            if not item.get("isSummary"):
                message["content"] = self.mark(message["role"], message["content"])
            self.add_message(message | _tags_of(item) | dated(item.get("ts"), "created_at"))

    @override
    def words_in(self, blocks: Sequence[Block]) -> Iterator[str | None]:
        tool = ""
        for block in blocks:
            match block:
                case {"type": "text", "text": text}:
                    heading = _RESULT.match(text)
                    tool = heading[1] if heading else tool
                    yield _said(text, tool)
                case {"type": "tool_result", "tool_use_id": called, **result}:
                    name = str(self.tool_calls.get(str(called), {}).get("name", ""))
                    yield _said_in_result(result_text(result.get("content")), name) or None
                case _:
                    yield None

    @override
    def pieces(self) -> Iterator[Piece]:
        made = [index for index, one in enumerate(self.messages) if "condense_id" in one]
        # Messages before the newest summary, tagged or not, were not sent either.
        for message in self.messages[: made[-1]] if made else ():
            message.setdefault("condense_parent", self.messages[made[-1]]["condense_id"])
        self._record_all(self._read_page(self._page) if self._page else {})
        yield from super().pieces()

    def _read_page(self, page: Path) -> dict[str, Mapping[Any, Any]]:
        """Take the title from the page; return its figures of summaries and markers, by id.

        Each has its time as ``ts``.
        """
        told: dict[str, Mapping[Any, Any]] = {}
        for found in read_items(page):
            if isinstance(found, Problem):
                reason = noop("“{name}” can't be read, so the figures of condensing are missing.")
                self.refuse(0, reason.format(name=PAGE))
                return {}
            place, item = found
            match item:
                case {"say": "text", "text": str(text)} if text.strip() and place == 1:
                    self.describe(title=title_of(text))
                case {"contextCondense": {"condenseId": name, **figures}} | {
                    "contextTruncation": {"truncationId": name, **figures}
                } if name:
                    told.setdefault(_id(name), {**figures, "ts": item.get("ts")})
        return told

    def _record_all(self, told: dict[str, Mapping[Any, Any]]) -> None:
        """Record each summary and marker, with the page's figures for its id."""
        for number, one in enumerate(self.messages, 1):
            if name := one.get("condense_id") or one.get("truncation_id"):
                figures = told.pop(name, {})
                text, cost = figures.get("summary"), figures.get("cost")
                known = isinstance(cost, float) and 0 <= cost < 10**6
                said = joined(one["content"]) if "condense_id" in one else ""
                self.record(
                    number,
                    figures.get("ts", one.get("created_at")),
                    summary=text if isinstance(text, str) else said,
                    tokens_before=count(figures.get("prevContextTokens")),
                    tokens_after=count(figures.get("newContextTokens")),
                    **({"cost": f"{cost:.10f}"} if known else {}),
                )


def _tags_of(item: dict[str, Any]) -> dict[str, str]:
    """Return the tags; an id is a tag only on a summary or a marker."""
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


def _said(text: str, tool: str) -> str | None:
    """Return the user's words in a text after the heading of ``tool``'s result, None for all."""
    if _RESULT.match(text) or _OWN.match(text):
        return ""
    wrapped = _WRAPPED.match(text)
    if not tool and not wrapped:
        # It has the user's slash commands, as requests from here have them.
        return text if "<command" in text else None
    if not tool or tool in _ASKING:
        return wrapped[2].strip() if wrapped else ""
    denied = _DENIED.match(text) if tool in _CHANGING else None
    return denied[1].strip() if denied else ""


def _said_in_result(text: str, tool: str) -> str:
    if tool in _ASKING:
        wrapped = _WRAPPED.match(text)
        return wrapped[2].strip() if wrapped else ""
    if tool not in _CHANGING or not text.startswith("{"):
        return ""
    told = read_arguments(text)
    return str(told.get("feedback") or "") if told.get("status") == "denied" else ""
