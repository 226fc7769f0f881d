"""The to-do list, as the last call that wrote it left it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from condense.facts.calls import FinishedCall
from condense.facts.ledger import Todo
from condense.facts.texts import one_line

TEXT_CHARS = 100
_TEXTS = ("content", "text", "subject", "title", "step", "task")
_DONE = {"completed", "complete", "done", "x", "cancelled", "canceled", "deleted"}
_ACTIVE = {"in_progress", "in-progress", "active", "-", "~"}
# Within one line: space that could run on to the next one would be read once for each of them.
_CHECKBOX = re.compile(
    r"^[^\S\n]*+(?:[-*][^\S\n]++|\d++\.[^\S\n]++)?\[([ xX~-])\][^\S\n]++(.+)$", re.MULTILINE
)
_NUMBER = re.compile(r"#(\w+)")
_TOOL = re.compile(r"task|todo|plan", re.IGNORECASE)
_LIST = re.compile(r"todos?|tasks|items|plan|steps", re.IGNORECASE)


class TodoFollower:
    """Follows whole lists, checklists in Markdown, and tools that change one item."""

    def __init__(self) -> None:
        # Texts and states by id; what an earlier ledger counted as done has neither.
        self._items: dict[str, tuple[str, str]] = {}
        self._counted = 0

    @property
    def open(self) -> tuple[Todo, ...]:
        """The items that are to be done."""
        items = self._items.items()
        return tuple([Todo(id_, text, s in _ACTIVE) for id_, (text, s) in items if s not in _DONE])

    @property
    def done(self) -> int:
        """The number of items that are ticked off."""
        return self._counted + len(self._items) - len(self.open)

    def carry(self, todos: Sequence[Todo], done: int) -> None:
        """Take over a list as an earlier ledger had it; an empty one says nothing."""
        if todos or done:
            self._items = {one.id: (one.text, "active" if one.active else "") for one in todos}
            self._counted = done

    def follow(self, call: FinishedCall) -> None:
        """Apply a call, if it is about a to-do list and went well."""
        if call.outcome != "ok":
            return
        items = _whole_list(call)
        if items is not None:
            self._items, self._counted = {}, 0
            for number, (text, status) in enumerate(items, start=1):
                self._put(str(number), text, status)
        elif _TOOL.search(call.name):
            self._change(call)

    def _put(self, id_: str, text: str, status: str) -> None:
        self._items[id_] = (one_line(text, TEXT_CHARS), status.lower())

    def _change(self, call: FinishedCall) -> None:
        given = call.arguments
        found = next((given[key] for key in ("taskId", "task_id", "id") if key in given), "")
        id_ = "".join(str(found).split())[:TEXT_CHARS]
        text, status = [
            value if isinstance(value, str) else ""
            for value in (given.get("subject"), given.get("status"))
        ]
        if known := self._items.get(id_):
            self._put(id_, text or known[0], status or known[1])
        elif id_ and self._counted and status.lower() not in {*_DONE, ""}:
            # An earlier ledger only counted it.
            self._counted -= 1
            self._put(id_, text or f"#{id_}", status)
        elif text and not id_:
            number = _NUMBER.search(call.answer)
            self._put(number[1] if number else str(len(self._items) + self._counted + 1), text, "")


def _whole_list(call: FinishedCall) -> list[tuple[str, str]] | None:
    """Return texts and states if an argument is a to-do list; an empty one clears the list."""
    for key, value in call.arguments.items():
        if isinstance(value, list) and value:
            items = [item for item in value if isinstance(item, Mapping) and "status" in item]
            if len(items) == len(value) and all(map(_text_of, items)):
                return [(_text_of(item), str(item["status"])) for item in items]
        if value in ([], "") and _LIST.fullmatch(key) and _TOOL.search(call.name):
            return []
        if isinstance(value, str) and len(call.arguments) == 1 and _CHECKBOX.match(value):
            return [(text, box) for box, text in _CHECKBOX.findall(value)]
    return None


def _text_of(item: Mapping[str, Any]) -> str:
    return next((item[key] for key in _TEXTS if isinstance(item.get(key), str)), "")
