"""Requests as chat completions take them, and back; a message here may be several there.

Tool results become messages of their own, which hold text only: their images follow in one of the
user's. Reasoning goes back to its own server. Blocks that the API does not know are named in
brackets.
"""

import base64
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import condense
from chatapp.agent.events import SentRequest
from chatapp.agent.ports import Model, ModelRequest, ToolSpec
from chatapp.agent.tool_arguments import read_arguments
from chatapp.providers import request_bytes
from chatapp.providers.formats import Frame, MessagesFormat, listed
from chatapp.providers.openai.spec import SPEC
from chatapp.providers.reasoning import FIELDS, as_fields
from chatapp.providers.refusals import Learning

Json = dict[str, Any]

LONGEST_NAME = 64
LONGEST_ID = 40
SHORT_ID = 9
ERROR = "Error: "
NO_IMAGES = "[An image, which this model cannot see]"
IMAGES_OF_TOOLS = "[Images from the tool results above]"
# Some servers take no empty result.
NO_OUTPUT = "[No output]"
# Gemini takes this for the signature of a call that another model made.
UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}

_EFFORTS = {"off": "none"}
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_THINKING = ("thinking", "redacted_thinking")
_KEYWORDS = ("type", "description", "properties", "required", "items", "enum")
_CHOICES = ("anyOf", "oneOf", "allOf")
MOST_REFERENCES = 50  # of one schema


@dataclass(frozen=True, slots=True)
class OpenAITraits:
    """The parts that a request may have; those that a server refuses are left out of the next."""

    tools: bool = True
    streaming_usage: bool = True
    system_role: bool = True
    completion_limit: bool = False  # which of two names a reply's limit has
    marks: bool = False  # ask for the cache that comes unasked elsewhere
    temperature: bool = True
    effort: bool = True
    any_ids: bool = True  # ids of calls of any length
    user_after_tool: bool = True  # a user's message right after a result
    call_extras: bool = True  # fields of other vendors in a call
    unsigned_calls: bool = True  # calls of other models
    reasoning: str = ""  # field that each reply must have; "none" for no reply
    no_text: str | None = None  # text of a reply that only calls tools
    plain_schemas: bool = False
    max_output: int = sys.maxsize
    most_images: int = sys.maxsize
    most_tools: int = sys.maxsize


class OpenAIRequestWriter(Learning):
    """Writes the requests to one model, and keeps each message's bytes for the next request."""

    def __init__(self, model: Model, refused: Json | None = None, url: str = "") -> None:
        """Write for ``model`` at an address, without the parts that it has ``refused``."""
        super().__init__(OpenAITraits(), SPEC.name, model, refused, url)

    def use(self, traits: OpenAITraits) -> None:
        """Write requests with these traits from now on."""
        super().use(traits)
        self._plain = request_bytes.Kept(condense.tools_to_text)
        self._bytes = request_bytes.Kept(self._encode)

    def write(self, request: ModelRequest) -> SentRequest:
        """Return the request's bytes."""
        traits: OpenAITraits = self.traits
        tools = request.tools[: traits.most_tools] if traits.tools else ()
        messages = self.newest_images(request.messages)
        if not traits.tools:
            messages = condense.merge_consecutive(self._plain.of(messages), ("user", "assistant"))
        fragments = self._bytes.of(messages)
        system = request.system if request.system.strip() else ""
        most = max(1, min(self.model.max_output, traits.max_output))
        after: Json = {"max_completion_tokens" if traits.completion_limit else "max_tokens": most}
        after["stream"] = True
        if traits.streaming_usage:
            after["stream_options"] = {"include_usage": True}
        if traits.marks:
            after["cache_control"] = {"type": "ephemeral"}
        if tools:
            after["tools"] = [_tool(spec, traits) for spec in tools]
        if self.model.temperature is not None and traits.temperature:
            after["temperature"] = self.model.temperature
        if self.model.effort and traits.effort:
            after["reasoning_effort"] = _EFFORTS.get(self.model.effort, self.model.effort)
        self.had |= {"max_output": most, "most_tools": len(tools), "marks": traits.marks}
        self.had |= {"temperature": "temperature" in after, "effort": "reasoning_effort" in after}
        head, tail = request_bytes.frame({"model": self.model.name}, after)
        if system and traits.system_role:
            head += request_bytes.encode({"role": "system", "content": system}) + b","
        elif system:
            first = (condense.TextBlock(system), *messages[0].blocks)
            fragments[0] = self._encode(messages[0].with_content(first))
        return request_bytes.join(head, messages, fragments, tail)

    def _encode(self, message: condense.Message) -> bytes:
        return b",".join(map(request_bytes.encode, to_chat(message, self.traits, self.origin)))


def _tool(spec: ToolSpec, traits: OpenAITraits) -> dict[str, Any]:
    schema = dict(spec.input_schema)
    if traits.plain_schemas:
        defined = {**_mapping(schema.get("definitions")), **_mapping(schema.get("$defs"))}
        schema = _plain_schema(schema, defined, iter(range(MOST_REFERENCES)))
    function = {
        "name": fit_name(spec.name),
        "description": spec.description,
        "parameters": schema,
    }
    return {"type": "function", "function": function}


