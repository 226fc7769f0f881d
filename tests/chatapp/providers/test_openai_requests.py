"""What goes out through the other door, and what is left out where a server refuses it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import condense
from chatapp.agent.errors import ContextOverflow
from chatapp.agent.ports import Model, ToolSpec
from chatapp.providers.openai.provider import OpenAIProvider
from chatapp.providers.openai.reply import OpenAIReply
from chatapp.providers.openai.request import ERROR, OpenAIRequestWriter, OpenAITraits, to_chat
from tests.chatapp.providers.doors import DOORS
from tests.chatapp.providers.requests import (
    TOOLS,
    assistant,
    call,
    failure,
    reply,
    request,
    result,
    text_of,
    user,
)
from tests.standin.behaviours import Failure
from tests.standin.chat_rules import violations
from tests.standin.server import Standin

PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
CALLED = (
    user("Go"),
    assistant(call("read_file", "toolu_0123456789", path="x")),
    user(result("ok", "toolu_0123456789"), "And?"),
)


async def test_a_request_holds_what_the_api_needs_and_no_more(
    gpt: OpenAIProvider, standin: Standin
) -> None:
    """Limit, prompt, tools, usage in the stream; the limit under its own name; no empty key."""
    await reply(gpt, request("One", assistant("Two"), "Three", tools=TOOLS))
    body = standin.requests[0].body
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert (body["model"], body["max_tokens"], body["stream"]) == ("gpt-6.1-sol", 1_000, True)
    assert body["stream_options"] == {"include_usage": True}
    assert [tool["function"]["name"] for tool in body["tools"]] == [spec.name for spec in TOOLS]
    assert standin.requests[0].headers["authorization"].startswith("Bearer sk-secret")
    written = OpenAIRequestWriter(
        Model("gpt-6.1-sol", 9_000, 50), url="https://api.openai.com/v1"
    ).write(request("Hi"))
    assert json.loads(written.body)["max_completion_tokens"] == 50
    model = Model("m", 9_000, 50)
    await reply(OpenAIProvider(model, api_key="", base_url=standin.url + "/v1"), request("Hi"))
    assert "authorization" not in standin.requests[1].headers


@pytest.mark.parametrize(
    ("url", "model", "asks"),
    [
        ("https://openrouter.ai/api/v1", "anthropic/claude-opus-5.5", True),
        ("https://openrouter.ai/api/v1", "openai/gpt-6.1-sol", False),
        ("https://proxy.example/v1", "claude-opus-5-5", False),
    ],
)
def test_the_cache_is_asked_for_where_it_does_not_come_unasked(
    url: str, model: str, asks: bool
) -> None:
    """Unless it was refused."""
    writer = OpenAIRequestWriter(Model(model, 9_000, 50), url=url)
    assert ("cache_control" in json.loads(writer.write(request("Hi")).body)) == asks
    assert writer.adapt("cache_control: Extra inputs are not permitted", set()) == asks
    assert "cache_control" not in json.loads(writer.write(request("Hi")).body)


LACKS: list[tuple[int, Any, str]] = [
    (400, {"error": "registry.ollama.ai/library/gemma:2b does not support tools"}, "tools"),
    (404, {"error": {"message": "No endpoints found that support tool use."}}, "tools"),
    (400, {"message": '"auto" tool choice requires --enable-auto-tool-choice'}, "tools"),
    (500, {"error": {"code": 500, "message": "tools param requires --jinja flag"}}, "tools"),
    (
        422,
        {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]},
        "streaming_usage",
    ),
    (500, {"error": {"code": 500, "message": "System role not supported"}}, "system_role"),
    (400, {"error": {"message": "Developer instruction is not enabled for m"}}, "system_role"),
    (
        400,
        {"error": {"message": "'max_tokens' is not supported: use 'max_completion_tokens'"}},
        "completion_limit",
    ),
    (400, {"message": "Tool call id was toolu_1 but must have a length of 9."}, "any_ids"),
    (400, {"message": "Unexpected role 'user' after role 'tool'"}, "user_after_tool"),
    (500, {"error": {"message": "image input is not supported - provide the mmproj"}}, "images"),
    (404, {"error": {"message": "No endpoints found that support image input"}}, "images"),
]


def test_a_plain_schema_has_what_its_references_name() -> None:
    """Optional models and lists of them keep their fields; a circle of them has an end."""
    any_of = [True, {"type": "null"}]
    fields = {"name": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}}
    node = {"type": "object", "properties": fields}
    schema = {
        "type": "object",
        "$defs": {"Node": node, "Either": {"anyOf": [{"$ref": "#/$defs/Node"}]}},
        "properties": {
            "one": {"anyOf": [{"$ref": "#/$defs/Either"}, {"type": "null"}], "description": "One."},
            "all": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            "odd": {"$ref": "#/$defs/Gone", "anyOf": any_of},
            **{f"n{number}": {"$ref": "#/$defs/Node"} for number in range(99)},
        },
    }
    url = "https://generativelanguage.googleapis.com/v1beta/openai"
    writer = OpenAIRequestWriter(Model("m", 9_000, 50), url=url)
    sent = writer.write(request("Hi", tools=(ToolSpec("look", "Looks.", schema),)))
    given = json.loads(sent.body)["tools"][0]["function"]["parameters"]
    plain = {"type": "object", "properties": {"name": {"type": "string"}, "next": {}}}
    assert given["properties"]["one"] == {**plain, "description": "One."}
    assert given["properties"]["all"] == {"type": "array", "items": plain}
    assert given["properties"]["odd"] == given["properties"]["n98"] == {}
    assert b"$ref" not in sent.body


async def test_what_a_server_lacks_is_left_out_of_the_next_request(standin: Standin) -> None:
    """In the words of the servers that say so; the turn goes on, and nothing is asked twice."""
    history = (user(condense.ImageBlock(PIXEL), "Go"), *CALLED[1:])
    for key, (status, body, trait) in enumerate(LACKS):
        gpt = DOORS[1].provider(standin, api_key=f"key {key}")
        standin.then(Failure(status, "", "", body=body))
        said = await reply(gpt, request(*history, tools=TOOLS))
        assert "You said" in text_of(said.content) or "tool answered" in text_of(said.content)
        await reply(gpt, request(*history, tools=TOOLS))
        _, taken, next_ = standin.requests[-3:]
        assert taken.raw == next_.raw
        assert standin.problems == []
        lacks = {
            "tools": "tools" not in taken.body and b"tool_calls" not in taken.raw,
            "streaming_usage": "stream_options" not in taken.body,
            "system_role": taken.body["messages"][0]["role"] == "user" and b"kind" in taken.raw,
            "completion_limit": "max_completion_tokens" in taken.body,
            "any_ids": b"tool_calls" in taken.raw and b"toolu" not in taken.raw,
            "user_after_tool": taken.body["messages"][-1]["role"] == "tool",
            "images": b"image_url" not in taken.raw,
        }
        assert [name for name, holds in lacks.items() if holds] == [trait]
        # The next turn remembers it; another image may be one that the server takes.
        later = DOORS[1].provider(standin, api_key=f"key {key}")
        later.refused |= gpt.refused
        await reply(later, request(*history, tools=TOOLS))
        assert (standin.requests[-1].raw == taken.raw) is (trait != "images")


async def test_a_refusal_of_something_else_is_told(gpt: OpenAIProvider, standin: Standin) -> None:
    """Once, and in the server's words; an empty account is no rate limit."""
    standin.then(Failure(400, "", "", body={"message": "seed: Too small."}))
    await failure(gpt, match="refused the request: seed: Too small")
    assert len(standin.requests) == 1
    body = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    standin.then(Failure(429, "", "", body=body))
    error = await failure(gpt, match="cannot pay")
    assert not error.retryable


