"""Programs with the vendors' SDKs work through the gateway as without it, and are recorded."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings

from chatapp.conversations.context import sizes
from chatapp.gateway import recording
from chatapp.models import Conversation, Message, ModelCall, accounts
from tests.chatapp.claude import answered_by
from tests.chatapp.gateway.programs import body_of, claude, gpt, talks, token_of, visit
from tests.standin.behaviours import ToolCall
from tests.standin.raw_server import RawServer, Script
from tests.standin.server import Standin


async def test_a_conversation_over_the_messages_api_is_on_record(
    standin: Standin, claude_token: str
) -> None:
    """Streamed or not, each request continues the conversation with what is new in it."""
    client = claude(claude_token)
    standin.reply("I am fine.")
    standin.reply("Nothing else.", thinking="Hm.")
    history = [{"role": "user", "content": "How are you?"}]
    asked = {"model": "claude-opus-5", "max_tokens": 200}
    first = await client.messages.create(messages=history, **asked)
    history += [{"role": "assistant", "content": first.content}]
    history += [{"role": "user", "content": [{"type": "text", "text": "What else?"}]}]
    async with client.messages.stream(messages=history, **asked) as stream:
        second = await stream.get_final_message()

    assert second.content[-1].text == "Nothing else."
    said = ["How are you?", "I am fine.", "What else?", "Nothing else."]
    assert [[text for _role, text in one] for one in await talks()] == [said]
    calls = [one async for one in ModelCall.objects.order_by("pk")]
    assert [one.status for one in calls] == ["succeeded", "succeeded"]
    assert all(one.cost and one.usage_measured for one in calls)
    assert (await Conversation.objects.aget()).title == "How are you?"


async def test_a_conversation_over_chat_completions_is_on_record_with_its_tools(
    standin: Standin, gpt_token: str
) -> None:
    """Results of tools that follow each other are one message, as calls of one reply are."""
    client = gpt(gpt_token)
    standin.reply("Both.", tools=[ToolCall("read", {"a": 1}), ToolCall("read", {"a": 2})])
    standin.reply("Done.")
    history: list[Any] = [{"role": "system", "content": "Be brief."}]
    history += [{"role": "user", "content": "Read both."}]
    tool = {"name": "read", "parameters": {"type": "object", "properties": {}}}
    asked: Any = {"model": "gpt-6.1-sol", "tools": [{"type": "function", "function": tool}]}
    first = await client.chat.completions.create(messages=history, **asked)
    said = first.choices[0].message
    history.append(said.model_dump(exclude_none=True, exclude={"annotations", "audio"}))
    for call in said.tool_calls or ():
        history.append({"role": "tool", "tool_call_id": call.id, "content": "its text"})
    stream = await client.chat.completions.create(messages=history, stream=True, **asked)
    assert "".join([one.choices[0].delta.content or "" async for one in stream if one.choices])
    talk = await talks()
    assert [text for _role, text in talk[0]] == ["Read both.", "Both.", "", "Done."]
    results = await Message.objects.aget(holds_results=True)
    assert results.results == 2


def response(number: int, text: str) -> Script:
    """Return an answer of the Responses API as a stream."""
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text"}]}
    item["content"][0]["text"] = text  # type: ignore[index] # it is a list
    whole = {"id": f"resp_{number}", "output": [item], "usage": {"input_tokens": 7}}
    return events(
        {"type": "response.output_text.delta", "output_index": 0, "delta": text},
        {"type": "response.completed", "response": whole},
    )


async def test_an_answer_of_a_deleted_or_another_conversation_is_not_continued(
    upstream: RawServer, token: str
) -> None:
    """Servers that count anew name two answers the same: the later one is meant."""
    for number, follows in enumerate(("", "", "resp_0", "", "gone")):
        upstream.script.append(response(0 if number < 3 else number, f"Answer {number}."))
        asked = {"model": "gpt-6.1-sol", "stream": True, "input": f"Say {number}."}
        await visit("/v1/responses", token, body_of(**asked, previous_response_id=follows))
        if number == 3:
            await Conversation.objects.filter(title="Say 3.").aupdate(deleted_at=timezone.now())
    asked["input"] = "Say 5."
    upstream.script.append(response(5, "Answer 5."))
    asked["previous_response_id"] = "resp_3"
    await visit("/v1/responses", token, body_of(**asked))
    upstream.script.append(response(6, "Answer 6."))
    asked |= {"input": "Say 6.", "previous_response_id": "resp_5", "conversation": "mine"}
    await visit("/v1/responses", token, body_of(**asked))

    def said(*numbers: int) -> list[tuple[str, str]]:
        pairs = [(("user", f"Say {one}."), ("assistant", f"Answer {one}.")) for one in numbers]
        return [one for pair in pairs for one in pair]

    assert await talks() == [said(0), said(1, 2), said(3), said(4), said(5), said(6)]


async def test_an_answer_that_is_named_as_the_one_before_is_continued(
    upstream: RawServer, token: str
) -> None:
    """The request has nothing of the history."""
    for number, text in enumerate(("First.", "Second.")):
        upstream.script.append(response(number, text))
        asked = {"model": "gpt-6.1-sol", "stream": True, "input": f"Say {number}."}
        asked |= {"previous_response_id": "resp_0"} if number else {}
        await visit("/v1/responses", token, json.dumps(asked).encode())
    assert await talks() == [
        [("user", "Say 0."), ("assistant", "First."), ("user", "Say 1."), ("assistant", "Second.")]
    ]


async def test_an_answer_that_fails_is_on_record_as_failed(upstream: RawServer, token: str) -> None:
    """In the words of the provider, streamed or not."""
    failed = {"id": "resp_1", "object": "response", "status": "failed", "output": []}
    failed |= {"error": {"code": "server_error", "message": "The model broke."}}
    for answer in (whole(failed), events({"type": "response.failed", "response": failed})):
        upstream.script.append(answer)
        await visit("/v1/responses", token, body_of(model="gpt-6.1-sol", input="Say all."))
        call = await ModelCall.objects.alatest("pk")
        assert (call.status, call.error) == ("failed", "The model broke.")


def events(*told: dict[str, Any]) -> Script:
    """Return an answer of these events."""
    named = [(f"event: {one['type']}\n" if "type" in one else "", one) for one in told]
    return Script([f"{name}data: {json.dumps(one)}\n\n".encode() for name, one in named])


def whole(told: dict[str, Any]) -> Script:
    """Return an answer that is not streamed."""
    return Script([json.dumps(told).encode()], headers=("content-type: application/json",))


def of_messages(usage: dict[str, Any]) -> tuple[Script, Script]:
    """Return an empty answer of the Messages API with this usage, whole and as a stream."""
    hello = {"type": "text", "text": ""}
    said = {"id": "m", "type": "message", "role": "assistant", "model": "x", "usage": usage}
    begun = {"type": "message_start", "message": {**said, "content": []}}
    opened = {"type": "content_block_start", "index": 0, "content_block": hello}
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}
    stream = events(begun, opened, ended, {"type": "message_stop"})
    return whole({**said, "content": [hello], "stop_reason": "end_turn"}), stream


def of_chat(told: dict[str, Any]) -> tuple[Script, Script]:
    """Return a chat completion with these facts, whole and as a stream."""
    says = {"role": "assistant", "content": "Hello."}
    usage = {"prompt_tokens": 100_000, "completion_tokens": 1, **told.get("usage", {})}
    said = {"id": "c", "object": "chat.completion", "model": "x", **told, "usage": usage}
    first = {"index": 0, "finish_reason": "stop"}
    streamed = {**said, "choices": [{**first, "delta": says}]}
    return whole({**said, "choices": [{**first, "message": says}]}), events(streamed)


def of_responses(told: dict[str, Any]) -> tuple[Script, Script]:
    """Return an answer of the Responses API with these facts, whole and as a stream."""
    said = {"id": "r", "object": "response", "status": "completed", "model": "x", "output": []}
    said |= {"usage": {"input_tokens": 100_000, "output_tokens": 1}} | told
    return whole(said), events({"type": "response.completed", "response": said})


SEARCHES = {"web_search_requests": 3, "web_fetch_requests": 2}
MILLION = {"input_tokens": 1_000_000, "output_tokens": 0}
HOUR = {"cache_creation": {"ephemeral_1h_input_tokens": 1_000_000}}
KEPT = {"input_tokens": 0, "cache_creation_input_tokens": 1_000_000}
USUAL = {"service_tier": "standard", "speed": "standard", "inference_geo": "not_available"}
CONDENSED = [{"type": "message"} | MILLION, {"type": "compaction", "input_tokens": 500_000}]
ADVISED = [{"type": "message"} | MILLION, {"type": "advisor_message", "model": "claude-fable-5-2"}]
OPENED = {"type": "web_search_call", "action": {"type": "open_page"}}
SEARCHED = [{"type": "web_search_call", "action": {"type": "search"}}, OPENED]
RUN = [{"type": "code_interpreter_call"}]
HEARD = {"prompt_tokens_details": {"audio_tokens": 9}}


@pytest.mark.parametrize(
    ("made", "told", "cost"),
    [
        (of_messages, KEPT, "5"), (of_messages, KEPT | HOUR, "8"),
        (of_messages, KEPT | HOUR | {"cost": 0.25, "service_tier": "priority"}, "0.25"),
        (of_messages, MILLION | USUAL, "4"), (of_messages, MILLION | {"speed": "fast"}, "8"),
        (of_messages, MILLION | {"speed": "fast", "inference_geo": "us"}, "8.8"),
        (of_messages, MILLION | {"server_tool_use": SEARCHES, "speed": "fast"}, "8.03"),
        (of_messages, MILLION | {"iterations": CONDENSED}, "6"),
        (of_messages, {"input_tokens": 0, "output_tokens": 0, "iterations": CONDENSED[1:]}, "2"),
        (of_messages, MILLION | {"iterations": ADVISED}, None),
        (of_messages, MILLION | {"service_tier": "priority"}, None),
        (of_messages, MILLION | {"server_tool_use": {"robots": 1}}, None),
        (of_chat, {}, "0.4"), (of_chat, {"service_tier": "default"}, "0.4"),
        (of_chat, {"service_tier": "flex"}, "0.2"), (of_chat, {"service_tier": "priority"}, "0.8"),
        (of_chat, {"service_tier": "scale"}, None), (of_chat, {"usage": HEARD}, None),
        (of_responses, {"service_tier": "fast"}, "0.8"),
        (of_responses, {"service_tier": "flex", "output": SEARCHED}, "0.21"),
        (of_responses, {"output": RUN}, None),
    ],
)  # fmt: skip
async def test_a_call_costs_what_its_server_charges_or_bills_otherwise_or_nobody_knows(
    upstream: RawServer, token: str, made: Any, told: dict[str, Any], cost: str | None
) -> None:
    """A program chooses its tier, its searches and its cache; streamed or not."""
    upstream.script.extend(made(told))
    asked: Any = {"messages": [{"role": "user", "content": "Hi"}]}
    for is_stream in (False, True):
        client: Any = claude(token) if made is of_messages else gpt(token)
        asked["stream"] = is_stream
        if made is of_messages:
            got = await client.messages.create(model="claude-opus-5", max_tokens=9, **asked)
        elif made is of_chat:
            got = await client.chat.completions.create(model="gpt-6.1-sol", **asked)
        else:
            asked = {"input": "Hi", "stream": is_stream}
            got = await client.responses.create(model="gpt-6.1-sol", **asked)
        if is_stream:
            assert [one async for one in got]
    await recording.settle()
    costs = [one.cost async for one in ModelCall.objects.order_by("pk")]
    assert costs == [cost and Decimal(cost)] * 2


@pytest.mark.parametrize(
    ("model", "elsewhere", "cost"),
    [
        ("claude-haiku-4-5-20251001", False, 1), ("claude-haiku-4-5-latest", False, 1),
        ("claude-haiku-4-5-thinking", False, None), ("claude-haiku", False, None),
        ("anthropic.claude-haiku-4-5-v1:0", False, None), ("claude-haiku-4-5", True, None),
        ("claude-opus-5-5", True, 7), ("claude-opus-5-5", False, 4),
    ],
)  # fmt: skip
async def test_a_model_without_a_profile_has_the_price_of_its_own_list_or_an_unknown_one(
    upstream: RawServer,
    alice: User,
    settings: Settings,
    model: str,
    elsewhere: bool,
    cost: int | None,
) -> None:
    """A date in its name is no other model; a server of another vendor has another list."""
    settings.ANTHROPIC_BASE_URL = upstream.url

    def make() -> str:
        own = answered_by(alice, "anthropic", "claude-opus-5", upstream.url if elsewhere else "")
        answered_by(alice, "anthropic", "claude-opus-5-5", upstream.url, price_input=7)
        return token_of(alice, own)

    upstream.script.extend(of_messages(MILLION))
    client = claude(await sync_to_async(make)())
    asked: Any = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    await client.messages.create(model=model, **asked)
    await recording.settle()
    assert (await ModelCall.objects.aget()).cost == cost


@pytest.mark.parametrize(
    ("address", "model", "told", "cost"),
    [
        ("", "claude-opus-5-5", {}, 4), ("", "claude-of-tomorrow", {}, 10),
        ("elsewhere", "claude-opus-5-5", {}, 4), ("elsewhere", "claude-of-tomorrow", {}, 10),
        ("elsewhere", "claude-opus-5", {"service_tier": "priority"}, 3),
    ],
)  # fmt: skip
async def test_no_member_makes_what_an_operators_key_pays_for_cheaper(
    *, upstream: RawServer, alice: User, bob: User, settings: Settings,
    address: str, model: str, told: dict[str, Any], cost: int,
) -> None:  # fmt: skip
    """Neither by a profile of their own at that address, nor by a name or terms nobody knows."""
    settings.ANTHROPIC_BASE_URL = upstream.url
    url = upstream.url if address else ""

    def make() -> str:
        User.objects.filter(pk=bob.pk).update(is_superuser=True)
        accounts.preferences_of(alice)
        accounts.share(answered_by(bob, "anthropic", "claude-opus-5", url, price_input=3))
        answered_by(alice, "anthropic", model, url, price_input=0, price_cache_write=0)
        return token_of(alice, alice.profiles.get(origin__owner=bob))

    upstream.script.extend(of_messages(MILLION | told))
    client = claude(await sync_to_async(make)())
    asked: Any = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    await client.messages.create(model=model, **asked)
    await recording.settle()
    assert (await ModelCall.objects.aget()).cost == cost


async def test_a_server_of_one_s_own_is_free_whatever_its_model_is(
    upstream: RawServer, alice: User
) -> None:
    """It has no list, and nobody's prices."""
    make = sync_to_async(lambda: answered_by(alice, "openai", "gpt-6.1-sol", f"{upstream.url}/v1"))
    client = gpt(await sync_to_async(token_of)(alice, await make()))
    upstream.script.extend(of_chat({}))
    asked: Any = {"messages": [{"role": "user", "content": "Hi"}]}
    await client.chat.completions.create(model="llama", **asked)
    await recording.settle()
    assert (await ModelCall.objects.aget()).cost == 0


