"""Compaction on demand: a block that is signed for its words, model, system prompt and tools."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.standin.auto import summarise
from tests.standin.behaviours import Reply
from tests.standin.rules import blocks_of
from tests.standin.thinking import unmarked

BETA = "compact-2026-09-04"
KEYS = ("content", "encrypted_content", "tool_changes")

_ANALYSIS = re.compile(r"<analysis>.*?</analysis>\s*", re.DOTALL)
_INSTRUCTION = {"role": "user", "content": [{"type": "text", "text": "Summarise."}]}

Body = Mapping[str, Any]


def answer(body: Body, scripted: Reply | None) -> Reply:
    """Return a compaction that says what is scripted, or quotes the user's messages."""
    text = scripted.text if scripted else _ANALYSIS.sub("", _summary(body))
    block = {"type": "compaction", "content": text, "encrypted_content": None, "tool_changes": []}
    signed = {**block, "signature": _signature(body, block)}
    return Reply(blocks=(signed,), stop_reason="compaction")


def problems(body: Body, betas: str) -> Iterator[str]:
    """Yield what is wrong with asking for a compaction, and with the block of an earlier one."""
    found = [*_blocks(body)]
    asked = body.get("compaction")
    if (found or asked is not None) and BETA not in betas:
        yield "compaction: Extra inputs are not permitted"
    if asked is not None:
        yield from _asked(asked, body)
    if len(found) > 1:
        yield "messages: more than one compaction block (compaction_block_ambiguous)"
    for index, position, block in found:
        where = f"messages.{index}.content.{position}"
        if (index, position) != (0, 0):
            yield f"{where}: the compaction block must be first (compaction_block_misplaced)"
        if block.get("signature") != _signature(body, block):
            yield f"{where}: the compaction block was changed (compaction_content_mismatch)"


def _asked(asked: Any, body: Body) -> Iterator[str]:
    if not isinstance(asked, Mapping) or asked.get("type") != "summarize":
        yield "compaction.type: Input should be 'summarize'"
        return
    for key in asked.keys() - {"type", "instructions"}:
        yield f"compaction.{key}: Extra inputs are not permitted"
    last = body["messages"][-1]
    if any(block["type"] == "tool_use" for block in blocks_of(last)):
        yield "messages: the last turn is not finished (compaction_incomplete_turn)"


def _blocks(body: Body) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    for index, message in enumerate(body["messages"]):
        for position, block in enumerate(blocks_of(message)):
            if block["type"] == "compaction":
                yield index, position, block


def _summary(body: Body) -> str:
    messages: Sequence[Any] = body["messages"]
    return summarise({**body, "messages": [*messages, _INSTRUCTION]})


def _signature(body: Body, block: Mapping[str, Any]) -> str:
    signed = [block.get(key) for key in KEYS]
    bound = [body["model"], unmarked(body.get("system")), unmarked(body.get("tools"))]
    return hashlib.sha256(json.dumps([signed, bound], sort_keys=True).encode()).hexdigest()
