from typing import Any

import condense
from chatapp.agent.ports import Purpose
from chatapp.providers.anthropic.blocks import BINDING_BETA, INTERLEAVED_BETA
from chatapp.providers.anthropic.provider import AnthropicProvider
from tests.chatapp.providers.doors import claude_of
from tests.chatapp.providers.requests import (
    TOOLS,
    assistant,
    call,
    record,
    reply,
    request,
    result,
    user,
)
from tests.standin.behaviours import Failure, Reply
from tests.standin.server import Standin

MARK = {"type": "ephemeral"}


def marks(value: Any) -> int:
    """Count the cache marks anywhere in a request."""
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(marks, value.values()))
    return sum(map(marks, value)) if isinstance(value, list) else 0


async def test_the_last_two_user_messages_the_prompt_and_the_tools_are_marked(
    claude: AnthropicProvider, standin: Standin
) -> None:
    """Four marks, which is all the API allows; nothing but what it needs is sent."""
    history = (user("1"), assistant("2"), user("3"), assistant("4"), user("5", "6"))
    await reply(claude, request(*history, tools=TOOLS))
    body = standin.requests[0].body
    assert marks(dict(body)) == 4
    assert body["system"][-1]["cache_control"] == body["tools"][-1]["cache_control"] == MARK
    assert [marks(message) for message in body["messages"]] == [0, 0, 1, 0, 1]
    assert body["messages"][-1]["content"][-1]["cache_control"] == MARK
    assert (body["model"], body["max_tokens"], body["stream"]) == ("claude-opus-5-5", 1_000, True)
    assert body["system"][0]["text"] == "You are kind."
    assert [tool["name"] for tool in body["tools"]] == [spec.name for spec in TOOLS]
    assert all(message.keys() == {"role", "content"} for message in body["messages"])
    assert standin.problems == []


async def test_marks_in_the_history_are_replaced(
    claude: AnthropicProvider, standin: Standin
) -> None:
    """They do not push a request over the limit; plain text is a block for its mark."""
    marked = condense.TextBlock("old", {"cache_control": MARK})
    inner = condense.ToolResultBlock("call_1", (marked,), extra={"cache_control": MARK})
    history = (user(marked), assistant(call("list_files", cache_control="mine")), user(inner))
    await reply(claude, request(*history, tools=TOOLS))
    body = standin.requests[0].body
    assert marks(body["messages"][0]) == marks(body["messages"][2]) == 1
    assert body["messages"][1]["content"][0]["input"] == {"cache_control": "mine"}
    await reply(claude, request(condense.Message("user", "Hello"), system=" "))
    body = standin.requests[1].body
    block = {"type": "text", "text": "Hello", "cache_control": MARK}
    assert body["messages"][0]["content"] == [block]
    assert "system" not in body


async def test_tools_of_the_past_are_declared_but_cannot_be_called(
    claude: AnthropicProvider, standin: Standin
) -> None:
    """The API refuses tool blocks without tools, also where none may be used any more."""
    history = (user("Go"), assistant(call("fetch", url="x")), user(result("ok"), "Sum up"))
    await reply(claude, request(*history, purpose=Purpose.SUMMARY))
    body = standin.requests[0].body
    assert [tool["name"] for tool in body["tools"]] == ["fetch"]
    assert body["tool_choice"] == {"type": "none"}
    assert standin.problems == []


async def test_thinking_is_left_out_where_a_server_refuses_it(standin: Standin) -> None:
    """A model the catalog does not know may bind thinking too: both calls are recorded."""
    provider = claude_of(standin, "claude-later")
    standin.then(Reply("Let me see.", thinking="Hm."))
    said = await reply(provider, request("A long story."))
    again = request("Its summary.", assistant(*said.content), "Go on")
    sent, _ = await record(provider, again)
    refused, taken = standin.requests[1:]
    assert [one.body for one in sent] == [refused.raw, taken.raw]
    assert "bound to a different conversation" in refused.problems[0]
    assert [block["type"] for block in taken.body["messages"][1]["content"]] == ["text"]


async def test_the_prompt_s_size_is_measured_by_the_vendor(
    claude: AnthropicProvider, standin: Standin
) -> None:
    """The count is the one a call then reports; one that fails is None, to be estimated."""
    asked = request("How long is this?", tools=TOOLS)
    counted = await claude.count_tokens(asked)
    assert counted == (await reply(claude, asked)).usage.prompt
    assert standin.counts[0].problems == ()
    standin.key = "other"
    nobody = AnthropicProvider(claude.model, api_key="k", base_url="http://127.0.0.1:9")
    keyless = AnthropicProvider(claude.model, api_key="")
    for provider in (nobody, claude, keyless):
        assert await provider.count_tokens(request("Hi")) is None


