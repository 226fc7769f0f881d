"""Images, made as their formats have them."""

import struct
import zlib


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def make_png(width: int = 3, height: int = 2, colour: bytes = b"\x40\x80\xc0") -> bytes:
    """Return a PNG of one colour."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + colour * width) * height)
    parts = ((b"IHDR", head), (b"IDAT", rows), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)


def make_jpeg(width: int = 3, height: int = 2) -> bytes:
    """Return a JPEG's outer parts: as much of one as is looked at."""
    frame = struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8\xff\xc0" + frame + b"\xff\xda\x00\x02data\xff\xd9"


def make_gif(width: int = 3, height: int = 2) -> bytes:
    """Return a GIF's outer parts."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def make_webp(width: int = 3, height: int = 2) -> bytes:
    """Return a WebP's outer parts."""
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBPVP8X" + struct.pack("<I", 10) + b"\0\0\0\0" + sizes
    return b"RIFF" + struct.pack("<I", len(body)) + body
