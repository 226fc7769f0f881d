"""Sessions of Claude Code: JSON Lines, each with a message, a part of one, or a note.

It writes in its user's name, and quotes the user in results.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, override

from django.utils.translation import gettext_lazy

import condense
from chatapp.records.transfer import Piece, Problem, transcripts
from chatapp.records.transfer.record_rows import WRONG_BUILD
from chatapp.records.transfer.source_texts import fields, joined, listed
from chatapp.records.transfer.transcript_files import Item, Sample, read_lines
from chatapp.records.transfer.transcripts import Block, Transcript, are_results, count, result_text
from condense import noop

LABEL = noop("Claude Code session")
WHERE = gettext_lazy("~/.claude/projects: a .jsonl file for each session.")

# Lines that hold no talk.
_OWN = {
    "agent-name", "agent-setting", "ai-title", "attribution-snapshot", "content-replacement",
    "custom-title", "file-history-snapshot", "last-prompt", "pr-link", "progress", "summary",
    "system", "tag", "task-summary",
}  # fmt: skip
_FIGURES = {
    "tokens_input": "input_tokens",
    "tokens_output": "output_tokens",
    "tokens_cache_read": "cache_read_input_tokens",
    "tokens_cache_write": "cache_creation_input_tokens",
}

# Elements that the program adds to a user's message. A quotation in one may seem to end it, so all
# up to the last end belongs to it.
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
_ANSWER, _ANY = r'"{}"\s?=\s?"([^"]*)"', r'[^"\n]*'
_APPROVED = re.compile(r"User has approved (?:exiting plan mode|your plan)\b")
_PLAN = re.compile(r"^## Approved Plan[^\n]*\n(.*)", re.DOTALL | re.MULTILINE)


def recognise(sample: Sample) -> bool:
    """Return True if a line names its session, or is a summary of one."""
    marks = ({"sessionId", "uuid"}, {"leafUuid", "summary"})
    return sample.in_lines and any(mark <= item.keys() for mark in marks for item in sample.items)


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield messages with their calls' figures, and summaries with the tags of hidden messages."""
    return Session().read(read_lines(path))