OVERFLOWS: list[tuple[int, Any]] = [
    (400, {"error": {"message": "exceeds the context", "type": "exceed_context_size_error"}}),
    (400, {"error": {"message": "Please reduce the length", "code": "context_length_exceeded"}}),
    (400, {"error": "Trying to keep the first 5000 tokens when context the overflows."}),
    (413, {"error": {"message": "Request too large for model", "type": "tokens"}}),
    (400, [{"error": {"code": 400, "message": "The input token count (9) exceeds the maximum"}}]),
    (400, {"message": "Prompt contains 9 tokens, too large for model with 8 maximum context"}),
]


async def test_every_server_s_word_for_a_full_window_is_understood(
    gpt: OpenAIProvider, standin: Standin
) -> None:
    """None of them is taken for a part of the API that is missing."""
    for status, body in OVERFLOWS:
        standin.then(Failure(status, "", "", body=body))
        assert isinstance(await failure(gpt, request("Hi", tools=TOOLS)), ContextOverflow)
    assert len(standin.requests) == len(OVERFLOWS)


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8).filter(str.strip)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
NAMES = st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True)
IDS = st.from_regex(r"[a-zA-Z0-9_-]{1,40}", fullmatch=True)
CALLS = st.lists(
    st.builds(condense.ToolUseBlock, IDS, NAMES, st.dictionaries(TEXTS, JSON, max_size=2)),
    max_size=3,
    unique_by=lambda block: block.id,
)


