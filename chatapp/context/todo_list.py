"""The to-do list that the agent keeps, as its last call that stands has it."""

from collections.abc import Sequence
from dataclasses import dataclass

from chatapp.agent.errors import ToolError
from chatapp.models import Conversation, Message, ToolRun, message_store
from chatapp.tools.update_todo_list import SPEC, read_items

# The latest calls that are looked at: a rewind may have taken some back.
LOOKED_AT = 5


@dataclass(frozen=True, slots=True)
class TodoList:
    """Items, each with its state: "x" done, "-" in progress, " " to do."""

    items: Sequence[tuple[str, str]]

    @property
    def done(self) -> int:
        """How many are done."""
        return sum(state == "x" for state, _text in self.items)

    @property
    def current(self) -> str:
        """What is in progress, or else the first thing to do; "" where all is done."""
        texts = dict(reversed(self.items))
        return texts.get("-") or texts.get(" ", "")


def read_todo(conversation: Conversation) -> TodoList | None:
    """Return the list as it stands in a conversation, None where there is none."""
    runs = ToolRun.objects.filter(
        turn__conversation=conversation, name=SPEC.name, is_error=False
    ).exclude(finished_at=None)
    for run in runs.order_by("-pk")[:LOOKED_AT]:
        found = _call_of(run)
        if found is not None:
            return found
    return None


def _call_of(run: ToolRun) -> TodoList | None:
    """Return the list that a run was called with, None where its call was taken back."""
    said = Message.objects.filter(turn=run.turn_id, role=Message.Role.ASSISTANT, rewind_parent=None)
    for row in said.filter(created_at__lte=run.started_at).order_by("-seq")[:LOOKED_AT]:
        for call in message_store.to_engine(row).tool_uses:
            if call.id == run.call_id and isinstance(call.input, dict):
                try:
                    return TodoList(read_items(str(call.input.get("todos", ""))))
                except ToolError:
                    return None
    return None
