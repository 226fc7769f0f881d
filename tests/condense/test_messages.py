"""Messages and blocks survive a round trip through the API's JSON."""

from typing import Any

import pytest

from condense.errors import InvalidMessage
from condense.messages import (
    BESIDE,
    ImageBlock,
    Message,
    OpaqueBlock,
    Tags,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    beside_of,
    block_from_api,
)

BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}},
    {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}},
    {"type": "tool_result", "tool_use_id": "a", "content": "done", "is_error": True},
    {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "done"}]},
    {"type": "tool_result", "tool_use_id": "a"},
    {"type": "thinking", "thinking": "hm", "signature": "s"},
    {"type": "tool_use", "id": "a", "name": "read"},
    {"type": "tool_result", "tool_use_id": "a", "content": ["not a block"]},
    {},
]


@pytest.mark.parametrize("data", BLOCKS)
def test_a_block_comes_back_as_it_was_given(data: dict[str, Any]) -> None:
    """Known keys, unknown keys and types; a malformed block passes through, without a rule."""
    made = block_from_api(data)
    assert made.to_api() == data
    assert isinstance(made, OpaqueBlock) == (data in BLOCKS[6:])


@pytest.mark.parametrize(
    "data",
    [{}, {"role": "system"}, {"role": "user", "content": None}, {"role": "user", "content": [1]}],
)
def test_what_is_no_message_is_refused_with_a_sentence(data: dict[str, Any]) -> None:
    """The role and the content have one of two shapes."""
    with pytest.raises(InvalidMessage, match=r"\.$"):
        Message.from_api(data)


@pytest.mark.parametrize(
    ("tags", "in_force"),
    [
        (Tags(), False),
        (Tags(condense_id="c"), True),
        (Tags(truncation_id="t"), True),
        (Tags(condense_id="c", condense_parent="later"), True),
        (Tags(condense_id="c", undone=True), False),
        (Tags(truncation_id="t", rewind_parent="r"), False),
    ],
)
def test_a_summary_or_marker_is_in_force_until_undone_or_rewound(
    tags: Tags, in_force: bool
) -> None:
    """Also while a later summary hides it."""
    assert Message("user", "x", tags=tags).in_force is in_force


def test_words_text_and_tools_of_a_message_are_told_apart() -> None:
    """Files and images are text that a model reads, and no words; tools are read apart."""
    file = TextBlock("<file>…</file>", {BESIDE: {"kind": "file", "name": "a.txt"}})
    image = ImageBlock({"type": "url"}, {BESIDE: {"kind": "image", "name": "a.png"}})
    message = Message("user", (TextBlock("Look"), file, image, TextBlock("and see")))
    assert message.words == "Look\nand see"
    assert message.text == "Look\n<file>…</file>\nand see"
    names = [beside_of(block).get("name") for block in message.blocks]
    assert names == [None, "a.txt", "a.png", None]
    assert Message.from_api(message.to_api()).content == message.content
    assert beside_of(TextBlock("x", {BESIDE: "nonsense"})) == {}
    use, result = ToolUseBlock("a", "read", {}), ToolResultBlock("a", "done")
    message = Message("user", (TextBlock("one"), use, result, ImageBlock({}), TextBlock("two")))
    assert message.text == "one\ntwo"
    assert (message.tool_uses, message.tool_results) == ((use,), (result,))
    assert Message("user", "hi").blocks == (TextBlock("hi"),)
    message = Message("user", "long", tokens=99, seq=4)
    changed = message.with_content("short")
    assert (changed.content, changed.tokens, changed.id) == ("short", None, message.id)
