"""Files that are no text: images go to the model as images, of a PDF its text."""

import base64
from pathlib import Path

import pytest

import condense
from chatapp.agent.errors import ToolError
from chatapp.agent.ports import ToolOutcome
from chatapp.tools import WorkspaceToolbox
from chatapp.tools.documents import EDGE, MAX_IMAGE, read_pdf
from chatapp.tools.pdf_reader import MAX_PAGES
from tests.chatapp.pictures import make_png
from tests.chatapp.tools.pdf_files import make_pdf

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


async def test_an_image_is_given_as_an_image(folder: Path) -> None:
    """By what it is, whatever its name says."""
    for data, kind in (
        (PNG, "image/png"), (b"\xff\xd8\xff\xe0more", "image/jpeg"), (b"GIF89a..", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ):  # fmt: skip
        (folder / "picture.txt").write_bytes(data)
        outcome = await WorkspaceToolbox(folder).run("read_file", {"path": "picture.txt"})
        (image,) = outcome.images
        encoded = base64.b64encode(data).decode()
        assert image.source == {"type": "base64", "media_type": kind, "data": encoded}
        result = outcome.answer(condense.ToolUseBlock("1", "read_file", {}))
        assert result.content == (condense.TextBlock(outcome.text), image)


async def test_a_large_image_is_scaled(folder: Path) -> None:
    """Providers take smaller ones in a request with many."""
    pytest.importorskip("PIL")
    (folder / "a.png").write_bytes(make_png(3 * EDGE, EDGE))
    (image,) = (await WorkspaceToolbox(folder).run("read_file", {"path": "a.png"})).images
    assert condense.image_size(base64.b64decode(image.source["data"])) == (EDGE, round(EDGE / 3))


async def test_an_image_that_no_provider_takes_is_refused(folder: Path) -> None:
    """Before a request fails by it."""
    (folder / "a.png").write_bytes(PNG + bytes(MAX_IMAGE))
    outcome = await WorkspaceToolbox(folder).run("read_file", {"path": "a.png"})
    assert outcome.is_error
    assert "images up to 4 MB can be shown" in outcome.text


async def test_a_pdf_is_read_page_by_page(folder: Path) -> None:
    """Its text has numbered lines, as any other."""
    pytest.importorskip("pypdf")
    (folder / "a.pdf").write_bytes(make_pdf("Hello there", "Second page"))
    outcome = await WorkspaceToolbox(folder).run("read_file", {"path": "a.pdf"})
    words = ("1\t[Page 1]", "2\tHello there", "3\t[Page 2]", "4\tSecond page")
    assert outcome == ToolOutcome("\n".join(f"     {line}" for line in words))


@pytest.mark.rare
def test_the_pages_of_a_pdf_that_are_not_read_are_named() -> None:
    """Nobody takes the first pages for all."""
    pytest.importorskip("pypdf")
    text, pages = read_pdf(make_pdf(*["x"] * (MAX_PAGES + 1)))
    assert pages == MAX_PAGES + 1
    assert text.endswith("[Page 500]\nx\n[Only the first 500 of 501 pages.]")


def test_a_pdf_without_text_is_refused_in_words() -> None:
    """Damaged, or only pictures."""
    for data in (b"%PDF-1.4\nnonsense", make_pdf(""), make_pdf("x")[:200]):
        pytest.importorskip("pypdf")
        with pytest.raises(ToolError, match="This PDF"):
            read_pdf(data)
