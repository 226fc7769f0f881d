"""Tokens of images and documents in a prompt, by the rules that Anthropic publishes."""

import base64
import math
import re
import struct
from contextlib import suppress
from typing import NamedTuple

from condense.messages import Json

# Tokens of an image whose size is unknown, as in Roo Code.
UNKNOWN_IMAGE = 300
# Anthropic's vision guide: an image takes one token per patch of 28 by 28 pixels, and is scaled
# down first until its longer edge (pixels) and its tokens are within these limits.
PATCH, MAX_EDGE, MAX_TOKENS = 28, 2_576, 4_784
# Anthropic's PDF guide: 1,500 to 3,000 tokens of text per page, and an image of each page.
TOKENS_PER_PAGE = 3_000
# Bytes of a file that are looked at for its size: camera metadata stand before a JPEG's.
_HEAD = 262_144

_PAGE_OBJECT = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
# JPEG's frame headers, which carry the size: C0 to CF without DHT, JPG and DAC.
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


class Size(NamedTuple):
    """Width and height in pixels."""

    width: int
    height: int


def count_image(source: Json) -> int:
    """Return the tokens of an image from the API's ``source`` object."""
    size = image_size(_decode(source, _HEAD))
    return UNKNOWN_IMAGE if size is None else image_tokens(size)


def image_tokens(size: Size) -> int:
    """Return the tokens of an image of this size, scaled down if it is too large."""
    scale = min(1.0, MAX_EDGE / max(size))
    while True:
        tokens = math.prod(max(1, math.ceil(edge * scale / PATCH)) for edge in size)
        if tokens <= MAX_TOKENS:
            return tokens
        # Rounding up to whole patches can leave one too many, so shrink a little further.
        scale *= min(0.999, math.sqrt(MAX_TOKENS / tokens))


def count_pdf(source: Json) -> int:
    """Return the tokens of a PDF from its pages; one that hides them counts as one page."""
    return TOKENS_PER_PAGE * max(1, len(_PAGE_OBJECT.findall(_decode(source))))


def _decode(source: Json, size: int | None = None) -> bytes:
    """Return the beginning of base64 data, empty if it can't be read."""
    data = source.get("data")
    if not isinstance(data, str):
        return b""
    whole = len(data) if size is None else size * 4 // 3
    with suppress(ValueError):
        return base64.b64decode(data[: whole // 4 * 4])
    return b""


def image_size(data: bytes) -> Size | None:
    """Return a PNG's, GIF's, WebP's or JPEG's size from its first bytes, None for others."""
    size: Size | None = None
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            size = Size(*struct.unpack_from(">II", data, 16))
        elif data.startswith((b"GIF87a", b"GIF89a")):
            size = Size(*struct.unpack_from("<HH", data, 6))
        elif data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            size = _webp_size(data)
        elif data.startswith(b"\xff\xd8"):
            size = _jpeg_size(data)
    except (struct.error, IndexError):
        return None
    return size if size and min(size) > 0 else None


def _webp_size(data: bytes) -> Size | None:
    """Read the size from the first chunk: lossy, lossless or extended."""
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", data, 26)
            return Size(width & 0x3FFF, height & 0x3FFF)
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            return Size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8X":
            edges = [int.from_bytes(data[at : at + 3], "little") for at in (24, 27)]
            return Size(*(edge + 1 for edge in edges)) if len(data) >= 30 else None  # noqa: PLR2004
    return None


def _jpeg_size(data: bytes) -> Size | None:
    """Walk from segment to segment to the frame header."""
    at = 2
    while data[at] == 0xFF:  # noqa: PLR2004 - every marker begins with it
        marker = data[at + 1]
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return Size(width, height)
        at += 2 + int(struct.unpack_from(">H", data, at + 2)[0])
    return None