UNSENDABLE: list[dict[str, Any]] = [
    {"type": "hologram", "data": "x"},
    {"type": "text", "text": "Seen.", "mood": "calm"},
    {"type": "text", "text": 5},
    {"type": "thinking", "thinking": "Unsigned."},
    {"type": "thinking", "thinking": "Hm.", "signature": "abc", "mood": "calm"},
    {"type": "redacted_thinking"},
    {"type": "server_tool_use", "id": "s1"},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [], "cost": 1},
    {"type": "tool_use", "id": "call 1", "name": "read all\n", "input": {}, "mood": "calm"},
    {"type": "tool_use", "id": "", "name": "", "input": None},
    {"type": "tool_use", "id": 7, "name": "read", "input": {}},
    {"type": "tool_result", "tool_use_id": "c", "content": "mine"},
    {"type": ["text"], "text": "x"},
    {},
]


async def test_what_the_api_would_refuse_is_not_sent_back(
    claude: AnthropicProvider, standin: Standin
) -> None:
    """A block that only its server knows stays on record; the conversation goes on without it."""
    for block in UNSENDABLE:
        for sent in ([block], [{"type": "text", "text": "A"}, block]):
            said = condense.Message("assistant", condense.content_from_api(sent))
            shaped = condense.shape_request((user("Go"), said, user("On")))
            await reply(claude, request(*shaped, tools=TOOLS))
            await reply(claude, request(*shaped))
            assert standin.problems == [], block


async def test_a_block_no_tool_result_may_hold_is_not_sent(
    claude: AnthropicProvider, standin: Standin
) -> None:
    """The result stays, and so does what else it holds."""
    inner = condense.content_from_api([{"type": "hologram"}, {"type": "text", "text": "Seen."}])
    answer = condense.ToolResultBlock("call_1", inner)
    await reply(claude, request("Go", assistant(call("list_files")), user(answer), tools=TOOLS))
    sent = standin.requests[0].body["messages"][2]["content"][0]["content"]
    assert [part["type"] for part in sent] == ["text"]
    assert standin.problems == []


ADAPTIVE = {"type": "adaptive", "display": "summarized"}
BOUND = {**ADAPTIVE, "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


def enabled(tokens: int) -> dict[str, Any]:
    """Return what asks for thoughts of so many tokens."""
    return {"type": "enabled", "budget_tokens": tokens}


async def test_each_model_is_asked_to_think_as_it_can(standin: Standin) -> None:
    """By itself, as much as the profile wants, or within what leaves room for an answer."""
    for name, effort, most, thinking, config, beta in (
        ("claude-opus-5-5", "", 8_000, BOUND, None, BINDING_BETA),
        ("claude-opus-5-5", "minimal", 8_000, BOUND, {"effort": "low"}, BINDING_BETA),
        ("claude-opus-5", "max", 8_000, ADAPTIVE, {"effort": "max"}, None),
        ("claude-opus-5", "off", 8_000, {"type": "disabled"}, None, None),
        ("claude-haiku-4-5", "", 8_000, None, None, None),
        ("claude-haiku-4-5", "off", 8_000, None, None, None),
        ("claude-haiku-4-5", "high", 1_000, None, None, None),
        ("claude-haiku-4-5", "low", 8_000, enabled(4_096), None, INTERLEAVED_BETA),
        ("claude-haiku-4-5", "max", 8_000, enabled(7_999), None, INTERLEAVED_BETA),
    ):
        await reply(claude_of(standin, name, most, effort=effort), request("Hi", tools=TOOLS))
        sent = standin.requests[-1]
        assert (sent.body.get("thinking"), sent.body.get("output_config")) == (thinking, config)
        assert sent.headers.get("anthropic-beta") == beta
        assert standin.problems == []


async def test_who_shall_not_think_is_shown_no_thoughts(standin: Standin) -> None:
    """Those of another profile stay on record."""
    thought = condense.OpaqueBlock({"type": "thinking", "thinking": "Hm.", "signature": "x"})
    await reply(claude_of(standin, effort="off"), request("Why?", assistant(thought, "So."), "On"))
    assert b"Hm." not in standin.requests[0].raw


async def test_a_loop_of_tools_that_began_without_thoughts_goes_on_without(
    standin: Standin,
) -> None:
    """A model that counts its thoughts refuses calls that follow none; the turn goes on."""
    provider = claude_of(standin, "claude-haiku-4-5", 8_000, effort="low")
    words = "messages.1.content.0.type: Expected `thinking`, but found `tool_use`."
    standin.then(Failure(400, "invalid_request_error", words))
    history = ("Go", assistant(call("read_file")), user(result("ok")))
    await reply(provider, request(*history, tools=TOOLS))
    refused, taken = standin.requests
    assert "thinking" in refused.body
    assert "thinking" not in taken.body
