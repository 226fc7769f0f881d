"""What a file becomes in a message, and what is refused."""

import base64
import io
import re
import resource
from collections.abc import Callable
from functools import partial
from typing import Any

import pypdf
import pytest
from PIL import Image

import condense
from chatapp.conversations.composer import attachments
from chatapp.conversations.composer.attachments import block_for
from chatapp.models.errors import Refused
from chatapp.tools import documents
from tests.chatapp.pictures import make_gif, make_jpeg, make_png, make_webp
from tests.chatapp.tools.pdf_files import make_endless, make_pdf


def locked_pdf() -> bytes:
    """Return a PDF that opens with a password only."""
    writer, data = pypdf.PdfWriter(io.BytesIO(make_pdf("Secret"))), io.BytesIO()
    writer.encrypt("open sesame", algorithm="AES-256")
    writer.write(data)
    return data.getvalue()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (make_png(), "image/png"), (make_jpeg(), "image/jpeg"), (make_gif(), "image/gif"),
        (make_webp(), "image/webp"), (make_png() + b"more than its end", "image/png"),
    ],
    ids=["png", "jpeg", "gif", "webp", "more"],
)  # fmt: skip
def test_an_image_is_an_image_whatever_its_name_says(data: bytes, kind: str) -> None:
    """Its type, its size and its pixels are told from its bytes."""
    source = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode()}
    said = {"kind": "image", "name": "notes.txt", "size": len(data), "width": 3, "height": 2}
    assert block_for("notes.txt", data).to_api() == {
        "type": "image",
        "source": source,
        "beside": said,
    }


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfa\r\nb\r", "a\nb\n"), ("größe".encode("utf-16"), "größe"),
        (b"\x1b[1mbold", "\x1b[1mbold"),
    ],
    ids=["utf-8", "utf-16", "terminal"],
)  # fmt: skip
def test_text_is_text_in_whichever_encoding(data: bytes, text: str) -> None:
    """The model reads it between two tags that name it."""
    block = block_for("a.txt", data)
    assert isinstance(block, condense.TextBlock)
    assert block.text == f'<file name="a.txt">\n{text}\n</file>'


def test_a_pdf_is_its_text_with_the_number_of_its_pages() -> None:
    """Page by page, as the tool reads it."""
    block = block_for("a.pdf", make_pdf("First words", "Second words"))
    assert isinstance(block, condense.TextBlock)
    assert "[Page 1]\nFirst words\n[Page 2]\nSecond words" in block.text
    assert condense.beside_of(block)["pages"] == 2


@pytest.mark.rare
def test_a_pdf_is_worth_some_seconds_within_a_page_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may have made one whose only page takes days; it takes them from nobody else."""
    monkeypatch.setattr(documents, "PARSE_SECONDS", 1)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with pytest.raises(Refused, match="takes too long to read"):
        block_for("a.pdf", make_endless())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert round(sum(after[:2]) - sum(before[:2])) == documents.PARSE_SECONDS


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.txt", b" \n\t", "“a.txt” is empty."),
        ("a.txt", "\u200b\u2060".encode(), "“a.txt” is empty."),
        ("a.exe", b"MZ\x00\x01\x02", "Save it as PNG, PDF, .docx, .xlsx, .pptx or text."),
        ("a.png", make_png().replace(b"IDAT", b"IDAX"), "“a.png” is a damaged image."),
        ("a.jpg", make_jpeg()[:-2], "is a damaged image."),
        ("a.gif", make_gif()[:-1], "is a damaged image."),
        ("a.webp", make_webp()[:-4], "is a damaged image."),
        ("a.png", b"\x89PNG\r\n\x1a\n", "is a damaged image."),
        ("a.png", make_png(8_001, 1), "has 8,001 by 1 pixels. Models take up to 8,000 a side."),
        ("a.gif", make_gif()[:-1] + bytes(3_500_000) + b";", "up to 3.3 MB can be sent"),
        ("a.pdf", b"%PDF-1.4\nnonsense", "“a.pdf” is a damaged PDF."),
        ("a.pdf", make_pdf(""), "has no text, only pictures of pages"),
        ("a.pdf", locked_pdf(), "is locked with a password"),
        ("a.txt", b"x" * 500_001, "it has 500,001 characters, and a message can have 500,000"),
    ],
)  # fmt: skip
def test_what_no_model_could_read_is_refused_in_words(name: str, data: bytes, reason: str) -> None:
    """Before anything is sent, with what to do where there is something."""
    with pytest.raises(Refused, match=re.escape(reason)):
        block_for(name, data)


def test_what_is_just_as_large_as_it_may_be_is_taken() -> None:
    """Its last pixel, and its last character."""
    assert isinstance(block_for("a.png", make_png(8_000, 1)), condense.ImageBlock)
    assert isinstance(block_for("a.txt", b"x" * 500_000), condense.TextBlock)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "passwd"), ("C:\\Users\\me\\a.txt", "a.txt"), ("", "File"),
        ("x" * 300 + ".py", "x" * 116 + "….py"), ("/", "File"), (" a\tb \x07.md", "a b .md"),
        ("a\u202egpj.exe", "a gpj.exe"),
        ("<img src=x>.txt", "<img src=x>.txt"),
    ],
)  # fmt: skip
def test_a_hostile_name_stays_one_short_line_of_words(name: str, kept: str) -> None:
    """No folders, nothing that can't be seen, nothing that turns the text around."""
    assert attachments.clean_name(name) == kept


def noise(width: int, height: int, kind: str, **more: Any) -> bytes:
    """Return an image in which nothing repeats, as a camera makes it."""
    drawn = Image.effect_noise((width, height), 90).convert("RGB")
    written = io.BytesIO()
    drawn.save(written, kind, **more)
    return written.getvalue()


TURNED = Image.Exif()
TURNED[274] = 6


@pytest.mark.parametrize(
    ("draw", "kind", "size"),
    [
        (partial(make_png, 2_400, 60), "image/png", (1_999, 50)),
        (partial(make_png, 60, 2_000), "image/png", (60, 1_999)),
        (partial(make_png, 1_999, 60), "image/png", (1_999, 60)),
        (partial(noise, 2_200, 1_100, "JPEG", exif=TURNED), "image/jpeg", (1_000, 1_999)),
        (partial(noise, 1_400, 1_400, "PNG"), "image/jpeg", (1_400, 1_400)),
        (partial(make_gif, 2_400, 60), "image/gif", (2_400, 60)),
    ],
    ids=["wide", "high", "as it is", "turned", "many bytes", "unreadable"],
)
def test_a_large_image_is_scaled_as_it_is_attached(
    draw: Callable[[], bytes], kind: str, size: tuple[int, int]
) -> None:
    """The right way up, in its own format where that is small enough, and no other is touched."""
    data = draw()
    block = block_for("photo.png", data)
    assert isinstance(block, condense.ImageBlock)
    kept = base64.b64decode(block.source["data"])
    assert (block.source["media_type"], condense.image_size(kept)) == (kind, size)
    assert len(kept) <= documents.MAX_IMAGE
    shown = documents.image_of(data)
    assert shown is not None
    assert shown.source == block.source