@pytest.mark.parametrize(
    ("status", "answers"), [("200 OK", 1), ("200 OK", 3), ("429 Too Many Requests", 0)]
)
async def test_what_a_provider_has_read_is_estimated_if_it_reports_nothing(
    upstream: RawServer, token: str, status: str, answers: int
) -> None:
    """Streams report usage only to programs that ask; what was refused was not read.

    Several answers at a time are all paid for.
    """
    said = {"delta": {"content": "Hello."}, "finish_reason": "stop"}
    told = [{"id": "c", "choices": [said | {"index": place}]} for place in range(answers)]
    upstream.script.append(replace(events(*told), status=status))
    words = [{"role": role, "content": "word " * 1_000} for role in ("system", "user")]
    tools = [{"type": "function", "function": {"name": "read", "description": "tool " * 500}}]
    asked = body_of(model="gpt-6.1-sol", stream=True, messages=words, tools=tools)
    await visit("/v1/chat/completions", token, asked)
    call = await ModelCall.objects.aget()
    least = 2_500 if status == "200 OK" else 0
    assert least <= call.tokens_input <= least * 1.1
    assert (call.cost, call.usage_measured) == (Decimal(4 * call.tokens_input) / 1_000_000, False)
    assert call.tokens_output == answers * sizes.COUNTER.count("Hello.")


