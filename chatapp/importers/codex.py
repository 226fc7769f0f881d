"""Rollouts of Codex: JSON Lines, each with a piece of what was said to and by the model."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from chatapp.exchange import Piece, Problem
from chatapp.exchange.samples import Sample
from chatapp.exchange.streams import read_lines
from chatapp.exchange.talks import Talk, call_block, count, parts_of, result_block, text_block

LABEL = "Codex rollout"

_LINES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_ITEMS = {"message", "function_call", "function_call_output", "reasoning", "local_shell_call"}
# What tells of the session, of the screen, or says again what another line has.
_SILENT = {"session_meta", "event_msg", "turn_context", "ghost_snapshot", "other", "state"}


def recognise(sample: Sample) -> bool:
    """Whether its lines are those of a rollout, of today or of before they had envelopes."""
    kinds = [str(item.get("type")) for item in sample.items if sample.in_lines]
    wrapped = any(kind in _LINES for kind in kinds) and any(
        "payload" in one for one in sample.items
    )
    return wrapped or any((kind in _ITEMS and "role" not in item) or kind == "message"
                          for kind, item in zip(kinds, sample.items, strict=False))  # fmt: skip


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield messages, calls and results, summaries with what they hide, and the newest usage."""
    talk = Talk()
    for found in read_lines(path):
        if isinstance(found, Problem):
            talk.problems.append(found)
        else:
            _take_line(talk, *found)
    yield from talk.pieces()


def _take_line(talk: Talk, index: int, line: dict[str, Any]) -> None:
    at = line.get("timestamp")
    match line:
        case {"type": "compacted", "payload": {"message": str(text), **_rest}}:
            talk.condense(text, at, strategy=LABEL)
        case {"type": "event_msg", "payload": {"type": "token_count", "info": {**info}}}:
            _take_usage(talk, info, at)
        case {"type": "response_item", "payload": {**item}}:
            _take_item(talk, index, item, at)
        case {"type": str(kind)} if kind in _ITEMS:
            _take_item(talk, index, line, at)
        case {"type": str(kind)} if kind not in _SILENT:
            talk.refuse(index, "A line of this type is not known.")


def _take_usage(talk: Talk, info: Mapping[Any, Any], at: Any) -> None:
    used = info.get("last_token_usage")
    if talk.messages and isinstance(used, dict) and talk.messages[-1]["role"] == "assistant":
        cached = count(used.get("cached_input_tokens"))
        if any(one.item.get("message") == len(talk.messages) for one in talk.besides):
            return
        talk.call(
            "",
            at,
            tokens_input=max(0, count(used.get("input_tokens")) - cached),
            tokens_cache_read=cached,
            tokens_output=count(used.get("output_tokens")),
        )


def _take_item(talk: Talk, index: int, item: Mapping[Any, Any], at: Any) -> None:
    role, blocks = "assistant", list[dict[str, Any] | None]()
    match item:
        case {"type": "message", "role": str(said_by), "content": content}:
            role, blocks = ("assistant" if said_by == "assistant" else "user"), [*parts_of(content)]
        case {"type": "function_call" | "custom_tool_call", **call}:
            given = call.get("arguments", call.get("input"))
            blocks = [call_block(call.get("name"), call.get("call_id"), given)]
        case {"type": "local_shell_call", "call_id": call_id, "action": action}:
            blocks = [call_block("local_shell", call_id, action)]
        case {"type": "function_call_output" | "custom_tool_call_output", **answer}:
            role, blocks = "user", [result_block(answer.get("call_id"), answer.get("output"))]
        case {"type": "reasoning", "summary": [*parts]}:
            _think(talk, parts, at)
            return
    if usable := [block for block in blocks if block]:
        _join(talk, role, usable, at)
    elif str(item.get("type")) not in _SILENT:
        talk.refuse(index, "This item has nothing that can be used.")


def _think(talk: Talk, parts: list[Any], at: Any) -> None:
    """Keep what is said of the thinking, where something is."""
    said = [part.get("text") for part in parts if isinstance(part, dict)]
    if text := "\n\n".join(one for one in said if isinstance(one, str) and one.strip()):
        _join(talk, "assistant", [text_block(f"> {text.replace('\n', '\n> ')}")], at)


def _join(talk: Talk, role: str, blocks: list[dict[str, Any]], at: Any) -> None:
    """Add to the model's message what it said next; a result ends it."""
    last = talk.messages[-1] if talk.messages else {}
    if role == "assistant" and last.get("role") == role:
        last["content"] += blocks
    else:
        talk.say(role, blocks, at)
