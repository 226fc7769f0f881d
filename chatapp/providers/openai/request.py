"""Requests as chat completions take them, and back; a message here may be several there.

Tool results become messages of their own, which hold text only: their images follow in one of
the user's. Reasoning is not sent back. What the API has no word for is named in brackets.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import condense
from chatapp.agent.events import SentRequest
from chatapp.agent.ports import Model, ModelRequest, ToolSpec
from chatapp.providers import request_bytes
from chatapp.providers.formats import Frame, MessagesFormat, listed

Json = dict[str, Any]

LONGEST_NAME = 64
LONGEST_ID = 40
SHORT_ID = 9
ERROR = "Error: "
NO_IMAGES = "[An image, which this model cannot see]"
IMAGES_OF_TOOLS = "[Images from the tool results above]"

_EFFORTS = {"off": "none"}
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_THINKING = ("thinking", "redacted_thinking")


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


class RequestWriter:
    """Writes the requests to one model; what it made of a message is kept for the next."""

    def __init__(self, model: Model, refused: Json | None = None, *, own: bool = False) -> None:
        """Write for ``model``, at the vendor's ``own`` address, without ``refused`` parameters."""
        self.model, self.refused = model, {} if refused is None else refused
        self._use(replace(Traits(completion_limit=own), **self.refused))

    def _use(self, traits: Traits) -> None:
        self.traits = traits
        self._plain = request_bytes.Kept(condense.tools_to_text)
        self._bytes = request_bytes.Kept(self._encode)

    def adapt(self, said: str) -> bool:
        """Leave out from now on what a refusal is about; False where it is about nothing such."""
        for trait, value, *words in _REFUSALS:
            is_said = any(re.search(one, said, re.IGNORECASE | re.DOTALL) for one in words)
            if is_said and getattr(self.traits, trait) != value:
                changed: dict[str, Any] = {trait: value}
                self._use(replace(self.traits, **changed))
                # One image says nothing of the next.
                self.refused |= changed if trait != "images" else {}
                return True
        return False

    def write(self, request: ModelRequest) -> SentRequest:
        """Return the request's bytes."""
        messages = list(request.messages)
        if not self.traits.tools:
            messages = self._plain.of(messages)
        fragments = self._bytes.of(messages)
        system = request.system if request.system.strip() else ""
        limit = "max_completion_tokens" if self.traits.completion_limit else "max_tokens"
        after: Json = {limit: max(1, self.model.max_output), "stream": True}
        if self.traits.streaming_usage:
            after["stream_options"] = {"include_usage": True}
        if request.tools and self.traits.tools:
            after["tools"] = [_tool(spec) for spec in request.tools]
        if self.model.temperature is not None and self.traits.temperature:
            after["temperature"] = self.model.temperature
        if self.model.effort and self.traits.effort:
            after["reasoning_effort"] = _EFFORTS.get(self.model.effort, self.model.effort)
        head, tail = request_bytes.frame({"model": self.model.name}, after)
        if system and self.traits.system_role:
            head += request_bytes.encode({"role": "system", "content": system}) + b","
        elif system:
            first = (condense.TextBlock(system), *messages[0].blocks)
            fragments[0] = self._encode(messages[0].with_content(first))
        return request_bytes.join(head, messages, fragments, tail)

    def _encode(self, message: condense.Message) -> bytes:
        return b",".join(map(request_bytes.encode, to_chat(message, self.traits)))


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {
        "name": fit_name(spec.name),
        "description": spec.description,
        "parameters": dict(spec.input_schema),
    }
    return {"type": "function", "function": function}


def to_chat(message: condense.Message, traits: Traits) -> list[Json]:
    """Return a message as the API takes it: a reply as one, a user's as results and the rest."""
    return [_reply(message, traits)] if message.role == "assistant" else _of_user(message, traits)


def fit_name(name: str) -> str:
    """Return a tool's name as the API takes it."""
    return _NOT_IN_NAMES.sub("_", name)[:LONGEST_NAME] or "_"


def _reply(message: condense.Message, traits: Traits) -> Json:
    texts = [text for block in message.blocks if (text := _said(block))]
    reply: Json = {"role": "assistant", "content": "\n\n".join(texts)}
    calls = [_call(block, traits) for block in message.tool_uses]
    return {**reply, "content": reply["content"] or None, "tool_calls": calls} if calls else reply


def _call(block: condense.ToolUseBlock, traits: Traits) -> Json:
    arguments = json.dumps(block.input, ensure_ascii=False)
    function = {"name": fit_name(block.name), "arguments": arguments}
    call = {"id": _fit_id(block.id, traits), "type": "function", "function": function}
    # Some servers sign their calls there, and want the signature back.
    extra = block.extra.get("extra_content")
    return {**call, "extra_content": extra} if extra and traits.call_extras else call


