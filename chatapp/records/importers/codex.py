"""Rollouts of Codex: JSON Lines, each with a piece of the talk between user and model."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, override

from django.utils.translation import gettext_lazy

import condense
from chatapp.agent.tool_arguments import read_arguments
from chatapp.records.transfer import Piece, transcripts
from chatapp.records.transfer.source_texts import fields, joined, listed
from chatapp.records.transfer.transcript_files import Sample, read_lines

LABEL = condense.noop("Codex rollout")
WHERE = gettext_lazy("~/.codex/sessions: a rollout-….jsonl file for each session.")

_LINES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_ITEMS = {"message", "function_call", "function_call_output", "reasoning", "local_shell_call"}
# Events with words; those about the session, or that repeat another line's words.
_SAID = {"user_message", "agent_message", "agent_reasoning", "exited_review_mode"}
_SILENT = {"session_meta", "event_msg", "turn_context", "ghost_snapshot", "other", "state"}


def recognise(sample: Sample) -> bool:
    """Return True if the lines are those of a rollout, with envelopes or in the older form."""
    kinds = {str(item.get("type")) for item in sample.items}
    bare = {str(item.get("type")) for item in sample.items if "role" not in item}
    has_envelope = bool(kinds & _LINES) and any("payload" in item for item in sample.items)
    return sample.in_lines and (has_envelope or "message" in kinds or bool(bare & _ITEMS))


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield messages, calls and results, summaries with the hidden ones' tags, and the usage."""
    return Rollout().read(read_lines(path))


# Texts that it writes in the user's name, and the tool whose results the user writes.
_WRITTEN = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|permissions instructions|turn_aborted|skill"
    r"|collaboration_mode|user_shell_command|subagent_notification)>|# AGENTS\.md instructions)"
)
_ASKING = "request_user_input"
# Keys of messages that can't be taken back any more.
_HIDDEN = {"rewind_parent", "condense_parent", "condense_id"}


class Rollout(transcripts.Transcript):
    """A session, item by item."""

    strategy = LABEL

    @override
    def counted(self, item: Any, /) -> Any:
        told, kind = fields(item.get("payload")).get("type"), item.get("type")
        is_said = told in _SAID if kind == "event_msg" else kind not in _SILENT
        return item if is_said else None

    @override
    def take(self, index: int, item: Any, /) -> None:
        at = item.get("timestamp")
        match item:
            case {"type": "compacted", "payload": {"message": str(text)} as told}:
                # Newer files have it in the history that goes on.
                if text := text or joined(told.get("replacement_history")):
                    self.condense(text, at)
            case {"type": "event_msg", "payload": {"type": "token_count", "info": {**info}}}:
                self._take_usage(info.get("last_token_usage"), at)
            case {"payload": {"type": "thread_rolled_back", "num_turns": int(turns)}} if turns > 0:
                self._roll_back(turns)
            case {"type": "response_item", "payload": {**inner}}:
                self._take_item(index, inner, at)
            case {"type": str(kind)} if kind in _ITEMS:
                self._take_item(index, item, at)
            case {"type": str(kind)} if kind not in _SILENT:
                self.refuse(index, condense.noop("A line of this type is not known."))

    def _take_usage(self, used: Any, at: Any) -> None:
        said_last = self.messages[-1]["role"] if self.messages else ""
        known = any(one.item.get("message") == len(self.messages) for one in self.besides)
        if said_last == "assistant" and isinstance(used, dict) and not known:
            cached = transcripts.count(used.get("cached_input_tokens"))
            self.call(
                "",
                at,
                tokens_input=max(0, transcripts.count(used.get("input_tokens")) - cached),
                tokens_cache_read=cached,
                tokens_output=transcripts.count(used.get("output_tokens")),
            )

    def _roll_back(self, turns: int) -> None:
        """Set aside so many of the user's newest messages, and the messages after them."""
        seen = [n for n, one in enumerate(self.messages) if not _HIDDEN & one.keys()]
        asked = [n for n in seen if _is_asked(self.messages[n])]
        start = first = asked[-turns:][0] if asked else 0
        while start and "rewind_parent" in self.messages[start - 1]:
            start -= 1
        if asked:
            self.go_back(start, first)

    def _take_item(self, index: int, item: Mapping[Any, Any], at: Any) -> None:
        role, said = _said(item)
        if blocks := self.mark(role, said):
            # Until a result comes, all that the model says is one message.
            self.say(role, blocks, at, joins=True)
        elif str(item.get("type")) not in _SILENT | {"reasoning"}:
            self.refuse(index, condense.noop("This item has nothing that can be used."))

    @override
    def words_in(self, blocks: Sequence[transcripts.Block]) -> Iterator[str | None]:
        for block in blocks:
            asked = self.tool_calls.get(block["tool_use_id"]) if "tool_use_id" in block else None
            yield _answers(block["content"]) if asked and asked["name"] == _ASKING else None


def _is_asked(message: Mapping[str, Any]) -> bool:
    """Return True if a user wrote a message or a part of it."""
    blocks = [one for one in message["content"] if one["type"] != "tool_result"]
    return message["role"] == "user" and any(one.get(condense.USER_WORDS, True) for one in blocks)


def _said(item: Mapping[Any, Any]) -> tuple[str, list[transcripts.Block]]:
    """Return an item's role and its blocks; no blocks if nothing can be used."""
    blocks = [*transcripts.blocks_in([item])]
    match item:
        case {"type": "message", "role": str(said_by)} if said_by != "assistant":
            for one in blocks:
                if said_by != "user" or _WRITTEN.match(str(one.get("text") or "")):
                    one[condense.USER_WORDS] = ""
            return "user", blocks
        case {"type": str(kind)} if kind.endswith("_call_output"):
            return "user", blocks
        case {"type": "reasoning"}:
            said = [one["thinking"].replace("\n", "\n> ") for one in blocks]
            return "assistant", [transcripts.text_block(f"> {text}") for text in said]
    return "assistant", blocks


def _answers(output: str) -> str:
    """Return the user's answers, one a line."""
    given = read_arguments(output).get("answers")
    if not isinstance(given, dict):
        return ""
    found = [one.get("answers") for one in given.values() if isinstance(one, dict)]
    return "\n".join(str(one) for answers in found for one in listed(answers))
