"""Counting tokens: exact, cached, and without any dependency or network."""

import base64
import subprocess
import sys
from typing import Any

import pytest

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
    TokenCount,
    count_message,
    count_tools,
)


class Recorder:
    """A counter that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Content] = []

    def count(self, content: Content) -> int:
        """Count one token for each question."""
        self.asked.append(content)
        return len(self.asked)


def test_text_of_special_tokens_is_ordinary_text() -> None:
    """Nobody can end the model's turn from within a message."""
    assert TiktokenCounter(factor=1).count("<|endoftext|>") > 1


def test_a_long_run_of_one_character_is_counted_quickly() -> None:
    """No quadratic case that a hostile message could use; half a million take a moment."""
    assert TiktokenCounter().count("a" * 500_000) > 0


def test_text_that_is_not_valid_unicode_is_counted() -> None:
    """A tool may print half a surrogate pair."""
    assert TiktokenCounter().count("\ud83d") > 0


TEXT = "The quick brown fox jumps over the lazy dog."
WORDS = 10  # tokens of TEXT


def test_a_text_takes_its_tokens_and_no_frame() -> None:
    """As the system prompt does, which is one text."""
    assert PromptCounter().count(TEXT) == WORDS
    assert PromptCounter().count("") == PromptCounter().count(()) == 0


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
        (opaque(type="document", source={"type": "text", "data": TEXT}), FRAME + WORDS),
    ],
)
def test_every_kind_of_block_takes_what_the_model_reads_of_it(block: Any, tokens: int) -> None:
    """Ids, signatures and base64 are not read."""
    assert PromptCounter().count((block,)) == tokens


def test_a_pdf_takes_its_pages() -> None:
    """Each is read as text and as an image."""
    data = base64.b64encode(b"%PDF-1.7 /Type /Pages /Type /Page /Type/Page").decode()
    pdf = opaque(type="document", source={"type": "base64", "data": data})
    assert PromptCounter().count((pdf,)) == FRAME + 6_000


def test_a_block_of_an_unknown_kind_is_counted_by_what_it_says() -> None:
    """A server's tool may have found a lot; only encrypted data say nothing."""
    small = opaque(type="search", text="", encrypted_content="A" * 5_000)
    large = opaque(type="search", text=TEXT * 20, encrypted_content="A" * 5_000)
    assert PromptCounter().count((small,)) < 20
    assert PromptCounter().count((large,)) >= 20 * (WORDS - 1)


def test_each_tool_is_counted_with_its_frame() -> None:
    """Name, description and schema, as JSON."""
    tool = {"name": "read_file", "description": TEXT, "input_schema": {"type": "object"}}
    one = count_tools([tool], PromptCounter())
    assert one > TOOL_FRAME + WORDS
    assert count_tools([tool, tool], PromptCounter()) == 2 * one
    assert count_tools([], PromptCounter()) == 0


def test_the_light_counter_takes_four_characters_for_a_token() -> None:
    """Rounded up, over all blocks together."""
    counter = CharacterCounter()
    assert counter.count("") == 0
    assert counter.count("12345") == 2
    assert counter.count((TextBlock("12"), TextBlock("34"))) == 1
    assert counter.count((ImageBlock({"type": "url", "url": "x"}),)) == 300
    assert counter.count((ToolUseBlock("a", "read", {"path": "x"}), ToolResultBlock("a"))) > 5


def test_a_cached_counter_asks_once_for_equal_content() -> None:
    """Also when the content is another object, as after a database query."""
    inner = Recorder()
    counter = CachedCounter(inner)
    asked = [(TextBlock("a"), ToolUseBlock("x", "read", {"p": object})), "a", (TextBlock("a"),)]
    first = [counter.count(content) for content in asked]
    again = [counter.count(content) for content in (tuple(asked[0]), "a", (TextBlock("a"),))]
    assert first == again == [1, 2, 3]


def test_a_cached_counter_forgets_what_was_not_asked_for_longest() -> None:
    """Memory stays bounded."""
    inner = Recorder()
    counter = CachedCounter(inner, size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        counter.count(text)
    assert inner.asked == ["a", "b", "c", "b"]


def test_a_message_that_knows_its_tokens_is_not_counted() -> None:
    """What a provider reported is better than an estimate."""
    inner = Recorder()
    assert count_message(Message("user", "a", tokens=7), inner) == 7
    assert count_message(Message("user", "a", tokens=0), inner) == 0
    assert inner.asked == []
    assert count_message(Message("user", "a"), inner) == 1


def test_a_sum_is_measured_only_where_both_parts_are() -> None:
    """One estimate makes the sum an estimate."""
    measured, estimated = TokenCount(5, measured=True), TokenCount(2)
    assert measured + measured == TokenCount(10, measured=True)
    assert measured + estimated == TokenCount(7, measured=False)


def test_importing_the_counters_loads_no_tokenizer() -> None:
    """The first count pays for it, not the start of the program."""
    code = "import condense.tokens, sys; sys.exit('tiktoken' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