def _plain_schema(schema: Any, defined: Json, spare: Iterator[int]) -> Any:
    """Return a schema with the keywords that every server knows; of choices, the first.

    A reference becomes the schema that it names, while there are ``spare`` ones. One in a circle,
    and a schema that is no object, such as True for anything, become empty.
    """
    schema = _mapping(schema)
    choices = map(_mapping, chain.from_iterable(listed(schema.get(name)) for name in _CHOICES))
    schema = {**next((one for one in choices if one.get("type") != "null"), {}), **schema}
    kept = {name: one for name, one in schema.items() if name in _KEYWORDS}
    if isinstance(kinds := kept.get("type"), list):
        kept["type"] = next((one for one in kinds if one != "null"), "string")
    for name, one in _mapping(kept.get("properties")).items():
        kept["properties"] = {**kept["properties"], name: _plain_schema(one, defined, spare)}
    if "items" in kept:
        kept["items"] = _plain_schema(kept["items"], defined, spare)
    name = str(schema.get("$ref")).rpartition("/")[2]
    if name in defined and next(spare, None) is not None:
        others = {key: one for key, one in defined.items() if key != name}
        return {**_plain_schema(defined[name], others, spare), **kept}
    return kept


def to_chat(message: condense.Message, traits: OpenAITraits, origin: str = "") -> list[Json]:
    """Return a message as the API takes it: a reply as one, a user's as results and the rest."""
    if message.role == "assistant":
        return [_reply(message, traits, origin)]
    return _of_user(message, traits)


def fit_name(name: str) -> str:
    """Return a tool's name as the API takes it."""
    return _NOT_IN_NAMES.sub("_", name)[:LONGEST_NAME] or "_"


def _reply(message: condense.Message, traits: OpenAITraits, origin: str) -> Json:
    texts = [text for block in message.blocks if (text := _said(block))]
    calls = [_call(block, traits) for block in message.tool_uses]
    content = "\n\n".join(texts) or (traits.no_text if calls else "")
    reply: Json = {"role": "assistant", "content": content}
    reply |= as_fields(message, origin, traits.reasoning)
    return {**reply, "tool_calls": calls} if calls else reply


def _call(block: condense.ToolUseBlock, traits: OpenAITraits) -> Json:
    arguments = json.dumps(block.input, ensure_ascii=False)
    function = {"name": fit_name(block.name), "arguments": arguments}
    call = {"id": _fit_id(block.id, traits), "type": "function", "function": function}
    # Some servers sign their calls there, and want the signature back.
    extra = block.extra.get("extra_content") or (None if traits.unsigned_calls else UNSIGNED)
    return {**call, "extra_content": extra} if extra and traits.call_extras else call


def _of_user(message: condense.Message, traits: OpenAITraits) -> list[Json]:
    results = [_result(block, traits) for block in message.tool_results]
    blocks = condense.flat_blocks(message.tool_results)
    inside = [one for one in blocks if isinstance(one, condense.ImageBlock)]
    shown = [{"type": "text", "text": IMAGES_OF_TOOLS}, *_parts(inside)] if inside else []
    rest = [one for one in message.blocks if not isinstance(one, condense.ToolResultBlock)]
    content: Any = [*shown, *_parts(rest)]
    # Text as text, which every server takes; a list only where there is an image.
    if all(part["type"] == "text" for part in content):
        content = "\n\n".join([part["text"] for part in content])
        if results and not traits.user_after_tool and content:
            results[-1]["content"] += f"\n\n{content}"
            return results
    return [*results, {"role": "user", "content": content}] if content or not results else results


def _result(block: condense.ToolResultBlock, traits: OpenAITraits) -> Json:
    content = block.content or ""
    texts = (
        [content] if isinstance(content, str) else [text for one in content if (text := _said(one))]
    )
    text = "\n\n".join(texts)
    return {
        "role": "tool",
        "tool_call_id": _fit_id(block.tool_use_id, traits),
        "content": f"{ERROR}{text}" if block.is_error else text or NO_OUTPUT,
    }


def _parts(blocks: Iterable[condense.Block]) -> list[Json]:
    parts = []
    for block in blocks:
        if isinstance(block, condense.ImageBlock):
            parts.append(_image(block))
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
    """Return a block as text, "" if this API takes nothing of it."""
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


def _fit_id(id_: str, traits: OpenAITraits) -> str:
    """Return a call's id; the same one always becomes the same."""
    if traits.any_ids and len(id_) <= LONGEST_ID:
        return id_
    return hashlib.sha256(id_.encode()).hexdigest()[: LONGEST_ID if traits.any_ids else SHORT_ID]


class ChatFormat(MessagesFormat):
    """The system prompt is a message, a tool's call a text, and its result a message of its own."""

    def frame(self, body: Mapping[str, Any]) -> Frame:
        """Return the system prompt, the tools and the parameters of a request."""
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
                thought = "\n\n".join([said[name] for name in FIELDS if said.get(name)])
                thinking = condense.OpaqueBlock({"type": "thinking", "thinking": thought})
                blocks = [*([thinking] if thought else ()), *_blocks(said.get("content"))]
                for call in listed(said.get("tool_calls")):
                    function = _mapping(call.get("function"))
                    given = read_arguments(str(function.get("arguments") or ""))
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
