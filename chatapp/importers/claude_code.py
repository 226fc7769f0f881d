"""Sessions of Claude Code: JSON Lines, each with a message, a part of one, or a note.

It writes in its user's name, and quotes the user in results.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, override

from django.utils.translation import gettext_lazy

import condense
from chatapp.transfer import Piece
from chatapp.transfer.transcript_files import Sample, read_lines
from chatapp.transfer.transcripts import Block, Transcript, count, joined_text, listed, result_text
from condense import noop

LABEL = noop("Claude Code session")
WHERE = gettext_lazy("~/.claude/projects: a .jsonl file for each session.")

_FIGURES = {
    "tokens_input": "input_tokens",
    "tokens_output": "output_tokens",
    "tokens_cache_read": "cache_read_input_tokens",
    "tokens_cache_write": "cache_creation_input_tokens",
}

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


def recognise(sample: Sample) -> bool:
    """Whether its lines name their session, or sum one up."""
    marks = ({"sessionId", "uuid"}, {"leafUuid", "summary"})
    return sample.in_lines and any(mark <= item.keys() for mark in marks for item in sample.items)


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield messages with their calls' figures, and summaries with what they hide."""
    return Session().read(read_lines(path))


class Session(Transcript):
    """A session, line by line: a reply comes in parts, which have its id."""

    strategy = LABEL

    def __init__(self) -> None:
        super().__init__()
        self._reply: Any = None
        self._call: dict[str, Any] = {}
        self._boundary: Mapping[Any, Any] = {}

    @override
    def take(self, index: int, item: Any, /) -> None:
        match item:
            case {"isSidechain": True}:
                self.refuse(index, noop("What a subagent said is not part of the conversation."))
            case {"type": "system", "compactMetadata": {**told}}:
                self._boundary = told
            case {"type": "summary", "summary": str(title)}:
                self.describe(title=title)
            case {"type": "user" | "assistant", "message": {**message}}:
                if said := self.checked(index, message):
                    content, at = said["content"], item.get("timestamp")
                    if item.get("isCompactSummary") is True:
                        self._condense(joined_text(content), at)
                    else:
                        marked = self.mark(said["role"], content)
                        if item.get("isMeta") is True:
                            marked = [one | {condense.USER_WORDS: ""} for one in marked]
                        self._say(said["role"], marked, message, at)

    def _condense(self, text: str, at: Any) -> None:
        told, self._boundary = self._boundary, {}
        self.condense(
            text,
            at,
            trigger="manual" if told.get("trigger") == "manual" else "auto",
            tokens_before=count(told.get("preTokens")),
            tokens_before_measured=True,
        )

    def _say(self, role: str, blocks: list[Block], message: Mapping[Any, Any], at: Any) -> None:
        """Add a message, or to the reply that this is another part of, with what it took."""
        reply = message.get("id") if role == "assistant" else None
        if reply and reply == self._reply:
            self.messages[-1]["content"] += blocks
        else:
            self._reply, self._call = reply if isinstance(reply, str) else None, {}
            self.say(role, blocks, at)
        used = message.get("usage")
        if not (self._reply and isinstance(used, dict)):
            return
        figures = {name: count(used.get(one)) for name, one in _FIGURES.items()}
        if not self._call:
            model = message.get("model")
            name = model[:100] if isinstance(model, str) else ""
            self._call = self.call(name, at, **figures)
        elif figures["tokens_output"] > self._call["tokens_output"]:
            # Each part says how much it was by then.
            self._call |= figures

    @override
    def words_in(self, blocks: Sequence[Block]) -> Iterator[str | None]:
        for block in blocks:
            match block:
                case {"type": "text", "text": str(text)}:
                    own = _ELEMENTS.sub("", text).strip()
                    if text.lstrip().startswith(_TEXTS) or _COMMAND.match(text):
                        own = ""
                    yield own if own != text.strip() else None
                case {"type": "tool_result", "tool_use_id": str(id_), **result}:
                    yield _said_to(self.tool_calls.get(id_, {}), result) or None
                case _:
                    yield None


def _said_to(call: Block, result: Block) -> str:
    """Return what the user said to a call: a reason, an answer, or an approved plan."""
    name, given = str(call.get("name") or ""), call.get("input")
    answer = result_text(result.get("content"))
    if result.get("is_error") is True:
        # What a server of somebody else's answers may begin with anything.
        refused = None if name.startswith("mcp__") or not name else _REFUSED.match(answer)
        return refused[1].strip() if refused else ""
    if name == "AskUserQuestion" and _ANSWERED.match(answer):
        # A question may quote what looks like an answer.
        for asked in listed(given.get("questions")) if isinstance(given, Mapping) else ():
            question = asked.get("question") if isinstance(asked, dict) else None
            answer = answer.replace(f'"{question}"=', '""=')
        return "\n".join(_ANSWER.findall(answer))
    if name == "ExitPlanMode" and _APPROVED.match(answer):
        plan = _PLAN.search(answer)
        told = given.get("plan") if isinstance(given, Mapping) else ""
        return plan[1].strip() if plan else str(told or "").strip()
    return ""
