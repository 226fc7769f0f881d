"""Files that are no text: images as the model takes them, the text of PDFs and office files."""

import base64
import contextlib
import io
import json
import math
import re
import signal
import subprocess
import sys
import zlib
from importlib.util import find_spec
from typing import Any

import condense
from chatapp.agent.errors import ToolError, Unreadable
from chatapp.tools import pdf_reader
from chatapp.tools.workspace import show_size
from condense import noop, say

# Bytes; providers take a third more, in base64.
MAX_IMAGE = 3_500_000
# Pixels a side: in requests with many images, vendors refuse larger ones, some at 2,000 already.
EDGE, MOST_PIXELS = 1_999, 64_000_000

# Characters that are read.
MAX_DOCUMENT_CHARS = 5_000_000
# Seconds of a processor that a document is worth.
PARSE_SECONDS = 20

# Characters of base64 that hold an image's type.
_BEGINNING = 32

# The main file in each kind of office file, and a program that reads one within limits.
_OFFICE = {"docx": b"word/document", "xlsx": b"xl/workbook", "pptx": b"ppt/presentation"}
_READER = f"""
import anytomd, html, io, re, resource, sys, zipfile
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, ({PARSE_SECONDS}, {PARSE_SECONDS}))
limits = dict(format=sys.argv[1], max_zip_bytes=100_000_000, ocr=False)
data = sys.stdin.buffer.read()
text = anytomd.convert(data, **limits).markdown
# It reads no notes and comments.
package = zipfile.ZipFile(io.BytesIO(data))
for name in ("footnotes", "endnotes", "comments"):
    if f"word/{{name}}.xml" in package.namelist():
        xml = package.open(f"word/{{name}}.xml").read({MAX_DOCUMENT_CHARS}).decode(errors="replace")
        said = ("".join(re.findall("<w:t(?: [^>]*)?>([^<]*)", one)) for one in xml.split("</w:p>"))
        text += "".join([f"\\n[{{name}}]", *(f"\\n{{html.unescape(one)}}" for one in said if one)])
print(text[:{MAX_DOCUMENT_CHARS} + 1], end="")
"""

# The reasons of the reader of PDFs.
_UNREADABLE = {
    "locked": noop("This PDF can't be read: it is locked with a password."),
    "damaged": noop("This PDF can't be read: it is damaged."),
    "empty": noop("This PDF holds no text, only pictures of pages."),
    "slow": noop("This PDF can't be read: its pages are too complicated."),
}

# Some programs leave a mark of byte order or an empty line before it.
_PDF = re.compile(rb"[\s\0\xef\xbb\xbf]*%PDF-")
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"


def image_of(data: bytes) -> condense.ImageBlock | None:
    """Return an image as a block, None for other data; raise ToolError if it is too large."""
    if image_type(data) is None:
        return None
    data = scaled(data)
    kind = str(image_type(data))
    if len(data) > MAX_IMAGE:
        size, most = show_size(len(data)), show_size(MAX_IMAGE)
        said = say("The image has {size}; images up to {most} can be shown.", size=size, most=most)
        raise ToolError(said)
    return as_image(kind, data)


def scaled(data: bytes) -> bytes:
    """Return an image scaled for requests with many images; unchanged if small or damaged."""
    size = condense.image_size(data) or (0, 0)
    if (max(size) <= EDGE and len(data) <= MAX_IMAGE) or math.prod(size) > MOST_PIXELS:
        return data
    from PIL import Image, ImageOps  # noqa: PLC0415 - only where there is a large image

    with contextlib.suppress(Exception), Image.open(io.BytesIO(data)) as image:
        image.thumbnail((EDGE, EDGE))
        upright = ImageOps.exif_transpose(image)
        for kind in (image.format, "JPEG"):
            written = io.BytesIO()
            (upright.convert("RGB") if kind == "JPEG" else upright).save(written, kind)
            if written.tell() <= MAX_IMAGE:
                return written.getvalue()
    return data


