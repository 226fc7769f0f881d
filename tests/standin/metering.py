"""Measured tokens, the prompt cache, and why it was of no use: all of it deterministic."""

import base64
import hashlib
import json
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import condense
from tests.standin.rules import blocks_of
from tests.standin.thinking import unmarked

UNKNOWN_IMAGE = 1_500  # tokens of one that is given by address
LOOK_BACK = 20

_counter = condense.CachedCounter(condense.TiktokenCounter(factor=1.0))


@dataclass(frozen=True, slots=True)
class Part:
    """One block of the prompt, in the order the model reads it."""

    json: str
    tokens: int
    marked: bool


def measure(body: Mapping[str, Any], factor: float = 1.0) -> int:
    """Return the tokens of a request's prompt; ``factor`` is that of :func:`parts_of`."""
    return sum(part.tokens for part in parts_of(body, factor))


def count_text(text: str) -> int:
    """Return the tokens of a text."""
    return _counter.count(text)


def parts_of(body: Mapping[str, Any], factor: float = 1.0) -> Iterator[Part]:
    """Yield tools, system prompt and messages, block by block.

    A tokenizer other than o200k takes ``factor`` times as many tokens.
    """
    for tool in body.get("tools", ()):
        yield _part("tool", tool, factor)
    system = body.get("system") or []
    for block in [{"type": "text", "text": system}] if isinstance(system, str) else system:
        yield _part("system", block, factor)
    for message in body["messages"]:
        for block in blocks_of(message) if message["content"] else ():
            yield _part(message["role"], block, factor)


def _part(role: str, block: Mapping[str, Any], factor: float) -> Part:
    data = {key: value for key, value in block.items() if key != "cache_control"}
    text = json.dumps([role, data], sort_keys=True, ensure_ascii=False)
    images, words = _without_images(data)
    said = json.dumps([role, words], sort_keys=True, ensure_ascii=False)
    tokens = round(_counter.count(said) * factor) + sum(map(_image_tokens, images))
    return Part(text, tokens, marked=block.get("cache_control") is not None)


def _image_tokens(source: Mapping[str, Any]) -> int:
    """Return one token for each patch of a small PNG's pixels, whatever reads the text."""
    header = base64.b64decode(source.get("data", ""))[16:24]
    if len(header) < 8:
        return UNKNOWN_IMAGE
    return math.prod(math.ceil(edge / 28) for edge in struct.unpack(">II", header))


def _without_images(data: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], Mapping[str, Any]]:
    """Return the sources of a block's images, those in a tool's result too, and the rest."""
    if data.get("type") == "image":
        return [data["source"]], {"type": "image"}
    inner = data.get("content")
    if data.get("type") != "tool_result" or not isinstance(inner, list):
        return [], data
    parts = [_without_images(block) for block in inner]
    images = [image for found, _ in parts for image in found]
    return images, {**data, "content": [words for _, words in parts]}


@dataclass(slots=True)
class PromptCache:
    """Which prompts' beginnings were written; ``minimum`` tokens are worth writing."""

    minimum: int = 1_024
    factor: float = 1.0
    _written: set[str] = field(default_factory=set)

    def usage(self, body: Mapping[str, Any]) -> dict[str, int]:
        """Return the prompt's share of the usage, and remember what this call wrote."""
        parts = [*parts_of(body, self.factor)]
        totals = [*accumulate(part.tokens for part in parts)]
        digests = [*_digests(str(body["model"]), parts)]
        marks = [
            index
            for index, part in enumerate(parts)
            if part.marked and totals[index] >= self.minimum
        ]
        read = max((self._read(mark, digests, totals) for mark in marks), default=0)
        written = max((totals[mark] for mark in marks), default=0)
        self._written.update(digests[mark] for mark in marks)
        total = totals[-1] if totals else 0
        return {
            "input_tokens": total - max(read, written),
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": max(0, written - read),
        }

    def _read(self, mark: int, digests: list[str], totals: list[int]) -> int:
        """Return the tokens of the longest known beginning that ends shortly before a mark."""
        for index in range(mark, max(-1, mark - LOOK_BACK), -1):
            if digests[index] in self._written:
                return totals[index]
        return 0


def _digests(model: str, parts: list[Part]) -> Iterator[str]:
    digest = hashlib.sha256(model.encode())
    for part in parts:
        digest.update(part.json.encode())
        yield digest.copy().hexdigest()


class Diagnosis:
    """Compares each request with the one before it, by the id of the reply to that."""

    def __init__(self) -> None:
        self._bodies: dict[str, Mapping[str, Any]] = {}

    def compare(self, body: Mapping[str, Any], id_: str) -> dict[str, Any] | None:
        """Return the reply's ``diagnostics``, and remember the request that it answers."""
        self._bodies[id_] = body
        previous = (body.get("diagnostics") or {}).get("previous_message_id")
        if previous is None:
            return None
        reason = self._reason(self._bodies.get(previous), body)
        return {"cache_miss_reason": reason} if reason else None

    def _reason(
        self, before: Mapping[str, Any] | None, body: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        if before is None:
            return {"type": "previous_message_not_found"}
        known, asked = unmarked(before["messages"]), unmarked(body["messages"])
        missed = count_text(json.dumps(known))
        for name in ("model", "system", "tools"):
            if unmarked(before.get(name)) != unmarked(body.get(name)):
                return {"type": f"{name}_changed", "cache_missed_input_tokens": missed}
        if asked[: len(known)] != known:
            return {"type": "messages_changed", "cache_missed_input_tokens": missed}
        return None
