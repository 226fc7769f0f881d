"""The vendor's own compaction: how it is asked for, and how its block is sent again."""

from collections.abc import Sequence
from typing import Any

import condense
from chatapp.agent.provider_port import ModelRequest

BETA = "compact-2026-09-04"


def parameters(request: ModelRequest) -> dict[str, Any]:
    """Return what asks for a compaction, where the request does."""
    if not request.compaction:
        return {}
    return {"compaction": {"type": "summarize", "instructions": request.compaction}}


def betas(request: ModelRequest) -> tuple[str, ...]:
    """Return what the header names of it, for a request that asks for one or begins with one."""
    return (BETA,) if request.compaction or _is_in(request.messages[:1]) else ()


def can_do_without(request: ModelRequest) -> bool:
    """Whether a request that is refused for a compaction can be made with its text instead."""
    return _is_in(request.messages)


def bound_to(request: ModelRequest) -> tuple[str, ...]:
    """Return the names of what a compaction is signed for, and of the messages that bear one."""
    bearing = (said.id for said in request.messages if _is_in([said]))
    return (request.system, *(spec.name for spec in request.tools), *bearing)


def _is_in(messages: Sequence[condense.Message]) -> bool:
    return any(condense.is_compaction(one) for said in messages for one in said.blocks)


def of_model(message: condense.Message, model: str) -> condense.Message:
    """Return the message; with the readable text of a compaction that another model has signed."""
    signed = (one.data for one in message.blocks if isinstance(one, condense.OpaqueBlock))
    is_foreign = any(
        data.get("type") == "compaction" and data.get("model", model) != model for data in signed
    )
    return condense.without_compaction(message) if is_foreign else message


def first(messages: Sequence[condense.Message]) -> Sequence[condense.Message]:
    """Return the messages with a compaction in a reply of its own, as the vendor gave it."""
    if not messages or len(messages[0].blocks) < 2:  # noqa: PLR2004 - the block, and what follows
        return messages
    block, *rest = messages[0].blocks
    if not condense.is_compaction(block):
        return messages
    given = condense.Message("assistant", (block,), id="compaction")
    return (given, messages[0].with_content(tuple(rest)), *messages[1:])
