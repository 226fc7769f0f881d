"""Keeps the to-do list of a task, which people see next to the chat."""

import re
from dataclasses import dataclass

import condense
from chatapp.agent.errors import ToolError
from chatapp.agent.ports import ToolSpec
from chatapp.tools.arguments import argument
from chatapp.tools.workspace import Workspace

# Items of a list, and characters of one.
MAX_ITEMS = 100
MAX_ITEM = 500

_ITEM = re.compile(r"(?:[-*]|\d{1,3}\.)?\s*\[([ xX~-])\]\s+(\S.*)")


@dataclass(frozen=True, slots=True)
class Arguments:
    """The whole list, as it is now."""

    todos: str = argument("One item a line: [ ] to do, [-] in progress, [x] done.")


SPEC = ToolSpec(
    name="update_todo_list",
    description="Keep a to-do list for a task of several steps: give the whole list each time.",
    tally=condense.plural("Updated the to-do list", "Updated the to-do list {count} times"),
)


def run(_workspace: Workspace, arguments: Arguments) -> str:
    """Check the list, which stands in the conversation from now on."""
    items = read_items(arguments.todos)
    done = sum(state == "x" for state, _ in items)
    return f"The list has {len(items)} items; {done} are done."


def read_items(todos: str) -> list[tuple[str, str]]:
    """Return state and text of each item; raise ToolError for other text."""
    items = []
    for line in filter(None, map(str.strip, todos.splitlines())):
        found = _ITEM.fullmatch(line)
        if found is None:
            raise ToolError(f"This line is no item: {line[:100]!r}. Write it like '[ ] Text'.")
        if len(found[2]) > MAX_ITEM:
            raise ToolError(f"An item has at most {MAX_ITEM} characters: {line[:100]!r}.")
        items.append((found[1].lower().replace("~", "-"), found[2]))
    if len(items) > MAX_ITEMS:
        raise ToolError(f"A list has at most {MAX_ITEMS} items.")
    return items
