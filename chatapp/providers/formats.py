"""Formats of sent requests: their messages, system prompt and tools, for each kind of API.

A provider names the class that reads its own; one that names none sends messages as they are shaped
for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

import condense
from chatapp.providers import provider_spec, request_bytes

Json = Mapping[str, Any]
# Marks for a provider's cache: they tell the model nothing.
_MARK = "cache_control"


@dataclass(frozen=True, slots=True)
class Frame:
    """The parts of a request other than its messages; each tool as the API has it."""

    system: str = ""
    tools: Mapping[str, Json] = field(default_factory=dict)
    parameters: Json = field(default_factory=dict)


class MessagesFormat:
    """Reads the JSON of an API that shares the engine's form of messages."""

    def frame(self, body: Json) -> Frame:
        """Return the frame of a body from which the conversation's messages were taken."""
        known = {"system", "tools", "messages"}
        system = body.get("system")
        if not isinstance(system, str):
            system = "\n\n".join([str(block.get("text", "")) for block in listed(system)])
        return Frame(
            system=system,
            tools={str(tool.get("name", "")): unmarked(tool) for tool in listed(body.get("tools"))},
            parameters={name: value for name, value in body.items() if name not in known},
        )

    def message(self, said: Json) -> condense.Message:
        """Return a message of a body, without its marks for the cache."""
        content = said.get("content")
        if isinstance(content, list):
            content = [unmarked(block) for block in listed(content)]
        # A system message in mid-conversation is no reply.
        role = "user" if said.get("role") == "system" else said.get("role")
        return condense.Message.from_api({"role": role, "content": content or ""})


def request_format(provider: str) -> MessagesFormat:
    """Return the reader of a vendor's requests."""
    made: MessagesFormat = resolve_name(provider_spec(provider).format)()
    return made


def read_frame(own: MessagesFormat, head: bytes, tail: bytes) -> Frame:
    """Return the frame around a request's messages; raise ValueError if it is no JSON."""
    body = request_bytes.decode(head.rstrip(b",") + tail)
    return own.frame(body if isinstance(body, Mapping) else {})


def read_messages(own: MessagesFormat, fragment: bytes) -> Iterator[condense.Message]:
    """Yield the messages of a part of a request; raise ValueError if it is no JSON."""
    for said in listed(request_bytes.decode(b"[" + fragment + b"]")):
        yield own.message(said)


def at(value: object, path: str) -> Any:
    """Return a value inside objects by its names, joined by dots; None if there is none."""
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def listed(value: object) -> Sequence[Json]:
    """Return the objects of a list, or the only one."""
    value = [value] if isinstance(value, Mapping) else value
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def unmarked(value: Json) -> Json:
    """Return an object without its mark for the cache."""
    return {name: inner for name, inner in value.items() if name != _MARK}
