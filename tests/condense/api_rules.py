"""The Messages API's rules for a request, as strict assertions for any test."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

Json = dict[str, Any]

USER_ONLY = {"image", "tool_result"}
REPLY_ONLY = {"tool_use", "thinking", "redacted_thinking"}
NOT_API = {"reasoning"}
RESULT_PARTS = {"text", "image", "document", "search_result", "tool_reference"}
TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")


def assert_valid_request(messages: Sequence[Json], tools_present: bool = True) -> None:
    """Fail with the rule's name unless the real Messages API would accept these messages."""
    assert messages, "a request has at least one message"
    assert messages[0]["role"] == "user", "the first message is the user's"
    for message in messages:
        assert_valid_message(message)
    for one, other in pairwise(messages):
        assert one["role"] != other["role"], "roles alternate"
    assert_pairs(messages)
    if not tools_present:
        assert not any(ids_of(m, "tool_use") for m in messages), "no tool blocks without tools"
    assert_ending(messages[-1])


def blocks_of(message: Json) -> list[Json]:
    """Return the content as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def ids_of(message: Json, kind: str) -> list[str]:
    """Return the ids of tool calls or results in a message, in order."""
    key = "id" if kind == "tool_use" else "tool_use_id"
    return [block[key] for block in blocks_of(message) if block["type"] == kind]


def assert_valid_message(message: Json) -> None:
    """Fail unless one message has a role, content, and blocks its role may carry."""
    assert set(message) == {"role", "content"}, "a message has a role and content, nothing else"
    assert message["role"] in {"user", "assistant"}
    blocks = blocks_of(message)
    assert blocks, "content is not empty"
    for block in blocks:
        assert_valid_block(block, message["role"])
    results = [block["type"] == "tool_result" for block in blocks]
    assert results == sorted(results, reverse=True), "tool results come first"


def assert_valid_block(block: Json, role: str) -> None:
    """Fail unless a block is complete and may stand in a message of this role."""
    kind = block.get("type")
    assert isinstance(kind, str), "a block has a type"
    assert kind not in NOT_API, f"{kind} is not a block of this API"
    assert kind not in (USER_ONLY if role == "assistant" else REPLY_ONLY), f"{kind} by {role}"
    if kind == "text":
        assert block["text"].strip(), "text is not blank"
    if kind == "thinking":
        assert block.get("signature"), "thinking is signed"
    if kind == "tool_use":
        assert TOOL_ID.fullmatch(block["id"]), "a call's id has only letters, digits, _ and -"
        assert isinstance(block["input"], dict), "a call's input is an object"
    if kind == "tool_result":
        assert_valid_result(block)


def assert_valid_result(block: Json) -> None:
    """Fail unless a tool result's parts may stand in it; an error says something."""
    content = block.get("content")
    if isinstance(content, list):
        for part in content:
            assert part.get("type") in RESULT_PARTS, "only text, images and documents in a result"
            assert_valid_block(part, "user")
    if block.get("is_error"):
        assert content, "an error is not empty"


def assert_pairs(messages: Sequence[Json]) -> None:
    """Fail unless each call is answered once in the next message, and each result has its call."""
    calls = [id_ for message in messages for id_ in ids_of(message, "tool_use")]
    assert len(calls) == len(set(calls)), "call ids are unique"
    before: list[str] = []
    for message in messages:
        answered = ids_of(message, "tool_result")
        assert sorted(answered) == sorted(before), "results answer the calls right before them"
        before = ids_of(message, "tool_use")
    assert not before, "the last calls are answered"


def assert_ending(message: Json) -> None:
    """Fail where a reply to be continued ends in white space or in thinking."""
    if message["role"] != "assistant":
        return
    last = blocks_of(message)[-1]
    assert last["type"] not in {"thinking", "redacted_thinking"}
    assert last["type"] != "text" or last["text"] == last["text"].rstrip(), "no trailing space"
