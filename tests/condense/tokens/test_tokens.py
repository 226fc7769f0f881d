"""Counting tokens: exact, cached, and without any dependency or network."""

import base64
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from condense.messages import (
    Content,
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    block_from_api,
)
from condense.tokens.counters import (
    FRAME,
    TOOL_FRAME,
    CachedCounter,
    CharacterCounter,
    PromptCounter,
    TiktokenCounter,
    count_message,
    count_tools,
)
from condense.tokens.images import (
    MAX_TOKENS,
    Size,
    count_image,
    count_pdf,
    image_size,
    image_tokens,
)


class Recorder:
    """A counter that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Content] = []

    def count(self, content: Content) -> int:
        """Count one token for each question."""
        self.asked.append(content)
        return len(self.asked)


def test_a_text_takes_its_tokens_and_a_tool_its_frame() -> None:
    """Special tokens are ordinary text; a tool has a frame, and its name and schema."""
    assert TiktokenCounter(factor=1).count("<|endoftext|>") > 1
    assert PromptCounter().count(TEXT) == WORDS
    assert PromptCounter().count("") == PromptCounter().count(()) == 0
    tool = {"name": "read_file", "description": TEXT, "input_schema": {"type": "object"}}
    one = count_tools([tool], PromptCounter())
    assert one > TOOL_FRAME + WORDS
    assert count_tools([tool, tool], PromptCounter()) == 2 * one
    assert count_tools([], PromptCounter()) == 0


TEXT = "The quick brown fox jumps over the lazy dog."
WORDS = 10  # tokens of TEXT


def opaque(**data: Any) -> OpaqueBlock:
    """Return a block the engine has no type for."""
    block = block_from_api(data)
    assert isinstance(block, OpaqueBlock)
    return block


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        (TextBlock(TEXT), FRAME + WORDS),
        (ToolUseBlock("toolu_1", "read_file", {"path": "a.py"}), TOOL_FRAME + 8),
        (ToolResultBlock("toolu_1", TEXT), TOOL_FRAME + WORDS),
        (ToolResultBlock("toolu_1"), TOOL_FRAME),
        (ToolResultBlock("toolu_1", (TextBlock(TEXT),)), TOOL_FRAME + FRAME + WORDS),
        (
            ToolResultBlock("toolu_1", (ImageBlock({"type": "url", "url": "u"}),)),
            TOOL_FRAME + FRAME + 300,
        ),
        (ImageBlock({"type": "url", "url": "https://example.org/a.png"}), FRAME + 300),
        (opaque(type="thinking", thinking=TEXT, signature="c2ln" * 99), FRAME + WORDS),
        (opaque(type="thinking", thinking=TEXT, beside={"seconds": 12}), FRAME + WORDS),
        (opaque(type="document", source={"type": "text", "data": TEXT}), FRAME + WORDS),
    ],
)
def test_every_kind_of_block_takes_what_the_model_reads_of_it(block: Any, tokens: int) -> None:
    """Ids, signatures and base64 are not read."""
    assert PromptCounter().count((block,)) == tokens


def test_a_pdf_takes_its_pages() -> None:
    """Each as text and as an image; what has no type counts by what it says."""
    data = base64.b64encode(b"%PDF-1.7 /Type /Pages /Type /Page /Type/Page").decode()
    pdf = opaque(type="document", source={"type": "base64", "data": data})
    assert PromptCounter().count((pdf,)) == FRAME + 6_000
    # Compressed ones do not show how many they have.
    assert count_pdf({"data": base64.b64encode(b"%PDF-1.7").decode()}) == 3_000
    assert count_pdf({}) == 3_000
    unread = {"encrypted_content": "A" * 5_000, "beside": {"kind": "recalled", "text": TEXT * 20}}
    small = opaque(type="search", text="", **unread)
    large = opaque(type="search", text=TEXT * 20, encrypted_content="A" * 5_000)
    assert PromptCounter().count((small,)) < 20
    assert PromptCounter().count((large,)) >= 20 * (WORDS - 1)


def test_the_light_counter_takes_four_characters_for_a_token() -> None:
    """Rounded up, over all blocks together."""
    counter = CharacterCounter()
    assert counter.count("") == 0
    assert counter.count("12345") == 2
    assert counter.count((TextBlock("12"), TextBlock("34"))) == 1
    assert counter.count((ImageBlock({"type": "url", "url": "x"}),)) == 300
    assert counter.count((ToolUseBlock("a", "read", {"path": "x"}), ToolResultBlock("a"))) > 5


def test_a_cached_counter_asks_once_for_equal_content() -> None:
    """Also of another object; what was not asked for longest goes, what is known isn't asked."""
    inner = Recorder()
    counter = CachedCounter(inner)
    asked = [(TextBlock("a"), ToolUseBlock("x", "read", {"p": object})), "a", (TextBlock("a"),)]
    first = [counter.count(content) for content in asked]
    again = [counter.count(content) for content in (tuple(asked[0]), "a", (TextBlock("a"),))]
    assert first == again == [1, 2, 3]
    inner = Recorder()
    counter = CachedCounter(inner, size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        counter.count(text)
    assert inner.asked == ["a", "b", "c", "b"]
    inner = Recorder()
    assert count_message(Message("user", "a", tokens=7), inner) == 7
    assert count_message(Message("user", "a", tokens=0), inner) == 0
    assert inner.asked == []
    assert count_message(Message("user", "a"), inner) == 1


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
    """In all four formats that the API takes; one that breaks off has none."""
    assert image_size(data) == Size(800, 600)
    assert [image_size(data[:end]) for end in range(len(data))] == [None] * len(data)


@given(st.binary(max_size=80), st.sampled_from([*IMAGES.values()]))
def test_no_bytes_are_too_strange(data: bytes, start: bytes) -> None:
    """Whatever follows, the answer is a size or None."""
    for image in (data, start[:4] + data, start[:12] + data, start[:16] + data):
        size = image_size(image)
        assert size is None or min(size) > 0


@pytest.mark.parametrize(
    ("width", "height", "tokens"), [(28, 28, 1), (200, 200, 64), (1_092, 1_092, 1_521)]
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