@given(text=st.none() | TEXTS, calls=CALLS)
def test_a_reply_that_is_sent_back_is_the_one_that_came(
    text: str | None, calls: list[condense.ToolUseBlock]
) -> None:
    """Its text, its calls, their ids and their input, whatever JSON that is."""
    said = (*([condense.TextBlock(text)] if text else []), *calls)
    (sent,) = to_chat(condense.Message("assistant", said), OpenAITraits())
    heard = OpenAIReply()
    [*heard.take({"choices": [{"message": sent, "finish_reason": "stop"}]})]
    [*heard.end()]
    assert heard.completed().content == said


MESSAGES = st.lists(
    st.builds(
        condense.Message,
        st.sampled_from(("user", "assistant")),
        st.lists(
            st.builds(condense.TextBlock, st.text(max_size=4))
            | st.builds(condense.ToolUseBlock, st.text(max_size=3), st.text(max_size=3), JSON)
            | st.builds(
                condense.ToolResultBlock, st.text(max_size=3), st.none() | TEXTS, st.booleans()
            )
            | st.just(condense.ToolResultBlock("a", (condense.ImageBlock(PIXEL),)))
            | st.just(condense.ImageBlock(PIXEL))
            | st.just(condense.OpaqueBlock({"type": "thinking", "thinking": "x", "signature": "s"}))
            | st.just(condense.OpaqueBlock({"type": "thinking", "thinking": "unsigned"}))
            | st.just(condense.OpaqueBlock({"type": "redacted_thinking", "data": "x"}))
            | st.just(condense.OpaqueBlock({"type": "hologram", "data": "x"})),
            max_size=4,
        ).map(tuple),
    ),
    min_size=1,
    max_size=6,
)


@given(messages=MESSAGES, tools=st.booleans(), system_role=st.booleans(), short=st.booleans())
def test_whatever_was_said_becomes_a_request_that_is_taken(
    messages: list[condense.Message], *, tools: bool, system_role: bool, short: bool
) -> None:
    """Any history, whoever wrote it: no orphan, no empty message, no id that is too long."""
    writer = OpenAIRequestWriter(Model("m", 9_000, 50))
    traits = OpenAITraits(tools=tools, system_role=system_role, any_ids=not short)
    writer.use(traits)
    body = json.loads(writer.write(request(*condense.shape_request(messages), tools=TOOLS)).body)
    assert violations(body) == []


async def test_the_profile_s_wishes_are_told_and_dropped_where_they_are_refused(
    standin: Standin,
) -> None:
    """One after the other: models that reason take no temperature, others no effort."""
    model = Model("m", 9_000, 50, temperature=0.5, effort="off")
    gpt = OpenAIProvider(model, api_key="k", base_url=standin.url + "/v1")
    said = ("Unsupported value: 'temperature' does not support 0.5", "reasoning_effort: unknown")
    bodies = [{"error": {"message": words}} for words in said]
    standin.then(*(Failure(400, "", "", body=body) for body in bodies))
    await reply(gpt, request("Hi"))
    first, second, third = (one.body for one in standin.requests)
    assert (first["temperature"], first["reasoning_effort"]) == (0.5, "none")
    assert ("temperature" in second, "reasoning_effort" in second) == (False, True)
    assert ("temperature" in third, "reasoning_effort" in third) == (False, False)


def test_a_signature_that_a_server_refuses_is_left_out_and_one_that_it_misses_is_sent() -> None:
    """Calls of another model have none; a tool's failure is said in its result."""
    signed = condense.ToolUseBlock("a", "read_file", {}, {"extra_content": {"google": "x"}})
    history = (user("Go"), assistant(signed), user(result("ok", "a")))
    writer = OpenAIRequestWriter(Model("m", 9_000, 50))
    assert b"extra_content" in writer.write(request(*history)).body
    unsigned = request("Go", assistant(call("read_file")), user(result("ok")))
    assert b"signature" not in writer.write(unsigned).body
    assert writer.adapt("Function call is missing a thought_signature in its parts.", set())
    assert b'"extra_content":{"google":{"thought_signature":' in writer.write(unsigned).body
    assert b'"extra_content":{"google":"x"}' in writer.write(request(*history)).body
    assert writer.adapt("Unknown field: messages[1].tool_calls[0].extra_content", set())
    assert b"extra_content" not in writer.write(request(*history)).body
    (sent,) = to_chat(user(result("No such file.", is_error=True)), OpenAITraits())
    assert sent == {"role": "tool", "tool_call_id": "call_1", "content": f"{ERROR}No such file."}
