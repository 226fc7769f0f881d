"""How a model is asked to think, and which thinking of the past it may be shown."""

from typing import Any

import condense
from chatapp.agent.provider_port import Model, ModelRequest
from chatapp.providers.anthropic.blocks import is_thinking
from chatapp.providers.anthropic.spec import ADAPTIVE_THINKING, BINDING_THINKING

BINDING_BETA = "thinking-binding-controls-2026-08-01"
# Older models think between tool calls only where that is asked for.
INTERLEAVED_BETA = "interleaved-thinking-2025-05-14"

OFF = "off"
# Tokens for the thoughts of models that do not see for themselves how many they need.
_BUDGETS = {"minimal": 1_024, "low": 4_096, "medium": 16_384, "high": 32_768}
_MOST_BUDGET, _LEAST_BUDGET = 65_536, 1_024
_EFFORTS = {"minimal": "low"}


def parameters(model: Model, *, shown: bool = True) -> dict[str, Any]:
    """Return what a request says of thinking; with no thinking of the past ``shown``, less.

    Where a model counts its thoughts, it refuses calls of tools that follow none of them.
    """
    if model.name in ADAPTIVE_THINKING:
        return _adaptive(model)
    budget = min(_BUDGETS.get(model.effort, _MOST_BUDGET), model.max_output - 1)
    if model.effort in {"", OFF} or budget < _LEAST_BUDGET or not shown:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def beta_headers(model: Model, *others: str) -> dict[str, str]:
    """Return the header that names what else a request asks of its model, and ``others``."""
    betas = [BINDING_BETA, *others] if model.name in BINDING_THINKING else [*others]
    if parameters(model).get("thinking", {}).get("type") == "enabled":
        betas.append(INTERLEAVED_BETA)
    return {"anthropic-beta": ",".join(betas)} if betas else {}


def can_do_without(request: ModelRequest, model: Model) -> bool:
    """Whether a request that is refused for its thinking can be made with less of it."""
    return parameters(model) != parameters(model, shown=False) or any(
        is_thinking(block) for message in request.messages for block in message.blocks
    )


def without(message: condense.Message) -> condense.Message:
    """Return a message without its thinking."""
    kept = tuple(block for block in message.blocks if not is_thinking(block))
    return message if len(kept) == len(message.blocks) else message.with_content(kept)


def _adaptive(model: Model) -> dict[str, Any]:
    """Condensing changes what stood before a kept thinking block: then it is to be left out."""
    if model.effort == OFF:
        return {"thinking": {"type": "disabled"}}
    thinking: dict[str, Any] = {"type": "adaptive", "display": "summarized"}
    if model.name in BINDING_THINKING:
        thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    if not model.effort:
        return {"thinking": thinking}
    effort = _EFFORTS.get(model.effort, model.effort)
    return {"thinking": thinking, "output_config": {"effort": effort}}