class Session(Transcript):
    """A session, line by line: a reply comes in parts, which have its id."""

    strategy = LABEL

    def __init__(self) -> None:
        super().__init__()
        self._reply: Any = None
        # The number of times the user sent each text, and the texts sent while the program worked.
        self._sent = Counter[str]()
        self._waiting: list[tuple[Any, Any]] = []
        # Lines that were read, and by the id of each, how many messages there were behind it.
        self._lines = set[int]()
        self._ends: dict[Any, int] = {None: 0}
        self._titles = dict[Any, Any]()
        self._call: dict[str, Any] = {}
        self._boundary: Mapping[Any, Any] = {}

    @override
    def read(self, found: Iterable[Item | Problem]) -> Iterator[Piece]:
        lines = [*found]
        self._sent.update(_sent_by(one[1]) for one in lines if not isinstance(one, Problem))
        yield from super().read(lines)

    @override
    def pieces(self) -> Iterator[Piece]:
        self._say_waiting()
        # The user's own title counts first.
        for title in map(self._titles.get, ("customTitle", "aiTitle", "summary")):
            if isinstance(title, str):
                self.describe(title=title)
        yield from super().pieces()

    @override
    def counted(self, item: Any, /) -> Any:
        # Other lines are the program's own, and have no words or repeat those of these.
        is_own = item.get("type") in _OWN or "attachment" in item
        # A failed answer says its kind in one word, too.
        return _sent_by(item) if is_own else item | {"error": ""}

    @override
    def take(self, index: int, item: Any, /) -> None:
        line = hash(repr(item))
        match item:
            case {"uuid": str()} if line in self._lines:
                pass  # a session that is resumed may repeat its lines
            case {"isSidechain": True}:
                self.refuse(index, noop("What a subagent said is not part of the conversation."))
            case {"type": "system", "compactMetadata": {**told}}:
                self._boundary = told
            case {"type": "summary" | "ai-title" | "custom-title"}:
                self._titles |= item
            case {"type": "queue-operation", "content": sent} | {
                "attachment": {"type": "queued_command", "prompt": sent}
            }:
                self._queue(item.get("operation"), sent, item.get("timestamp"))
            case {"type": "user" | "assistant", "message": {**message}}:
                if said := self.checked(index, message):
                    is_summary = item.get("isCompactSummary") is True
                    (self._condense if is_summary else self._say)(said, item)
            case {"type": "user" | "assistant"}:
                self.refuse(index, WRONG_BUILD)
        self._lines.add(line)
        self._ends[item.get("uuid") or index] = len(self.messages)

    def _queue(self, operation: Any, sent: Any, at: Any) -> None:
        """Note words that the user sent meanwhile, unless a later line sends them again."""
        words = joined(sent)
        if operation == "popAll":
            # The user took it back into the box, and may have sent it in other words.
            self._waiting = [one for one in self._waiting if joined(one[0]) != words]
        elif operation and self._sent[words]:
            self._sent[words] -= 1
        elif operation in {None, "enqueue"}:
            self._waiting.append((sent, at))

    def _condense(self, said: dict[str, Any], item: Mapping[Any, Any]) -> None:
        self._say_waiting()
        told, self._boundary = self._boundary, {}
        self.condense(
            joined(said["content"]),
            item.get("timestamp"),
            trigger="manual" if told.get("trigger") == "manual" else "auto",
            tokens_before=count(told.get("preTokens")),
            tokens_before_measured=True,
        )

    def _say_waiting(self) -> None:
        """Add the words sent meanwhile, behind the results of the calls that ran then."""
        for sent, at in self._waiting:
            blocks = self.mark("user", [*transcripts.blocks_in(sent)])
            self.say(role="user", blocks=blocks, at=at)
        self._waiting.clear()

    def _go_back(self, item: Mapping[Any, Any]) -> None:
        """Set aside the earlier message in this place, and the messages after it."""
        start = self._ends.get(item.get("parentUuid", ""), len(self.messages))
        newer = self.messages[start:]
        seen = [n for n, one in enumerate(newer, start) if "rewind_parent" not in one]
        is_aside = start and "rewind_parent" in self.messages[start - 1]
        if not seen or is_aside or {"condense_id", "condense_parent"} & newer[0].keys():
            return
        if not are_results(newer[0]["content"]):
            self.go_back(start, seen[0])

    def _say(self, said: dict[str, Any], item: Mapping[Any, Any]) -> None:
        """Add a message or a further part of the last reply, with its usage."""
        message, role, is_meta = item["message"], said["role"], item.get("isMeta") is True
        blocks = self.mark(role, said["content"])
        blocks = [one | {condense.USER_WORDS: ""} for one in blocks] if is_meta else blocks
        reply, at = message.get("id") if role == "assistant" else None, item.get("timestamp")
        if reply and reply == self._reply:
            self.messages[-1]["content"] += blocks
        else:
            if not are_results(blocks):
                self._say_waiting()
                if role == "user" and not is_meta:
                    self._go_back(item)
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
            # Each part reports the totals so far.
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


def _sent_by(line: Mapping[Any, Any]) -> str:
    """Return the words in a line that the user sent, empty for other lines."""
    is_queued = fields(line.get("attachment")).get("type") == "queued_command"
    sent = fields(line.get("attachment" if is_queued else "message"))
    is_sent = is_queued or (line.get("type") == "user" and not line.get("isSidechain"))
    return joined(sent.get("prompt", sent.get("content"))) if is_sent else ""


def _said_to(call: Block, result: Block) -> str:
    """Return the user's words to a call: a reason, an answer, or an approved plan."""
    name, given = str(call.get("name") or ""), call.get("input")
    answer = result_text(result.get("content"))
    if result.get("is_error") is True:
        # The result of another server's tool may begin with anything.
        refused = None if name.startswith("mcp__") or not name else _REFUSED.match(answer)
        return refused[1].strip() if refused else ""
    if name == "AskUserQuestion" and _ANSWERED.match(answer):
        # A question, or an option's preview, may quote something that resembles an answer.
        asked = listed(given.get("questions")) if isinstance(given, Mapping) else ()
        texts = [re.escape(str(one.get("question"))) for one in asked if isinstance(one, dict)]
        said = [re.search(_ANSWER.format(one), answer) for one in texts]
        found = (
            [one[1] for one in said if one] if said else re.findall(_ANSWER.format(_ANY), answer)
        )
        return "\n".join(found)
    if name == "ExitPlanMode" and _APPROVED.match(answer):
        plan = _PLAN.search(answer)
        told = given.get("plan") if isinstance(given, Mapping) else ""
        return plan[1].strip() if plan else str(told or "").strip()
    return ""
