"""Bodies of requests: decoded copies of them, and the places of the items in their JSON."""

import itertools
import json
import re
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import brotli

import condense
from chatapp.gateway.dialects import RefusedRequest
from chatapp.project.sentences import translate as _

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# Bytes of a body, as it is sent and as it is read.
LARGEST_CLIENT_BODY = 64 * 1024 * 1024
# Encodings of one body: each of thousands would take as long as the first.
MOST_ENCODINGS = 3

_SPACE = re.compile(r"[ \t\n\r]*")
_value_at = json.JSONDecoder().raw_decode


# Decoders by the encoding's name. Requests may use those whose output can be limited.
_DECODERS: Mapping[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(31),
    "deflate": lambda: zlib.decompressobj(15),
    "zstd": zstd.ZstdDecompressor,
    "br": brotli.Decompressor,
}
_PLAIN = frozenset({"", "identity"})
_DAMAGED = (zlib.error, zstd.ZstdError, brotli.error, EOFError)


def check_size(size: int) -> None:
    """Raise Refusal for a body with more bytes than are read."""
    if size > LARGEST_CLIENT_BODY:
        raise RefusedRequest(
            413, _("A request can have up to {count} MB.", count=LARGEST_CLIENT_BODY >> 20)
        )


def decoded(body: bytes, encoding: str) -> bytes:
    """Return a copy of a body as it is read; raise Refusal."""
    names = [one.strip().lower() for one in encoding.split(",", MOST_ENCODINGS)]
    for name in reversed(names):
        if name in _PLAIN:
            continue
        if name not in {*_DECODERS} - {"br"} or len(names) > MOST_ENCODINGS:
            raise RefusedRequest(415, _("The encoding “{name}” is not known here.", name=name))
        decoder = _DECODERS[name]()
        try:
            body = decoder.decompress(body, LARGEST_CLIENT_BODY + 1)
        except _DAMAGED:
            body = b""
        check_size(len(body))
        # A second part behind the first would be sent on, and not be on record.
        if not decoder.eof or decoder.unused_data:
            raise RefusedRequest(400, _("The request's body is damaged."))
    return body


def stream_decoder(encoding: str) -> Callable[[bytes], bytes]:
    """Return a function that decodes an answer of up to LARGEST by chunks; raise ValueError."""
    name = encoding.strip().lower()
    if name not in {*_PLAIN, *_DECODERS}:
        raise ValueError(name)
    made, left = None if name in _PLAIN else _DECODERS[name](), LARGEST_CLIENT_BODY
    options = {"output_buffer_limit" if name == "br" else "max_length": LARGEST_CLIENT_BODY}
    read = getattr(made, "decompress", None) or getattr(made, "process", None)

    def take(chunk: bytes) -> bytes:
        nonlocal left
        try:
            plain = bytes(read(chunk, **options)) if read else chunk
        except _DAMAGED as error:
            raise ValueError(name) from error
        left -= len(plain)
        if left <= 0:
            raise ValueError("too much")
        return plain

    return take


@dataclass(frozen=True, slots=True)
class Body:
    """A request's JSON object, and the bytes it came in: ``head + b",".join(parts) + tail``.

    Each part is an item of the client's history. Without any the head has all of the bytes.
    """

    value: Mapping[str, Any]
    head: bytes
    parts: Sequence[bytes] = (b"",)
    tail: bytes = b""


def read_body(data: bytes, name: str, *, any_value: bool = False) -> Body:
    """Return a request's body with its list ``name`` in parts; empty if it is no JSON object.

    With ``any_value`` anything else than a list is the only part.
    """
    try:
        text = data.decode()
        value, cuts = _read_object(text, name)
        value = condense.well_formed_json(value)
    except (ValueError, RecursionError):
        return Body({}, data)
    if not (cuts and (any_value or isinstance(value[name], list))):
        return Body(value, data)
    parts = [text[start + 1 : end].encode() for start, end in itertools.pairwise(cuts)]
    return Body(value, text[: cuts[0] + 1].encode(), parts, text[cuts[-1] :].encode())


def _read_object(text: str, name: str) -> tuple[dict[str, Any], list[int]]:
    """Return an object, and the places of its list's opening bracket, commas and closing one."""
    value, cuts = dict[str, Any](), list[int]()

    def field(at: int) -> int:
        nonlocal cuts
        key, at = _value_at(text, at)
        at = _skip(text, at)
        if not isinstance(key, str) or text[at : at + 1] != ":":
            raise ValueError("no key")
        at = _skip(text, at + 1)
        if key == name:
            value[key], cuts = [], []
            if text[at : at + 1] == "[":
                cuts = _walk(text, at, "]", item)
                return cuts[-1] + 1 if cuts else _skip(text, at + 1) + 1
        start = at
        value[key], at = _value_at(text, at)
        cuts = [start - 1, at] if key == name else cuts
        return at

    def item(at: int) -> int:
        one, at = _value_at(text, at)
        value[name].append(one)
        return at

    start = _skip(text, 0)
    if text[start : start + 1] != "{":
        raise ValueError("no object")
    _walk(text, start, "}", field)
    return value, cuts


def _walk(text: str, at: int, end: str, read: Callable[[int], int]) -> list[int]:
    """Read all between two brackets; return their places and those of the commas, if any."""
    cuts, at = [at], _skip(text, at + 1)
    if text[at : at + 1] == end:
        return []
    while text[cuts[-1]] != end:
        at = _skip(text, read(_skip(text, cuts[-1] + 1)))
        if text[at : at + 1] not in {",", end}:
            raise ValueError("no end")
        cuts.append(at)
    return cuts


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
