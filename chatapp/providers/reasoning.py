"""Reasoning goes back to the server and model that wrote it, in the form that it had there.

A block of thinking says under ``condense.BESIDE`` where it came from, and as what.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import condense
from chatapp.agent.events import ReplyCompleted
from chatapp.providers.refusals import habits

Json = dict[str, Any]

# Stands for reasoning where a server insists on some and there is none; an empty one is refused.
FILLER = "."
FIELDS = ("reasoning_content", "reasoning")
DETAILS = "reasoning_details"
_GROWING = ("text", "summary", "data")


def origin_of(provider: str, url: str, model: str) -> str:
    """Return the name of a model at a server, from which neither can be read."""
    return hashlib.sha256(f"{provider} {url.rstrip('/')} {model}".encode()).hexdigest()[:16]


def stamped(reply: ReplyCompleted, origin: str, model: str) -> ReplyCompleted:
    """Return a reply in which each thought says its origin, and the first one its form.

    A model that signs its own binds them to what stood before, and knows them without a stamp.
    """
    content, form = [*reply.content], reply.form
    if form and isinstance(form, list) and not any(map(condense.is_thinking, content)):
        # Nothing of it can be read, and it is wanted back.
        content.insert(0, condense.OpaqueBlock({"type": "redacted_thinking"}))
    for place, block in enumerate(content):
        data = block.to_api()
        signed = signs(model) and (data.get("signature") or data.get("data"))
        if condense.is_thinking(block) and not signed:
            notes = {**_notes(block), condense.ORIGIN: origin, **({"form": form} if form else {})}
            content[place], form = condense.OpaqueBlock({**data, condense.BESIDE: notes}), ""
    return replace(reply, content=tuple(content))


def signs(model: str) -> bool:
    """Whether a model signs its thoughts for itself, whoever serves it."""
    return bool(habits("", model).get("signs"))


def goes_to(block: condense.Block, origin: str, model: str) -> bool:
    """Whether a thought may be sent to a model: it wrote it, or one of its kind has signed it."""
    said = _notes(block).get(condense.ORIGIN)
    return said == origin if said else signs(model)


def as_fields(message: condense.Message, origin: str, asked: str) -> Json:
    """Return a reply's own reasoning as chat completions name it, under what is ``asked``."""
    if asked == "none":
        return {}
    own = [block for block in message.blocks if _notes(block).get(condense.ORIGIN) == origin]
    forms = [_notes(block).get("form") for block in own]
    details = [one for form in forms if isinstance(form, list) for one in form]
    if details and asked in {"", DETAILS}:
        return {DETAILS: details}
    texts = [block.to_api().get("thinking") or "" for block in own]
    text = "\n\n".join(filter(None, texts)) or (asked and FILLER)
    if asked == DETAILS:
        return {DETAILS: [{"type": "reasoning.text", "text": text}]}
    named = asked if asked in FIELDS else FIELDS[0] if asked else ""
    field = named or next((form for form in forms if isinstance(form, str)), "")
    return {field: text} if field and text else {}


class Form:
    """The form in which a stream gives its reasoning: the name of a field, or a list of details."""

    def __init__(self) -> None:
        self.form: str | list[Json] = ""

    def take(self, said: Mapping[Any, Any]) -> None:
        """Take in a piece of a reply."""
        given = said.get(DETAILS)
        for one in given if isinstance(given, list) else ():
            if isinstance(one, Mapping):
                self._add(dict(one))
        self.form = self.form or next(filter(said.get, FIELDS), "")

    def _add(self, one: Json) -> None:
        """Add a detail; a piece of the last one goes into that, and so does a longer copy of it."""
        self.form = self.form if isinstance(self.form, list) else []
        last = self.form[-1] if self.form else {}
        if not last or any(one.get(name) != last.get(name) for name in ("type", "index")):
            self.form.append(one)
            return
        for name, value in one.items():
            before = last.get(name) or ""
            if name in _GROWING and isinstance(value, str):
                is_copy = len(value) > len(before) and value.startswith(before)
                last[name] = value if is_copy else before + value
            elif value is not None:
                last[name] = value


def _notes(block: condense.Block) -> Mapping[str, Any]:
    """Return what a thought says beside itself."""
    said = block.data.get(condense.BESIDE) if isinstance(block, condense.OpaqueBlock) else None
    return said if isinstance(said, Mapping) else {}
