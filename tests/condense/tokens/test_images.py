"""An image's size is read from its first bytes, and its tokens follow from the size."""

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from condense.tokens.images import (
    MAX_TOKENS,
    Size,
    count_image,
    count_pdf,
    image_size,
    image_tokens,
)

JPEG = (
    b"\xff\xd8\xff\xe0\x00\x04ab"  # a segment that says nothing of the size
    b"\xff\xc4\x00\x04ab"  # Huffman tables, numbered like a frame
    b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", 600, 800)
)
IMAGES = {
    "png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 800, 600),
    "gif": b"GIF89a" + struct.pack("<HH", 800, 600),
    "jpeg": JPEG,
    "webp, lossy": b"RIFF\0\0\0\0WEBPVP8 " + bytes(10) + struct.pack("<HH", 800, 600),
    "webp, lossless": b"RIFF\0\0\0\0WEBPVP8L" + bytes(5) + struct.pack("<I", 599 << 14 | 799),
    "webp, extended": b"RIFF\0\0\0\0WEBPVP8X"
    + bytes(8)
    + (799).to_bytes(3, "little")
    + (599).to_bytes(3, "little"),
}


@pytest.mark.parametrize("data", IMAGES.values(), ids=IMAGES.keys())
def test_the_size_stands_in_the_first_bytes(data: bytes) -> None:
    """In all four formats that the API takes."""
    assert image_size(data) == Size(800, 600)


@pytest.mark.parametrize("data", IMAGES.values(), ids=IMAGES.keys())
def test_an_image_that_breaks_off_has_no_size(data: bytes) -> None:
    """Wherever it breaks off; nothing is raised."""
    assert [image_size(data[:end]) for end in range(len(data))] == [None] * len(data)


@given(st.binary(max_size=80), st.sampled_from([*IMAGES.values()]))
def test_no_bytes_are_too_strange(data: bytes, start: bytes) -> None:
    """Whatever follows, the answer is a size or None."""
    for image in (data, start[:4] + data, start[:12] + data, start[:16] + data):
        size = image_size(image)
        assert size is None or min(size) > 0


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [(1, 1, 1), (28, 28, 1), (200, 200, 64), (1_000, 1_000, 1_296), (1_092, 1_092, 1_521)],
)
def test_an_image_takes_a_token_for_each_patch(width: int, height: int, tokens: int) -> None:
    """Anthropic's table: 28 by 28 pixels each."""
    assert image_tokens(Size(width, height)) == tokens


@given(st.integers(1, 100_000), st.integers(1, 100_000))
def test_no_image_takes_more_than_the_limit(width: int, height: int) -> None:
    """A larger one is scaled down first; a square one comes close to the limit."""
    assert 1 <= image_tokens(Size(width, height)) <= MAX_TOKENS
    side = max(width, height, 2_000)
    assert image_tokens(Size(side, side)) > 0.97 * MAX_TOKENS


def test_an_image_is_counted_by_its_size_where_that_is_known() -> None:
    """Else it takes 300 tokens: an address, an unknown format, data that are none."""
    data = base64.b64encode(IMAGES["png"]).decode()
    assert count_image({"type": "base64", "data": data}) == 29 * 22
    for source in ({"url": "x"}, {"data": "AAAA"}, {"data": "\u00e9"}, {"data": "AAAA=AAA"}):
        assert count_image(source) == 300


def test_a_pdf_without_visible_pages_counts_as_one() -> None:
    """Compressed ones do not show how many they have."""
    assert count_pdf({"data": base64.b64encode(b"%PDF-1.7").decode()}) == 3_000
    assert count_pdf({}) == 3_000
