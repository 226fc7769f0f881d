"""Reasoning goes back to the server and model that wrote it, in the form that it had there."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import condense
from chatapp.agent.events import ReplyCompleted
from chatapp.providers.refusals import habits

Json = dict[str, Any]

# Stands for reasoning where a server insists on some and there is none; an empty one is refused.
FILLER = "."
FIELDS, DETAILS = ("reasoning_content", "reasoning"), "reasoning_details"
_GROWING = ("text", "summary", "data")


def stamped(reply: ReplyCompleted, origin: str, model: str) -> ReplyCompleted:
    """Return a reply in which each thought says its origin, and the first one its form."""
    content, form = [*reply.content], reply.form
    if isinstance(form, list) and not any(map(condense.is_thinking, content)):
        # Nothing of it can be read, and it is wanted back.
        content.insert(0, condense.OpaqueBlock({"type": "redacted_thinking"}))
    for place, block in enumerate(content):
        if isinstance(block, condense.OpaqueBlock) and condense.is_thinking(block):
            bound = {"bound": True} if is_signed(block) and goes_to(block, "", model) else {}
            noted = block.noted(origin=origin, **bound, **({"form": form} if form else {}))
            content[place], form = noted, ""
    return replace(reply, content=tuple(content))


def is_signed(block: condense.Block) -> bool:
    """Return True for a thought with the signature of the model that wrote it."""
    data = block.to_api()
    return bool(data.get("signature") or data.get("data"))


def goes_to(block: condense.Block, origin: str, model: str) -> bool:
    """Return True for a model's own thought, and for an unknown one if the model signs its own."""
    known = condense.beside_of(block).get(condense.ORIGIN)
    return bool(known == origin if known else habits("", model).get("signs"))


def as_fields(message: condense.Message, origin: str, asked: str) -> Json:
    """Return a reply's own reasoning as chat completions name it, in the field ``asked`` for."""
    own = [one for one in message.blocks if condense.beside_of(one).get(condense.ORIGIN) == origin]
    forms = [condense.beside_of(one).get("form") for one in own]
    details = [one for form in forms if isinstance(form, list) for one in form]
    text = "\n\n".join(filter(None, [one.to_api().get("thinking") for one in own]))
    if asked == "none":
        return {}
    if asked == DETAILS or (details and not asked):
        return {DETAILS: details or [{"type": "reasoning.text", "text": text or FILLER}]}
    field = next((form for form in forms if isinstance(form, str)), "")
    field, text = (asked, text or FILLER) if asked else (field, text)
    return {(field if field in FIELDS else FIELDS[0]): text} if field and text else {}


class Form:
    """The form in which a stream gives its reasoning: the name of a field, or a list of details."""

    def __init__(self) -> None:
        self.form: str | list[Json] = ""

    def take(self, said: Mapping[Any, Any]) -> str | list[Json]:
        """Take in a piece of a reply, and return the form so far."""
        given = said.get(DETAILS)
        for one in given if isinstance(given, list) else ():
            if isinstance(one, dict):
                self._add(one)
        self.form = self.form or next(filter(said.get, FIELDS), "")
        return self.form

    def _add(self, one: Json) -> None:
        """Add a detail; a piece of the last one goes into that, and so does a longer copy of it."""
        self.form = self.form if isinstance(self.form, list) else []
        last = self.form[-1] if self.form else {}
        if not last or any(one.get(name) != last.get(name) for name in ("type", "index")):
            self.form.append({**one})
            return
        for name, value in one.items():
            before = last[name] if isinstance(last.get(name), str) else ""
            if name in _GROWING and isinstance(value, str):
                is_copy = len(value) > len(before) and value.startswith(before)
                last[name] = value if is_copy else before + value
            elif value is not None:
                last[name] = value
