"""Which content blocks the Messages API takes back, as the SDK's own types declare them.

A server may have sent others, or fields that are its own: they are on record and are not sent.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Required, get_args, get_origin, get_type_hints

from anthropic.types import ContentBlockParam
from anthropic.types.tool_result_block_param import Content as ResultContent

import condense

LONGEST_NAME = 128
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
# Kinds that the engine reads itself: one that it could not read is malformed.
_READ = ("text", "image", "tool_use", "tool_result")
# The types of what is in beta take as long to import as all others together.
COMPACTION = ("type", "content", "encrypted_content", "signature", "tool_changes")
_THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of one kind of block: those it may have, and those it must have."""

    known: frozenset[str]
    required: frozenset[str]


Shapes = Mapping[str, Shape]


def fit(message: condense.Message) -> condense.Message:
    """Return the message without what the API would refuse; itself where that is nothing."""
    if isinstance(message.content, str):
        return message
    sent = message.to_api()["content"]
    kept = [*_kept(message.content, sent)]
    return message if kept == sent else message.with_content(condense.content_from_api(kept))


def is_thinking(block: condense.Block) -> bool:
    """Whether a block is reasoning, signed by the model that wrote it."""
    return isinstance(block, condense.OpaqueBlock) and block.data.get("type") in _THINKING


def _kept(blocks: Iterable[condense.Block], sent: Iterable[Any]) -> Iterable[dict[str, Any]]:
    for block, data in zip(blocks, sent, strict=True):
        malformed = isinstance(block, condense.OpaqueBlock) and data.get("type") in _READ
        if not malformed and (one := _fitted(data, _sent())):
            yield one


def _fitted(data: Mapping[str, Any], shapes: Shapes) -> dict[str, Any] | None:
    """Return a block with the fields it may have, None where it would be refused all the same."""
    shape = shapes.get(str(data.get("type")))
    if shape is None or any(data.get(name) is None for name in shape.required):
        return None
    fitted = {name: value for name, value in data.items() if name in shape.known}
    if data["type"] == "tool_use":
        fitted["name"] = _NOT_IN_NAMES.sub("_", data["name"])[:LONGEST_NAME] or "_"
    if data["type"] == "tool_result" and isinstance(inner := fitted.get("content"), list):
        parts = (_fitted(part, _shapes(ResultContent)) for part in inner)
        fitted["content"] = [part for part in parts if part]
    return fitted


@cache
def _sent() -> Shapes:
    """Return the shapes of what stands in messages."""
    compaction = Shape(frozenset(COMPACTION), frozenset({"type", "content"}))
    return {**_shapes(ContentBlockParam), "compaction": compaction}


@cache
def _shapes(union: Any) -> Shapes:
    """Return the shapes of a union of the SDK's types, by the ``type`` a block carries."""
    shapes = {}
    for kind in get_args(union):
        hints = get_type_hints(kind, include_extras=True)
        required = {name for name, hint in hints.items() if get_origin(hint) is Required}
        (name,) = get_args(get_type_hints(kind)["type"])
        shapes[name] = Shape(frozenset(hints), frozenset(required))
    return shapes
