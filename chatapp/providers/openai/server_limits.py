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


@dataclass(frozen=True, slots=True)
class _Refusal:
    """In which words servers refuse something, and which value its trait has from then on."""

    trait: str
    words: tuple[str, ...]
    value: bool = False

    def is_said(self, said: str) -> bool:
        """Whether a server's sentence is this refusal."""
        return any(re.search(words, said, re.IGNORECASE | re.DOTALL) for words in self.words)


_UNKNOWN = r"(extra|unknown|unrecognized|unsupported|not (permitted|supported|allowed))"
_LACKS = r"(does not|doesn't|not|no endpoints found that) support.{0,20}"

# The first that fits is meant, and each is given up once.
_REFUSALS = (
    _Refusal("completion_limit", (r"\bmax_tokens.{0,120}max_completion_tokens",), value=True),
    _Refusal(
        "completion_limit",
        (
            rf"max_completion_tokens.{{0,40}}{_UNKNOWN}",
            rf"{_UNKNOWN}.{{0,60}}max_completion_tokens",
        ),
    ),
    _Refusal("streaming_usage", (r"stream_options|include_usage",)),
    _Refusal("effort", (r"reasoning.?effort", rf"{_LACKS}(thinking|reasoning)")),
    _Refusal("temperature", (r"temperature",)),
    _Refusal("any_ids", (r"tool.?call.?id.{0,120}length",)),
    _Refusal("call_extras", (r"extra_content",)),
    _Refusal(
        "user_after_tool", (r"(unexpected|invalid) role .{0,3}user.{0,3} after role .{0,3}tool",)
    ),
    _Refusal(
        "system_role",
        (
            r"system role (is )?not supported",
            rf"{_LACKS}(system|developer) (role|message|prompt|instruction)",
            r"developer instruction is not enabled",
            r"only .{0,3}user.{0,3} and .{0,3}assistant.{0,3} roles are supported",
        ),
    ),
    _Refusal(
        "images",
        (
            rf"{_LACKS}(image|vision|multimodal)",
            r"image.{0,30}(not supported|unsupported)",
            r"not a (multimodal|vision) model|mmproj|content must be a string",
        ),
    ),
    _Refusal(
        "tools",
        (
            rf"{_LACKS}(tool|function)",
            r"(tools?|functions?)\b.{0,30}(not supported|unsupported)",
            r"--enable-auto-tool-choice|requires? --jinja",
        ),
    ),
)


def adapted(traits: Traits, said: str) -> Traits | None:
    """Return the traits without what a refusal is about, None where it is about something else."""
    for refusal in _REFUSALS:
        if getattr(traits, refusal.trait) != refusal.value and refusal.is_said(said):
            changed: dict[str, Any] = {refusal.trait: refusal.value}
            return replace(traits, **changed)
    return None
