"""Requests as the Messages API takes them, with marks for the prompt cache, and compactions.

Rules that people pinned in mid-conversation are system messages if the model takes those: such a
message stands behind one of the user's, and nothing before it changes. A quote in a rule is none,
nor is a rule that only an imported file claims: nobody else's words get a system prompt's
authority.
"""

import operator
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import condense
from chatapp.agent.annotated_blocks import RULE, is_claimed, stands_for
from chatapp.agent.events import SentRequest
from chatapp.agent.ports import Model, ModelRequest, ToolSpec
from chatapp.providers import request_bytes
from chatapp.providers.anthropic.blocks import OFF, fit, thinking_parameters
from chatapp.providers.anthropic.spec import LATE_SYSTEM, SPEC
from chatapp.providers.reasoning import FILLER, goes_to, is_signed
from chatapp.providers.refusals import Learning

COMPACTION_BETA = "compact-2026-09-04"
CACHED_MESSAGES = 2
GONE_TOOL = "Used earlier in this conversation; it cannot be called any more."

_MARK = {"cache_control": {"type": "ephemeral"}}
# Until it is written out, a rule is a block of its own in the user's message.
_APART = "late_system"
_MARKABLE = ("text", "image", "document", "tool_use", "tool_result")
# The bindings of the latest compactions that a server did not take back.
_UNSIGNED: deque[tuple[str, ...]] = deque(maxlen=1_000)


@dataclass(frozen=True, slots=True)
class AnthropicTraits:
    """The parts that a request may have; those that a server refuses are left out of the next."""

    late_system: bool = False
    diagnoses: bool = True
    marks: bool = True
    effort: bool = True
    betas: bool = True
    reasoning: str = ""  # "none": no unsigned thinking; "": any may have it; else all need some
    max_output: int = sys.maxsize
    most_images: int = sys.maxsize


class AnthropicRequestWriter(Learning):
    """Writes the requests to one model, and keeps each message's bytes for the next request.

    Four cache marks at most: the tools, the system prompt, and the last two user messages.
    """

    def __init__(self, model: Model, refused: dict[str, Any] | None = None, url: str = "") -> None:
        """Write for ``model`` at an address, without the parts that it has ``refused``."""
        super().__init__(AnthropicTraits(model.name in LATE_SYSTEM), SPEC.name, model, refused, url)

    def use(self, traits: AnthropicTraits) -> None:
        """Write requests with these traits from now on."""
        super().use(traits)
        self._fitted = request_bytes.Kept(self._fit)
        self._bytes = request_bytes.Kept(_encode)
        self._mark = _MARK if traits.marks else {}

    def unsign(self, request: ModelRequest) -> bool:
        """Send compactions as their text from now on; return False if that is done already."""
        bound = (self.origin, *bound_to(request))
        had = bound not in _UNSIGNED and any_compaction(request.messages)
        _UNSIGNED.append(bound)
        return had

    def _fit(self, message: condense.Message) -> condense.Message:
        """Return a message as the API accepts it, with its rules at its end.

        A compaction that another model has signed becomes its readable text.
        """
        rules: list[str] = []
        if self.traits.late_system:
            stated = [one for one in message.blocks if stands_for(one) == RULE]
            said = [one for one in stated if not is_claimed(one)]
            rest = tuple([one for one in message.blocks if one not in said])
            # One that is nothing else stays as it is.
            if said and rest:
                rules = [one.text for one in said if isinstance(one, condense.TextBlock)]
                message = message.with_content(rest)
        signed = [one.data for one in message.blocks if isinstance(one, condense.OpaqueBlock)]
        if any(
            data.get("type") == "compaction"
            and data.get("model", self.model.name) != self.model.name
            for data in signed
        ):
            message = condense.without_compaction(message)
        message = fit(message, self._sends)
        lacks = message.role == "assistant" and not any(map(condense.is_thinking, message.blocks))
        if lacks and self.traits.reasoning not in {"", "none"}:
            given = condense.OpaqueBlock({"type": "thinking", "thinking": FILLER})
            given = given.noted(origin=self.origin)
            message = message.with_content((given, *message.blocks))
        apart = [condense.OpaqueBlock({"type": _APART, "text": text}) for text in rules]
        return message.with_content((*message.blocks, *apart)) if apart else message

    def _sends(self, block: condense.Block) -> bool:
        """Return True for a thought of this model, in a form that the server takes."""
        taken = is_signed(block) or self.traits.reasoning != "none"
        return taken and goes_to(block, self.origin, self.model.name)

    def write(self, request: ModelRequest, *, thinking: bool = True) -> SentRequest:
        """Return the request's bytes; without ``thinking`` blocks after they were refused.

        A compaction that was refused is sent as the text that it holds.
        """
        messages = self._messages(request, thinking=thinking)
        most = max(1, min(self.model.max_output, self.traits.max_output))
        head: dict[str, Any] = {"max_tokens": most}
        if self.traits.effort:
            head |= thinking_parameters(replace(self.model, max_output=most), shown=thinking)
        self.had |= {"max_output": most, "effort": "thinking" in head}
        if request.compaction:
            head["compaction"] = {"type": "summarize", "instructions": request.compaction}
        after: dict[str, Any] = {"stream": True}
        if self.traits.diagnoses:
            after["diagnostics"] = {"previous_message_id": request.previous_reply or None}
        return self._join(request, head, messages, after)

    def write_count(self, request: ModelRequest) -> SentRequest:
        """Return the bytes of the request to count tokens."""
        messages = self._messages(request, thinking=True)
        return self._join(request, thinking_parameters(self.model), messages, {})

    def _messages(self, request: ModelRequest, *, thinking: bool) -> Sequence[condense.Message]:
        fitted = self._fitted.of(self.newest_images(request.messages))
        if not thinking or (self.model.effort == OFF and self.traits.reasoning in {"", "none"}):
            fitted = [condense.without_thinking(message) for message in fitted]
        if (self.origin, *bound_to(request)) in _UNSIGNED:
            fitted = [condense.without_compaction(message) for message in fitted]
        if all(map(operator.is_, fitted, request.messages)):
            return _first(request.messages)
        return _first(condense.shape_request(fitted))

    def _join(
        self,
        request: ModelRequest,
        parameters: Mapping[str, Any],
        messages: Sequence[condense.Message],
        after: Mapping[str, Any],
    ) -> SentRequest:
        head = {"model": self.model.name, **parameters}
        if request.system.strip():
            head["system"] = [{"type": "text", "text": request.system, **self._mark}]
        head |= _tools(request.tools, messages, self._mark)
        fragments = self._bytes.of(messages)
        users = [index for index, message in enumerate(messages) if message.role == "user"]
        for index in users[-CACHED_MESSAGES:] if self._mark else ():
            fragments[index] = _encode(messages[index], marked=True)
        before, behind = request_bytes.frame(head, after)
        return request_bytes.join(before, messages, fragments, behind)


