"""What is sent is what the Messages API accepts."""

import json
import math
from typing import Any

import pytest

from condense.messages import (
    Block,
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from condense.requests.request import (
    IMAGE_TEXT,
    INTERRUPTED,
    OPENING,
    merge_consecutive,
    repair_tool_pairs,
    shape_request,
)
from condense.requests.tools_as_text import tool_use_to_text
from tests.condense.api_rules import assert_valid_request
from tests.growth import LINEAR, assert_cheap

IMAGE = ImageBlock({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="})


def user(*content: Block) -> Message:
    """Return a user message."""
    return Message("user", content)


def reply(*content: Block) -> Message:
    """Return a reply."""
    return Message("assistant", content)


def use(id_: str = "x", input_: Any = None) -> ToolUseBlock:
    """Return a tool call."""
    return ToolUseBlock(id_, "read", {} if input_ is None else input_)


def result(id_: str = "x", content: Any = "done", *, is_error: bool = False) -> ToolResultBlock:
    """Return a tool result."""
    return ToolResultBlock(id_, content, is_error)


def sent(*messages: Message, supports_images: bool = True) -> list[dict[str, Any]]:
    """Return a valid request's messages as JSON."""
    request = [m.to_api() for m in shape_request(messages, supports_images=supports_images)]
    assert_valid_request(request)
    return request


GO = user(TextBlock("go"))


def test_a_valid_request_is_sent_as_it_is() -> None:
    """The very same messages, so nothing is copied or reordered, however deep a call is."""
    messages = (GO, reply(TextBlock("ok"), use()), user(result()), reply(TextBlock("done")))
    assert all(a is b for a, b in zip(shape_request(messages), messages, strict=True))
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    assert shape_request((GO, reply(use(input_={"a": deep}))))[1].tool_uses[0].input == {"a": deep}


def test_a_call_without_a_result_is_answered_in_the_next_message() -> None:
    """As an error that says what is known; what is sound stays."""
    request = sent(GO, reply(use("a"), use("b")), user(TextBlock("stop"), result("b")))
    assert [block["type"] for block in request[2]["content"]] == ["tool_result"] * 2 + ["text"]
    assert [block["content"] for block in request[2]["content"][:2]] == [INTERRUPTED, "done"]
    assert sent(GO, reply(use()))[-1]["content"][0]["content"] == INTERRUPTED
    (missing,) = repair_tool_pairs((GO, reply(use())))[-1].tool_results
    assert missing.is_error
    assert "interrupted" in str(missing.content).lower()
    assert "may have run" in str(missing.content)
    messages = (GO, reply(use()), user(result()))
    assert all(a is b for a, b in zip(repair_tool_pairs(messages), messages, strict=True))


def test_a_result_without_its_call_becomes_text_and_keeps_its_image() -> None:
    """The model still learns what the tool said; of a repeated one, what contradicts it."""
    orphan = result("gone", (TextBlock("a picture"), IMAGE))
    request = sent(GO, reply(TextBlock("ok")), user(orphan))
    assert request[2]["content"] == [
        {"type": "text", "text": "Tool result:\na picture"},
        IMAGE.to_api(),
    ]
    request = sent(GO, reply(use()), user(result(), result(), result(content="other")))
    assert request[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "x", "content": "done"},
        {"type": "text", "text": "Tool result:\nother"},
    ]


def test_an_id_is_made_acceptable_and_told_apart() -> None:
    """In call and result."""
    turn = (reply(use("call_0")), user(result("call_0")))
    request = sent(GO, *turn, *turn, *turn)
    ids = [m["content"][0]["id"] for m in request if m["role"] == "assistant"]
    assert ids == ["call_0", "call_0_2", "call_0_3"]
    request = sent(GO, reply(use("functions.read:0"), use("")), user(result("functions.read:0")))
    assert request[1]["content"][0]["id"] == "functions_read_0"


def test_nothing_empty_is_sent() -> None:
    """Nor white space at the end of a reply, nor an image to a model without sight."""
    request = sent(GO, reply(TextBlock(" \n")), Message("user", "  "), reply(TextBlock("ok")))
    assert [message["role"] for message in request] == ["user", "assistant"]
    assert sent(GO, Message("assistant", "so \n"))[1]["content"][0]["text"] == "so"
    assert len(sent(GO, reply(use()), reply(), user(result()))) == 3
    request = sent(user(IMAGE), reply(use()), user(result(content=(IMAGE,))), supports_images=False)
    assert "iVBOR" not in str(request)


@pytest.mark.parametrize("first", [reply(TextBlock("hello")), Message("user", " ")])
def test_the_user_always_speaks_first(first: Message) -> None:
    """With a neutral sentence where the history begins with a reply or is blank."""
    assert OPENING in str(sent(first)[0]["content"])


@pytest.mark.parametrize(
    "block",
    [
        OpaqueBlock({"type": "reasoning", "encrypted_content": "x", "summary": []}),
        OpaqueBlock({"type": "thinking", "thinking": "no signature"}),
        OpaqueBlock({"type": "text"}),
    ],
)
def test_blocks_that_the_api_has_not_or_refuses_are_left_out(block: OpaqueBlock) -> None:
    """Reasoning of other vendors, unsigned thinking, malformed text."""
    assert sent(GO, reply(block, TextBlock("ok")))[1]["content"] == [TextBlock("ok").to_api()]


def test_signed_thinking_and_unknown_blocks_pass() -> None:
    """In their place; only at the end of a reply thinking has nothing to introduce."""
    thinking = OpaqueBlock({"type": "thinking", "thinking": "hm", "signature": "s"})
    other = OpaqueBlock({"type": "server_tool_use", "id": "s", "name": "search", "input": {}})
    request = sent(GO, reply(thinking, other, TextBlock("ok"), thinking, thinking))
    assert request[1]["content"] == [thinking.data, other.data, {"type": "text", "text": "ok"}]


def test_malformed_blocks_are_made_acceptable() -> None:
    """An input, an error, and tool blocks where none may stand."""
    request = sent(GO, reply(use()), user(result(content=(TextBlock(" "),), is_error=True)))
    assert request[2]["content"][0]["content"]
    request = sent(GO, reply(use("a", "ls"), ToolUseBlock("b", "read", None)))
    assert [block["input"] for block in request[1]["content"]] == [{"input": "ls"}, {}]
    inside = (use("inner"), OpaqueBlock({"type": "tool_result"}), TextBlock("ok"))
    request = sent(GO, reply(use()), user(result(content=inside)))
    texts = [block["text"] for block in request[-1]["content"][0]["content"]]
    assert texts == ["[tool_use]", "[tool_result]", "ok"]
    request = sent(user(OpaqueBlock({"type": "image"})))
    assert request[0]["content"] == [{"type": "text", "text": IMAGE_TEXT}]
    bad = OpaqueBlock({"type": "tool_use", "id": "x", "name": "read"})
    request = sent(user(use(), bad), reply(result(), TextBlock("ok")))
    assert {block["type"] for message in request for block in message["content"]} == {"text"}


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (100.0, "100"),
        (0.000001, "0.000001"),
        (0.0000001, "1e-7"),
        (1e21, "1e+21"),
        (10**21, "1e+21"),
        (10**400, "Infinity"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
        (True, "true"),
    ],
)
def test_a_number_of_a_call_reads_as_in_roo(number: Any, text: str) -> None:
    """As JavaScript writes it."""
    assert tool_use_to_text(use(input_={"value": number})) == f"[Tool Use: read]\nvalue: {text}"


def test_what_json_has_no_number_for_is_null_within_a_list() -> None:
    """As JavaScript's JSON.stringify has it."""
    text = tool_use_to_text(use(input_={"values": [math.nan, 1.0, "\ud800"]}))
    assert text.endswith('values: [\n  null,\n  1,\n  "\\ud800"\n]')


def test_merging_adds_up_known_token_counts() -> None:
    """One unknown makes the sum unknown."""
    one, two = Message("user", "a", tokens=3), Message("user", "b", tokens=4)
    assert merge_consecutive([one, two])[0].tokens == 7
    assert merge_consecutive([one, GO])[0].tokens is None


def test_a_request_is_shaped_in_linear_time() -> None:
    """Merging messages of one role is one pass, as is naming ids anew that are used again."""
    turn = (reply(use("call_0")), user(result("call_0")))

    def shape(messages: int) -> None:
        shape_request([GO] * messages)
        shape_request((GO, *turn * (messages // 4)))

    assert_cheap(lambda: shape(8_000), lambda: shape(1_000), LINEAR)


def weighing(size: int) -> ImageBlock:
    """Return an image of so many bytes."""
    return ImageBlock({"type": "base64", "media_type": "image/png", "data": "A" * size})


def test_a_request_over_the_providers_bytes_loses_its_oldest_images() -> None:
    """As many as must go, also from tool results; text and remote ones weigh nothing."""
    document = OpaqueBlock({"type": "document", "source": {"type": "base64", "data": "A" * 400}})
    history = (
        user(TextBlock("one"), weighing(400), document),
        reply(use()),
        user(result(content=(TextBlock("a plot"), weighing(400)))),
        reply(TextBlock("two")),
        user(TextBlock("three"), weighing(400)),
    )
    request = shape_request(history, max_bytes=1_200)
    assert len(json.dumps([m.to_api() for m in request])) <= 1_200
    assert_valid_request([m.to_api() for m in request])
    left_out = "left out here: with it, the request would be too large]"
    assert request[0].text == f"one\n[Image {left_out}\n[Document {left_out}"
    assert request[2].tool_results[0].content == (
        TextBlock("a plot"),
        TextBlock(f"[Image {left_out}"),
    )
    assert request[-1].blocks[-1] == weighing(400)
    remote = ImageBlock({"type": "url", "url": "https://example.org/a.png"})
    history = (user(TextBlock("a" * 900), remote),)
    assert shape_request(history, max_bytes=100) == history