def as_image(kind: str, data: bytes) -> condense.ImageBlock:
    """Return the block of an image of this type."""
    encoded = base64.b64encode(data).decode()
    return condense.ImageBlock({"type": "base64", "media_type": kind, "data": encoded})


def image_type(data: bytes) -> str | None:
    """Return an image's type by its first bytes, None for other data; the name does not count."""
    if data.startswith(_PNG):
        return "image/png"
    if data.startswith(_JPEG):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else None


def is_whole(data: bytes) -> bool:
    """Return True if an image of a known type has its end, and a PNG intact checksums."""
    match image_type(data):
        case "image/png":
            at, name = len(_PNG), b""
            while name != b"IEND" and at + 12 <= len(data):
                end = at + 8 + int.from_bytes(data[at : at + 4])
                name = data[at + 4 : at + 8]
                if zlib.crc32(data[at + 4 : end]).to_bytes(4) != data[end : end + 4]:
                    return False
                at = end + 4
            return name == b"IEND"
        case "image/jpeg":
            return b"\xff\xd9" in data
        case "image/gif":
            return data.rstrip(b"\0").endswith(b";")
    return int.from_bytes(data[4:8], "little") + 8 <= len(data)


def is_image(image: condense.ImageBlock) -> bool:
    """Return True if an image's bytes are present and begin like an image."""
    data = image.source.get("data")
    begins = condense.ImageBlock({"data": data[:_BEGINNING]}) if isinstance(data, str) else image
    return bytes_of(begins) is not None


def bytes_of(image: condense.ImageBlock) -> tuple[str, bytes] | None:
    """Return an image's type, by its bytes, and the bytes; None if it has none."""
    data, found = image.source.get("data"), b""
    with contextlib.suppress(ValueError):
        found = base64.b64decode(data, validate=True) if isinstance(data, str) else b""
    kind = image_type(found)
    return (kind, found) if kind else None


def read_document(data: bytes) -> tuple[str, dict[str, object]] | None:
    """Return the text of a PDF or an office file, and facts about it; None for any other file."""
    if _PDF.match(data):
        text, pages = read_pdf(data)
        return text, {"pages": pages}
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise Unreadable("This file can't be read: it is locked with a password.", "locked")
    kind = next((kind for kind, part in _OFFICE.items() if part in data), "")
    if not kind or not data.startswith(b"PK"):
        return None
    done = _read_apart(data, "-c", _READER, kind)
    if done.returncode:
        raise Unreadable("This file can't be read: it is damaged.", "broken")
    return _cut(done.stdout.decode()), {}


def read_pdf(data: bytes) -> tuple[str, int]:
    """Return the text of a PDF, page by page, and its number of pages.

    Raises a ToolError with the reason if it can't be read.
    """
    if find_spec("pypdf") is None:
        raise ToolError(noop("This server can't read PDFs: pypdf is not installed."))
    done = _read_apart(data, pdf_reader.__file__, str(PARSE_SECONDS), str(MAX_DOCUMENT_CHARS))
    # Ended by the system, it has had its time.
    is_slow = done.returncode in {-signal.SIGXCPU, -signal.SIGKILL}
    ended = {"why": "slow" if is_slow else "damaged"}
    said: Any = ended if done.returncode else json.loads(done.stdout)
    if why := said.get("why"):
        raise Unreadable(_UNREADABLE[why], why)
    return _cut(said["text"]) + said["rest"], said["pages"]


def _cut(text: str) -> str:
    """Return a text, or as many characters as are read of one, and a line that says so."""
    rest = f"\n[Only the first {MAX_DOCUMENT_CHARS:,} characters.]"
    return text[:MAX_DOCUMENT_CHARS] + rest * (len(text) > MAX_DOCUMENT_CHARS)


def _read_apart(data: bytes, *program: str) -> subprocess.CompletedProcess[bytes]:
    """Return a reader's answer.

    It is a process of its own without the server's environment: a hostile file can break nothing
    else, and its memory ends with it.
    """
    reader = [sys.executable, "-I", "-X", "utf8", *program]
    return subprocess.run(reader, input=data, capture_output=True, check=False, env={})  # noqa: S603
