"""Content blocks and thinking parameters as the Messages API takes them.

The SDK's own types declare the blocks. A server may have sent others, or fields that are its own:
they are on record and are not sent.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Required, get_args, get_origin, get_type_hints

from anthropic.types import ContentBlockParam
from anthropic.types.tool_result_block_param import Content as ResultContent

import condense
from chatapp.agent.ports import Model, ModelRequest
from chatapp.providers.anthropic.spec import ADAPTIVE_THINKING, BINDING_THINKING

LONGEST_NAME = 128
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
# Kinds that the engine reads itself: one that it could not read is malformed.
_READ = ("text", "image", "tool_use", "tool_result")
# The types of what is in beta take as long to import as all others together.
COMPACTION = ("type", "content", "encrypted_content", "signature", "tool_changes")

BINDING_BETA = "thinking-binding-controls-2026-08-01"
# Older models think between tool calls only where that is asked for.
INTERLEAVED_BETA = "interleaved-thinking-2025-05-14"

OFF = "off"
# Tokens for the thoughts of models that do not see for themselves how many they need.
_BUDGETS = {"minimal": 1_024, "low": 4_096, "medium": 16_384, "high": 32_768}
_MOST_BUDGET, _LEAST_BUDGET = 65_536, 1_024
_EFFORTS = {"minimal": "low"}


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of one kind of block: those it may have, and those it must have."""

    known: frozenset[str]
    required: frozenset[str]


Shapes = Mapping[str, Shape]


def fit(message: condense.Message, sends: Callable[[condense.Block], bool]) -> condense.Message:
    """Return the message without parts that the API, or ``sends``, refuses; itself without any."""
    if isinstance(message.content, str):
        return message
    sent = message.to_api()["content"]
    kept = []
    for block, data in zip(message.content, sent, strict=True):
        malformed = isinstance(block, condense.OpaqueBlock) and data.get("type") in _READ
        if condense.is_thinking(block) and not sends(block):
            continue
        if not malformed and (one := _fitted(data, _sent())):
            kept.append(one)
    return message if kept == sent else message.with_content(condense.content_from_api(kept))


def _fitted(data: Mapping[str, Any], shapes: Shapes) -> dict[str, Any] | None:
    """Return a block with the fields that its shape knows, None if it would still be refused."""
    shape = shapes.get(str(data.get("type")))
    thought = condense.has_origin(condense.OpaqueBlock(data))
    needed = (shape.required - {"signature"} if thought else shape.required) if shape else ()
    if shape is None or any(data.get(name) is None for name in needed):
        return None
    # The name of its origin is left out when it is written.
    known = shape.known | {condense.BESIDE} if thought else shape.known
    fitted = {name: value for name, value in data.items() if name in known}
    if data["type"] == "tool_use":
        fitted["name"] = _NOT_IN_NAMES.sub("_", data["name"])[:LONGEST_NAME] or "_"
    if data["type"] == "tool_result" and isinstance(inner := fitted.get("content"), list):
        parts = (_fitted(part, _shapes(ResultContent)) for part in inner)
        fitted["content"] = [part for part in parts if part]
    return fitted


@cache
def _sent() -> Shapes:
    """Return the shapes of all blocks that a message may hold."""
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


def thinking_parameters(model: Model, *, shown: bool = True) -> dict[str, Any]:
    """Return a request's parameters for thinking; fewer unless past thinking is ``shown``."""
    # A model that counts its thoughts refuses tool calls without a thought before them.
    if model.name not in ADAPTIVE_THINKING:
        budget = min(_BUDGETS.get(model.effort, _MOST_BUDGET), model.max_output - 1)
        if model.effort in {"", OFF} or budget < _LEAST_BUDGET or not shown:
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
    if model.effort == OFF:
        return {"thinking": {"type": "disabled"}}
    thinking: dict[str, Any] = {"type": "adaptive", "display": "summarized"}
    if model.name in BINDING_THINKING:
        # Condensing changes what stood before a kept thinking block: then it is to be left out.
        thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    if not model.effort:
        return {"thinking": thinking}
    effort = _EFFORTS.get(model.effort, model.effort)
    return {"thinking": thinking, "output_config": {"effort": effort}}


def beta_headers(model: Model, *others: str) -> dict[str, str]:
    """Return the header that names the betas a request uses, ``others`` among them."""
    betas = [BINDING_BETA, *others] if model.name in BINDING_THINKING else [*others]
    if thinking_parameters(model).get("thinking", {}).get("type") == "enabled":
        betas.append(INTERLEAVED_BETA)
    return {"anthropic-beta": ",".join(betas)} if betas else {}


def has_thinking(request: ModelRequest, model: Model) -> bool:
    """Return True if a request that was refused for its thinking can be made with less of it."""
    return thinking_parameters(model) != thinking_parameters(model, shown=False) or any(
        condense.is_thinking(block) for message in request.messages for block in message.blocks
    )
