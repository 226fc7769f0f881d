"""Words of users in Roo Code's tasks: in tags of their own, beside results and surroundings.

What a tool wrote may hold the same tags, so that none counts after a result's heading, but for
the tools whose results are what the user said.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

import condense

Block = dict[str, Any]

_WRAPPED = re.compile(r"\s*<(task|user_message|feedback|answer)>\s*(.*?)\s*</\1>\s*\Z", re.DOTALL)
_RESULT = re.compile(r"\[(\w+)[^\n]*\] Result:")
_OWN = re.compile(r"\s*(?:<environment_details>|\[ERROR\])")
_DENIED = re.compile(
    r"The user (?:denied|rejected) [^\n]*feedback:\s*<feedback>\s*(.*?)\s*</feedback>\s*\Z",
    re.DOTALL,
)
# Tools whose results are what the user said, and those whose results it writes itself.
_ASKING = {"ask_followup_question", "attempt_completion"}
_CHANGING = {
    "write_to_file", "apply_diff", "insert_content", "search_and_replace", "edit_file",
    "execute_command", "new_task", "switch_mode", "update_todo_list",
}  # fmt: skip


class RooWords:
    """Marks what a task's user said, message by message."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}

    def mark(self, role: str, blocks: Iterable[Block]) -> list[Block]:
        """Return the blocks with their marks, where they need any."""
        if role == "assistant":
            calls = [one for one in blocks if one["type"] == "tool_use"]
            self._calls |= {str(one.get("id")): str(one.get("name")) for one in calls}
            return [*blocks]
        marked, tool = [], ""
        for block in blocks:
            words: str | None = None
            if block["type"] == "text":
                heading = _RESULT.match(block["text"])
                tool = heading[1] if heading else tool
                words = _said(block["text"], tool)
            elif block["type"] == "tool_result":
                name = self._calls.get(str(block.get("tool_use_id")), "")
                words = _said_in_result(block.get("content"), name) or None
            marked.append(block if words is None else {**block, condense.USER_WORDS: words})
        return marked


def _said(text: str, tool: str) -> str | None:
    """Return what the user said in a text after a result's heading, or before any; None for all."""
    if _RESULT.match(text) or _OWN.match(text):
        return ""
    wrapped = _WRAPPED.match(text)
    if not tool or tool in _ASKING:
        return wrapped[2] if wrapped else "" if tool else None
    denied = _DENIED.match(text) if tool in _CHANGING else None
    return denied[1] if denied else ""


def _said_in_result(content: Any, tool: str) -> str:
    if isinstance(content, list):
        content = "\n".join(str(one.get("text") or "") for one in content if isinstance(one, dict))
    text = content if isinstance(content, str) else ""
    if tool in _ASKING:
        wrapped = _WRAPPED.match(text)
        return wrapped[2] if wrapped else ""
    if tool not in _CHANGING or not text.startswith("{"):
        return ""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    denied = isinstance(told, dict) and told.get("status") == "denied"
    return str(told.get("feedback") or "") if denied else ""
