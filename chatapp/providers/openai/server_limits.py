"""Limits of one server, as far as its refusals tell: most lack some part of the API."""

import re
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Traits:
    """What may be in a request; whatever a server refuses is left out of the next.

    ``completion_limit`` says which of two names the limit of a reply has, ``any_ids`` that a
    call's id may have any length, ``user_after_tool`` that a user may speak before the model has
    answered a tool, ``call_extras`` that a call may have fields of other vendors.
    """

    tools: bool = True
    streaming_usage: bool = True
    system_role: bool = True
    images: bool = True
    completion_limit: bool = False
    temperature: bool = True
    effort: bool = True
    any_ids: bool = True
    user_after_tool: bool = True
    call_extras: bool = True


_UNKNOWN = r"(extra|unknown|unrecognized|unsupported|not (permitted|supported|allowed))"
_LACKS = r"(does not|doesn't|not|no endpoints found that) support.{0,20}"

# A trait, the value that it has from now on, and in which words servers say so. The first that fits
# is meant, and each is given up once.
_REFUSALS: tuple[tuple[str, bool, *tuple[str, ...]], ...] = (
    ("completion_limit", True, r"\bmax_tokens.{0,120}max_completion_tokens"),
    (
        "completion_limit",
        False,
        rf"max_completion_tokens.{{0,40}}{_UNKNOWN}",
        rf"{_UNKNOWN}.{{0,60}}max_completion_tokens",
    ),
    ("streaming_usage", False, r"stream_options|include_usage"),
    ("effort", False, r"reasoning.?effort", rf"{_LACKS}(thinking|reasoning)"),
    ("temperature", False, r"temperature"),
    ("any_ids", False, r"tool.?call.?id.{0,120}length"),
    ("call_extras", False, r"extra_content"),
    ("user_after_tool", False, r"(unexpected|invalid) role .{0,3}user.{0,3} after role .{0,3}tool"),
    (
        "system_role",
        False,
        r"system role (is )?not supported",
        rf"{_LACKS}(system|developer) (role|message|prompt|instruction)",
        r"developer instruction is not enabled",
        r"only .{0,3}user.{0,3} and .{0,3}assistant.{0,3} roles are supported",
    ),
    (
        "images",
        False,
        rf"{_LACKS}(image|vision|multimodal)",
        r"image.{0,30}(not supported|unsupported)",
        r"not a (multimodal|vision) model|mmproj|content must be a string",
    ),
    (
        "tools",
        False,
        rf"{_LACKS}(tool|function)",
        r"(tools?|functions?)\b.{0,30}(not supported|unsupported)",
        r"--enable-auto-tool-choice|requires? --jinja",
    ),
)


def adapted(traits: Traits, said: str) -> Traits | None:
    """Return the traits without what a refusal is about, None where it is about something else."""
    for trait, value, *words in _REFUSALS:
        is_said = any(re.search(one, said, re.IGNORECASE | re.DOTALL) for one in words)
        if is_said and getattr(traits, trait) != value:
            changed: dict[str, Any] = {trait: value}
            return replace(traits, **changed)
    return None
