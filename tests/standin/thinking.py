"""Thinking blocks are bound to what stood before them, as newer models bind theirs.

The signature of a block is a digest of its prefix: system prompt, tools, and everything in the
messages before the block. Blocks that this server did not sign are not judged.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.standin.rules import blocks_of

BETA = "thinking-binding-controls-2026-08-01"
OURS = "standin-"
REFUSAL = (
    "messages.{index}.content.{position}: Invalid `signature` in `thinking` block. The block is "
    "bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


def sign(body: Mapping[str, Any]) -> str:
    """Return the signature of a thinking block that begins the reply to this request."""
    return _signature(_opening(body), [*_parts(body)])


def mismatches(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield one sentence for each block whose prefix is not what it was signed for."""
    opening, parts = _opening(body), []
    for index, message in enumerate(body["messages"]):
        for position, block in enumerate(blocks_of(message)):
            signature = str(block.get("signature", ""))
            if signature.startswith(OURS) and signature != _signature(opening, parts):
                yield REFUSAL.format(index=index, position=position)
            parts.append(_part(message, block))


def drops_blocks(body: Mapping[str, Any]) -> bool:
    """Whether the request asks to leave such blocks out instead of refusing it."""
    binding = (body.get("thinking") or {}).get("block_binding") or {}
    return bool(binding.get("prefix_mismatch_behavior") == "drop_block")


def transformations(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a reply tells of the blocks that were left out, where any were."""
    if not drops_blocks(body):
        return {}
    dropped = [
        {
            "type": "thinking_dropped",
            "path": sentence.partition(":")[0],
            "reason": "prefix_binding_mismatch",
        }
        for sentence in mismatches(body)
    ]
    return {"input_transformations": dropped} if dropped else {}


def _signature(opening: str, parts: list[str]) -> str:
    text = "\n".join([opening, *parts])
    return OURS + hashlib.sha256(text.encode()).hexdigest()[:32]


def _opening(body: Mapping[str, Any]) -> str:
    return _plain([body.get("system"), body.get("tools")])


def _parts(body: Mapping[str, Any]) -> Iterator[str]:
    for message in body["messages"]:
        for block in blocks_of(message):
            yield _part(message, block)


def _part(message: Mapping[str, Any], block: Mapping[str, Any]) -> str:
    return _plain([message["role"], block])


def _plain(value: Any) -> str:
    """Return JSON without cache marks, which are no part of what the model reads."""
    return json.dumps(unmarked(value), sort_keys=True)


def unmarked(value: Any) -> Any:
    """Return a value without the cache marks in it."""
    if isinstance(value, Mapping):
        return {key: unmarked(item) for key, item in value.items() if key != "cache_control"}
    return [unmarked(item) for item in value] if isinstance(value, list) else value