def _encode(message: condense.Message, *, marked: bool = False) -> bytes:
    """Return the bytes of a message, and of a system message with its rules behind it."""
    said = _without_marks(message.to_api())
    content = said["content"]
    late = [one for one in content if one.get("type") == _APART] if type(content) is list else []
    if late:
        content = [one for one in content if one not in late]
    if marked:
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if content and content[-1].get("type") in _MARKABLE:
            content = [*content[:-1], {**content[-1], **_MARK}]
    written = [{**said, "content": content}]
    if late:
        system = [{"type": "text", "text": one["text"]} for one in late]
        written.append({"role": "system", "content": system})
    return b",".join(map(request_bytes.encode, written))


def _tools(
    specs: Sequence[ToolSpec], messages: Sequence[condense.Message], mark: Mapping[str, Any]
) -> dict[str, Any]:
    if specs:
        tools = [spec.to_api() for spec in specs]
        tools[-1] |= mark
        return {"tools": tools}
    names = sorted({use.name for message in messages for use in message.tool_uses})
    if not names:
        return {}
    tools = [
        {"name": name, "description": GONE_TOOL, "input_schema": {"type": "object"}}
        for name in names
    ]
    return {"tools": tools, "tool_choice": {"type": "none"}}


def _without_marks(value: Any) -> Any:
    """Return a copy in which no block carries a mark or a field unknown to the API."""
    if isinstance(value, Mapping):
        is_block = isinstance(value.get("type"), str)
        return {
            key: inner if key in {"input", "source"} else _without_marks(inner)
            for key, inner in value.items()
            if not (is_block and key in {"cache_control", condense.BESIDE})
        }
    if isinstance(value, list | tuple):
        return [_without_marks(inner) for inner in value]
    return value


def compaction_betas(request: ModelRequest) -> tuple[str, ...]:
    """Return the beta that a request with a compaction needs; none for other requests."""
    return (COMPACTION_BETA,) if request.compaction or any_compaction(request.messages[:1]) else ()


def bound_to(request: ModelRequest) -> tuple[str, ...]:
    """Return the names that a compaction is signed for, and the ids of messages that hold one."""
    bearing = (said.id for said in request.messages if any_compaction([said]))
    return (request.system, *(spec.name for spec in request.tools), *bearing)


def any_compaction(messages: Sequence[condense.Message]) -> bool:
    """Return True if a message holds a compaction, which can be sent as its text instead."""
    return any(condense.is_compaction(one) for said in messages for one in said.blocks)


def _first(messages: Sequence[condense.Message]) -> Sequence[condense.Message]:
    """Return the messages with a compaction in a reply of its own, as the vendor gave it."""
    if not messages or len(messages[0].blocks) < 2:  # noqa: PLR2004 - the block, and what follows
        return messages
    block, *rest = messages[0].blocks
    if not condense.is_compaction(block):
        return messages
    given = condense.Message("assistant", (block,), id="compaction")
    return (given, messages[0].with_content(tuple(rest)), *messages[1:])