def _of_user(message: condense.Message, traits: Traits) -> list[Json]:
    results = [_result(block, traits) for block in message.tool_results]
    inside = [
        one
        for block in message.tool_results
        for one in (block.content if isinstance(block.content, tuple) else ())
        if isinstance(one, condense.ImageBlock)
    ]
    shown = [{"type": "text", "text": IMAGES_OF_TOOLS}, *_parts(inside, traits)] if inside else []
    rest = [one for one in message.blocks if not isinstance(one, condense.ToolResultBlock)]
    content: Any = [*shown, *_parts(rest, traits)]
    # Text as text, which every server takes; a list only where there is an image.
    if all(part["type"] == "text" for part in content):
        content = "\n\n".join([part["text"] for part in content])
        if results and not traits.user_after_tool and content:
            results[-1]["content"] += f"\n\n{content}"
            return results
    return [*results, {"role": "user", "content": content}] if content or not results else results


def _result(block: condense.ToolResultBlock, traits: Traits) -> Json:
    content = block.content or ""
    texts = (
        [content] if isinstance(content, str) else [text for one in content if (text := _said(one))]
    )
    text = "\n\n".join(texts)
    return {
        "role": "tool",
        "tool_call_id": _fit_id(block.tool_use_id, traits),
        "content": f"{ERROR}{text}" if block.is_error else text,
    }


def _parts(blocks: Iterable[condense.Block], traits: Traits) -> list[Json]:
    parts = []
    for block in blocks:
        if isinstance(block, condense.ImageBlock):
            parts.append(_image(block) if traits.images else {"type": "text", "text": NO_IMAGES})
        elif text := _said(block):
            parts.append({"type": "text", "text": text})
    return parts


def _image(block: condense.ImageBlock) -> Json:
    match block.source:
        case {"type": "base64", "media_type": str(kind), "data": str(data)}:
            return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
        case {"type": "url", "url": str(url)}:
            return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", "text": NO_IMAGES}


def _said(block: condense.Block) -> str:
    """Return what a block says in words, "" where it says nothing to this API."""
    match block:
        case condense.TextBlock(text):
            return text
        case condense.OpaqueBlock() if block.said:
            return block.said
        case condense.OpaqueBlock({"source": {"type": "text", "data": str(text)}}):
            return text
        case condense.OpaqueBlock(
            {"source": {"type": "base64", "media_type": "text/plain", "data": str(coded)}}
        ):
            return base64.b64decode(coded).decode(errors="replace")
        case condense.OpaqueBlock({"type": str(kind)}) if kind not in _THINKING:
            return f"[{kind}]"
    return ""


def _fit_id(id_: str, traits: Traits) -> str:
    """Return a call's id; the same one always becomes the same."""
    if traits.any_ids and len(id_) <= LONGEST_ID:
        return id_
    return hashlib.sha256(id_.encode()).hexdigest()[: LONGEST_ID if traits.any_ids else SHORT_ID]


class ChatFormat(MessagesFormat):
    """The system prompt is a message, a tool's call a text, and its result a message of its own."""

    def frame(self, body: Mapping[str, Any]) -> Frame:
        """Return what stands beside the conversation's messages."""
        known = {"messages", "tools"}
        first = [one for one in listed(body.get("messages")) if one.get("role") == "system"]
        functions = [_mapping(tool.get("function")) for tool in listed(body.get("tools"))]
        return Frame(
            system="\n\n".join(str(one.get("content") or "") for one in first),
            tools={str(one.get("name", "")): one for one in functions},
            parameters={name: value for name, value in body.items() if name not in known},
        )

    def message(self, said: Mapping[str, Any]) -> condense.Message:
        """Return a message in the engine's words."""
        match said:
            case {"role": "tool", "tool_call_id": str(id_), "content": str(text)}:
                return condense.Message("user", (condense.ToolResultBlock(id_, text),))
            case {"role": "assistant"}:
                blocks = [*_blocks(said.get("content"))]
                for call in listed(said.get("tool_calls")):
                    function = _mapping(call.get("function"))
                    given = request_bytes.decode_input(str(function.get("arguments") or ""))
                    name = str(function.get("name"))
                    blocks.append(condense.ToolUseBlock(str(call.get("id")), name, given))
                return condense.Message("assistant", tuple(blocks))
        return condense.Message("user", tuple(_blocks(said.get("content"))))


def _blocks(content: object) -> Iterator[condense.Block]:
    if isinstance(content, str):
        yield condense.TextBlock(content)
    for part in listed(content):
        match part:
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                kind, comma, data = url.removeprefix("data:").partition(";base64,")
                source = {"type": "url", "url": url}
                if comma and url.startswith("data:"):
                    source = {"type": "base64", "media_type": kind, "data": data}
                yield condense.ImageBlock(source)
            case _:
                yield condense.block_from_api(part)


def _mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}
