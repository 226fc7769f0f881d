"""Words of users in Claude Code's sessions: what it writes in their name, and where it quotes them.

Only what this client knows of its own format is used: what a tool or a server wrote never counts.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import condense

Block = dict[str, Any]

# Elements that it adds to a user's message. What is quoted in one may end it early, so that all up
# to the last end counts as its own.
_ELEMENTS = re.compile(
    r"<(system-reminder|local-command-\w+|command-message|task-notification|bash-std\w+|ide_\w+)>"
    r"(?:.*</\1>|.*\Z)",
    re.DOTALL,
)
# Commands about itself.
_COMMAND = re.compile(
    r"\s*<command-name>/(?:exit|quit|clear|compact|resume|log\w+|model|config|help|status|cost)<"
)
_TEXTS = (
    "<task-notification>",
    "This session is being continued from a previous conversation",
    "[Request interrupted by user",
    "Caveat: The messages below were generated",
)
_REFUSED = re.compile(
    r"The user doesn't want to (?:proceed with this tool use|take this action right now)\."
    r".{0,400}?\bthe user said:\s*(\S.*)",
    re.DOTALL,
)
_ANSWERED = re.compile(r"(?:User has answered your questions|Your questions have been answered): ")
_ANSWER = re.compile(r'"[^"\n]*"\s?=\s?"([^"]*)"')
_APPROVED = re.compile(r"User has approved (?:exiting plan mode|your plan)\b")
_PLAN = re.compile(r"^## Approved Plan[^\n]*\n(.*)", re.DOTALL | re.MULTILINE)


class ClaudeCodeWords:
    """Marks what a session's user said, message by message."""

    def __init__(self) -> None:
        self._calls: dict[str, Mapping[str, Any]] = {}

    def mark(self, role: str, blocks: Iterable[Block]) -> list[Block]:
        """Return the blocks with their marks, where they need any."""
        if role == "assistant":
            self._calls |= {str(one.get("id")): one for one in blocks if one["type"] == "tool_use"}
            return [*blocks]
        return [self._marked(block) for block in blocks]

    def _marked(self, block: Block) -> Block:
        words: str | None = None
        match block:
            case {"type": "text", "text": str(text)}:
                own = _own_words(text)
                words = own if own != text.strip() else None
            case {"type": "tool_result", "tool_use_id": str(id_)}:
                call = self._calls.get(id_, {})
                words = _said_to(call, _text_of(block.get("content")), block) or None
        return block if words is None else {**block, condense.USER_WORDS: words}


def _own_words(text: str) -> str:
    if text.lstrip().startswith(_TEXTS) or _COMMAND.match(text):
        return ""
    return _ELEMENTS.sub("", text).strip() if "<" in text else text.strip()


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(one.get("text") or "") for one in content if isinstance(one, dict))
    return content if isinstance(content, str) else ""


def _said_to(call: Mapping[str, Any], answer: str, result: Block) -> str:
    """Return what the user said to a call: a reason, an answer, or an approved plan."""
    name, given = str(call.get("name") or ""), call.get("input")
    if result.get("is_error") is True:
        # What a server of somebody else's answers may begin with anything.
        refused = None if name.startswith("mcp__") or not name else _REFUSED.match(answer)
        return refused[1].strip() if refused else ""
    if name == "AskUserQuestion" and _ANSWERED.match(answer):
        return "\n".join(_ANSWER.findall(answer))
    if name == "ExitPlanMode" and _APPROVED.match(answer):
        plan = _PLAN.search(answer)
        told = given.get("plan") if isinstance(given, Mapping) else ""
        return plan[1].strip() if plan else str(told or "").strip()
    return ""