async def test_what_a_provider_wrote_is_estimated_if_it_reports_the_prompt_alone(
    upstream: RawServer, token: str
) -> None:
    """A reply of no tokens would cost nothing."""
    said = {"index": 0, "delta": {"content": "Hello."}, "finish_reason": "stop"}
    upstream.script.append(events({"id": "c", "choices": [said], "usage": {"prompt_tokens": 9}}))
    asked = body_of(model="gpt-6.1-sol", stream=True, messages=[{"role": "user", "content": "Hi"}])
    await visit("/v1/chat/completions", token, asked)
    call = await ModelCall.objects.aget()
    assert (call.tokens_input, call.usage_measured) == (9, False)
    assert call.tokens_output == sizes.COUNTER.count("Hello.")


async def test_a_compaction_that_a_program_asks_for_is_paid_for_and_no_part_of_the_talk(
    upstream: RawServer, token: str
) -> None:
    """The program goes on with its answer, which only the provider can read."""
    client = gpt(token)
    upstream.script.append(response(1, "Blue."))
    async for _event in await client.responses.create(model="gpt-6.1-sol", input="?", stream=True):
        pass
    await recording.settle()
    told: Any = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Blue."}]
    sealed = {"type": "compaction", "encrypted_content": "x"}
    usage = {"input_tokens": 100_000, "output_tokens": 9, "total_tokens": 100_009}
    made = {"id": "c", "object": "response.compaction", "output": [sealed], "usage": usage}
    upstream.script.append(whole(made | {"created_at": 1}))
    await client.responses.compact(model="gpt-6.1-sol", input=told)
    assert await talks() == [[("user", "?"), ("assistant", "Blue.")]]
    call = await ModelCall.objects.alatest("pk")
    assert (call.purpose, call.cost, call.usage_measured) == ("summary", Decimal("0.4"), True)
