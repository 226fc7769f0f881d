"""Files that are no text: images as the model takes them, and the text of PDFs."""

import base64
import io
import logging

import condense
from chatapp.agent.errors import ToolError
from chatapp.tools.workspace import show_size

# Bytes; what providers take is a third more, in base64.
MAX_IMAGE = 3_500_000

# Pages that are read, and characters in all.
MAX_PAGES = 500
MAX_TEXT = 5_000_000

_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"


def image_of(data: bytes) -> condense.ImageBlock | None:
    """Return an image as a block, None for what is none; raise ToolError where it is too large."""
    kind = _image_type(data)
    if kind is None:
        return None
    if len(data) > MAX_IMAGE:
        most = show_size(MAX_IMAGE)
        raise ToolError(f"The image has {show_size(len(data))}; images up to {most} can be shown.")
    encoded = base64.b64encode(data).decode()
    return condense.ImageBlock({"type": "base64", "media_type": kind, "data": encoded})


def _image_type(data: bytes) -> str | None:
    """Return the type that a file's first bytes tell, whatever its name says."""
    if data.startswith(_PNG):
        return "image/png"
    if data.startswith(_JPEG):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else None


def is_pdf(data: bytes) -> bool:
    """Whether a file says that it is a PDF."""
    return data.startswith(b"%PDF-")


def pdf_text(data: bytes) -> str:
    """Return the text of a PDF, page by page; raise ToolError where it has none."""
    try:
        import pypdf  # noqa: PLC0415 - only where there is a PDF
    except ImportError as error:
        raise ToolError("This server can't read PDFs: pypdf is not installed.") from error
    # It warns of what it mends, which helps nobody here.
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        pages = pypdf.PdfReader(io.BytesIO(data)).pages
        texts = [page.extract_text() for page in pages[:MAX_PAGES]]
    except Exception as error:
        raise ToolError("This PDF can't be read: it is damaged, or locked.") from error
    if not any(text.strip() for text in texts):
        raise ToolError("This PDF holds no text, only pictures of pages.")
    named = (f"[Page {number}]\n{text}" for number, text in enumerate(texts, start=1))
    return "\n".join(named)[:MAX_TEXT]
