"""The to-do list, as the last call that wrote it left it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from condense.notes.ledger import Todo
from condense.notes.sentences import one_line
from condense.notes.tool_calls import Call

TEXT = 100  # characters
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


class TodoList:
    """Follows whole lists, checklists in Markdown, and tools that change one item."""

    def __init__(self) -> None:
        self.open: dict[str, Todo] = {}
        self.done = 0
        self._ticked: dict[str, str] = {}

    def carry(self, todos: Iterable[Todo], done: int) -> None:
        """Take over a list as an earlier ledger had it; an empty one says nothing."""
        todos = tuple(todos)
        if todos or done:
            self.open, self.done = {todo.id: todo for todo in todos}, done

    def follow(self, call: Call) -> None:
        """Apply a call, if it is about a to-do list and went well."""
        if call.outcome != "ok":
            return
        items = _whole_list(call)
        if items is not None:
            self._replace(items)
        elif _TOOL.search(call.name):
            self._change(call)

    def _replace(self, items: list[tuple[str, str]]) -> None:
        self.open, self.done, self._ticked = {}, 0, {}
        for number, (text, status) in enumerate(items, start=1):
            self._put(str(number), text, status)

    def _put(self, id_: str, text: str, status: str) -> None:
        if status.lower() in _DONE:
            self.done += 1
            self._ticked[id_] = text
            self.open.pop(id_, None)
        else:
            self.open[id_] = Todo(id_, one_line(text, TEXT), status.lower() in _ACTIVE)

    def _change(self, call: Call) -> None:
        id_, status = _id_in(call.arguments), call.arguments.get("status")
        subject = call.arguments.get("subject")
        text = subject if isinstance(subject, str) else ""
        if id_ in self.open:
            known = self.open[id_]
            self._put(id_, text or known.text, str(status or ("active" if known.active else "")))
        elif id_ and isinstance(status, str):
            # It was ticked off, here or in an earlier ledger, which only counted its own.
            is_ticked = id_ in self._ticked or self.done > len(self._ticked)
            if is_ticked and status.lower() not in _DONE:
                self.done -= 1
                self._put(id_, text or self._ticked.pop(id_, f"#{id_}"), status)
        elif text and not id_:
            number = _NUMBER.search(call.answer)
            self._put(number[1] if number else str(len(self.open) + self.done + 1), text, "")


def _id_in(arguments: Mapping[str, Any]) -> str:
    value = next((arguments[key] for key in ("taskId", "task_id", "id") if key in arguments), "")
    return "".join(str(value).split())[:TEXT]


def _whole_list(call: Call) -> list[tuple[str, str]] | None:
    """Return texts and states where an argument is a to-do list; an empty one clears the list."""
    arguments = call.arguments
    for key, value in arguments.items():
        if isinstance(value, list) and value:
            items = [item for item in value if isinstance(item, Mapping) and "status" in item]
            if len(items) == len(value) and all(map(_text_of, items)):
                return [(_text_of(item), str(item["status"])) for item in items]
        if value in ([], "") and _LIST.fullmatch(key) and _TOOL.search(call.name):
            return []
        if isinstance(value, str) and len(arguments) == 1 and _CHECKBOX.match(value):
            return [(text, box) for box, text in _CHECKBOX.findall(value)]
    return None


def _text_of(item: Mapping[str, Any]) -> str:
    return next((item[key] for key in _TEXTS if isinstance(item.get(key), str)), "")
