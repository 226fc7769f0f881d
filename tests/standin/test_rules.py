import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.standin.rules import violations

Change = Callable[[dict[str, Any]], object]


def good() -> dict[str, Any]:
    """Return a request that uses all there is and breaks no rule."""
    return copy.deepcopy(GOOD)


TEXT = {"type": "text", "text": "Hi"}
MARKED = {**TEXT, "cache_control": {"type": "ephemeral"}}
CALL = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "seen"}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "abc"}
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.org/i.png"}}
GOOD = {
    "model": "claude-opus-5-5",
    "max_tokens": 10,
    "stream": True,
    "system": [MARKED],
    "tools": [{"name": "look", "description": "Look.", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": [TEXT, IMAGE]},
        {"role": "assistant", "content": [THOUGHT, TEXT, CALL]},
        {"role": "user", "content": [RESULT, MARKED]},
    ],
}


def messages(*pairs: Any) -> Change:
    """Replace the conversation: roles and contents in turn."""
    rows = [
        {"role": role, "content": content}
        for role, content in zip(pairs[::2], pairs[1::2], strict=True)
    ]
    return lambda body: body.update(messages=copy.deepcopy(rows))


def put(key: str, value: Any) -> Change:
    """Set one top-level key."""
    return lambda body: body.update({key: value})


def drop(key: str) -> Change:
    """Remove one top-level key."""
    return lambda body: body.pop(key)


def user(*blocks: Any) -> Change:
    """Make the conversation one message of the user."""
    return messages("user", [*blocks])


def after_call(*blocks: Any) -> Change:
    """Let these blocks follow a tool call."""
    return messages("user", "Go", "assistant", [CALL], "user", [*blocks])


def reply(*blocks: Any) -> Change:
    """Let these blocks be a reply in the middle."""
    return messages("user", "Go", "assistant", [*blocks], "user", "On")


RULES: list[tuple[Change, str]] = [
    (drop("model"), "model: Field required"),
    (drop("max_tokens"), "max_tokens: Field required"),
    (put("max_tokens", 0), "max_tokens: must be greater"),
    (put("max_tokens", True), "max_tokens: Input should be a valid integer"),
    (put("seq", 1), "seq: Extra inputs"),
    (put("temperature", 1.0), "temperature: Extra inputs"),
    (drop("messages"), "messages: Field required"),
    (messages(), "at least one message"),
    (put("messages", ["Hi"]), "messages.0: Input should be an object"),
    (lambda body: body["messages"][0].update(id="1"), "messages.0.id: Extra inputs"),
    (messages("system", "Hi"), "use the top-level 'system' parameter"),
    (messages("tool", "Hi"), "Input should be 'user' or 'assistant'"),
    (messages("user", None), "messages.0.content: Input should be"),
    (messages("assistant", "Hi", "user", "Ho"), 'first message must use the "user" role'),
    (messages("user", "Hi", "user", "Ho"), "roles must alternate"),
    (messages("user", "Hi", "assistant", "Ho", "system", "Hm"), "directly follow a `user`"),
    (messages("user", "Hi", "system", "Hm", "user", "Ho"), "directly follow a `user`"),
    (messages("user", "Hi", "system", [IMAGE]), "can only hold text"),
    (messages("user", ""), "must have non-empty content"),
    (messages("user", []), "must have non-empty content"),
    (messages("user", "Hi", "assistant", [], "user", "Ho"), "must have non-empty content"),
    (messages("user", " \n"), "non-whitespace"),
    (user({"type": "text", "text": ""}), "be non-empty"),
    (messages("user", "Hi", "assistant", "So "), "trailing whitespace"),
    (user({"type": "reasoning", "text": "x"}), "'reasoning' does not match"),
    (user({"type": ["text"]}, TEXT), "does not match any of the expected tags"),
    (user({"type": "tool_reference", "tool_name": "x"}, TEXT), "Input tag does not match"),
    (user({"type": "document"}), "document.source: Field required"),
    (user("Hi"), "does not match any of the expected tags"),
    (user({**TEXT, "id": "1"}), "text.id: Extra inputs"),
    (user({"type": "text"}), "text.text: Field required"),
    (user({"type": "image"}), "image.source: Field required"),
    (user({**TEXT, "citations": [{}]}), "text.citations"),
    (user(CALL, TEXT), "`tool_use` blocks can only be in `assistant` messages"),
    (user(THOUGHT, TEXT), "`thinking` blocks can only be in `assistant` messages"),
    (reply(IMAGE), "`image` blocks can only be in `user` messages"),
    (reply(TEXT, RESULT), "`tool_result` blocks can only be in `user` messages"),
    (reply({"type": "thinking", "thinking": "Hm."}, TEXT), "thinking.signature: Field required"),
    (reply(TEXT, THOUGHT), "final block in an assistant message cannot be `thinking`"),
    (reply(CALL), "without `tool_result` blocks immediately after: c1"),
    (messages("user", "Go", "assistant", [CALL]), "without `tool_result` blocks"),
    (user(RESULT), "unexpected `tool_use_id` found in `tool_result` blocks: c1"),
    (after_call(RESULT, RESULT), "each tool_use must have a single result"),
    (after_call(TEXT, RESULT), "must come first"),
    (reply({**CALL, "input": "x"}), "input: Input should be a valid dictionary"),
    (reply({**CALL, "id": "c 1"}), "tool_use.id: String should match"),
    (reply({**CALL, "name": "a b"}), "tool_use.name: String should match"),
    (after_call({**RESULT, "content": 1}), "content: Input should be a valid string or list"),
    (after_call({**RESULT, "content": "", "is_error": True}), "cannot be empty if `is_error`"),
    (after_call({**RESULT, "content": [CALL]}), "cannot be in a `tool_result` block"),
    (after_call({**RESULT, "content": [{"type": "text", "text": " "}]}), "must be non-empty"),
    (drop("tools"), "must define tools"),
    (put("tools", [*GOOD["tools"], *GOOD["tools"]]), "Tool names must be unique"),  # type: ignore[misc]
    (put("tools", [{"name": "a b", "input_schema": {"type": "object"}}]), "name: String should"),
    (put("tools", [{"name": "look", "input_schema": {}}]), "input_schema.type: Field required"),
    (put("system", [{"type": "text", "text": " "}]), "system: text content blocks"),
    (put("system", [IMAGE]), "system: Input should be"),
    (user(*[MARKED] * 4), "A maximum of 4 blocks with cache_control may be provided. Found 5"),
    (user({**TEXT, "cache_control": {"type": "x"}}), "Input should be 'ephemeral'"),
    (reply({**THOUGHT, "cache_control": {"type": "ephemeral"}}, TEXT), "for thinking blocks"),
    (user({**MARKED, "text": ""}), "cannot be set for empty text"),
    (put("diagnostics", "why"), "diagnostics: Input should be an object"),
    (put("diagnostics", {"previous": "msg_1"}), "diagnostics.previous: Extra inputs"),
    (put("diagnostics", {"previous_message_id": "1"}), "should be the id of a message"),
]

TWICE = messages(
    "user", "Go", "assistant", [CALL], "user", [RESULT], "assistant", [CALL], "user", [RESULT]
)
RULES.append((TWICE, "ids must be unique"))


def test_a_good_request_breaks_no_rule() -> None:
    """Tools, thinking, images, marks and results are all in order."""
    assert violations(good()) == []


@pytest.mark.parametrize(("change", "words"), RULES, ids=[words for _, words in RULES])
def test_every_rule_can_fail(change: Change, words: str) -> None:
    """One change to a good request is found and named."""
    body = good()
    change(body)
    assert any(words in sentence for sentence in violations(body)), violations(body)


def test_some_models_take_no_system_message_among_the_others() -> None:
    """Those that do take one behind the user's, at the end and in the middle."""
    said = [{"role": role, "content": "Hi"} for role in ("user", "system", "assistant", "user")]
    for model, refused in (("claude-opus-5-5", 0), ("claude-haiku-4-5", 1)):
        body = {"model": model, "max_tokens": 1, "messages": said}
        assert len(violations(body)) == refused
        assert len(violations({**body, "messages": said[:2]})) == refused


def test_counting_needs_no_limit() -> None:
    """A request to count tokens has no ``max_tokens``."""
    body = good()
    del body["max_tokens"]
    assert violations(body, counting=True) == []


def test_a_reply_may_be_begun_for_the_model() -> None:
    """The last message may be an assistant's, and may even be empty."""
    for content in ("So", []):
        body = good()
        messages("user", "Hi", "assistant", content)(body)
        assert violations(body) == []
