"""Bytes are holy: what a client sends arrives, and what comes back is passed on, as it is."""

import gzip
import json
import time

import brotli
import pytest
from asgiref.sync import sync_to_async
from backports import zstd

from chatapp.gateway import recording
from chatapp.gateway.bodies import LARGEST_CLIENT_BODY
from chatapp.gateway.recording import ANSWER_UNREAD
from chatapp.models import Manifest, Message, ModelCall
from chatapp.storage.request_reader import RequestReader
from tests.chatapp.gateway.programs import Answer, Visit, visit
from tests.standin.raw_server import RawServer, Script

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
TOOL = {"name": "read", "description": "Read.", "input_schema": {"type": "object"}}
TALK = [
    {"role": "user", "content": [{"type": "text", "text": "Look: \U0001f600 é"}, IMAGE]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "eA=="},
            {"type": "text", "text": "Reading."},
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"a": 1e3}},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}],
    },
    {"role": "system", "content": "Be brief."},
]
PLAIN = {"model": "claude-opus-5", "max_tokens": 9, "stream": True, "messages": TALK}
ITEMS = [
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Rules"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Zm9v"},
    {"type": "function_call", "call_id": "c1", "name": "sh", "arguments": '{"a":  1}'},
    {"type": "function_call_output", "call_id": "c1", "output": "done"},
    {"type": "compaction_trigger"},
]
SPACED = (
    b' {\r\n "stream":true,\t"messages" : [ {"role":"user","content":"a" } ,\n'
    b'{ "content": "b", "role":"assistant"}\n ] , "model": "m", "model":"claude-opus-5" }\n'
)
ODD = (
    b'{"messages":[{"role":"user","content":"old"}],"n":1e400,"big":123456789012345678901234567890,'
    b'"f":1.10,"s":"\\ud83d\\u00e9\\/","messages":[{"role":"user","content":"\\ud800 half",'
    b'"content":"\\u00e9\\u0000"}],"z":1,"a":2,"model":"claude-opus-5","unknown":{"deep":[[[]]]}}'
)
BODIES = {
    "a talk": json.dumps(PLAIN).encode(),
    "unescaped": json.dumps(PLAIN, ensure_ascii=False, separators=(",", ":")).encode(),
    "spaced": SPACED,
    "odd": ODD,
    "no list": b'{"model":"claude-opus-5","messages":"hello"}',
    "empty list": b'{"messages": [ ],"model":"claude-opus-5"}',
    "odd items": b'{"messages":[1,null,"x",[],{"role":[]},{"role":"user","content":[7]}]}',
    "no JSON": b'{"messages":[{"role":"user"',
    "no UTF-8": b'{"messages":[{"role":"user","content":"\xff\xfe"}]}',
    "nothing": b"",
    "deep": b'{"messages":' + b"[" * 3_000 + b"]" * 3_000 + b"}",
}
ODD_TOOLS = b'{"model":"gpt-6.1-sol","input":[{"tools":[[]]}, 5],"tools":[[],1,null,{"type":[2]}]}'
ODD_KINDS = {
    "/v1/responses": b'{"model":"gpt-6.1-sol","input":[{"type":[]},{"type":{},"role":[]}]}',
    "/v1/chat/completions": b'{"model":"gpt-6.1-sol","messages":[{"role":[]},'
    b'{"role":"assistant","tool_calls":["x",5]}]}',
}
ENCODED = {
    "gzip": gzip.compress(BODIES["a talk"]),
    "zstd": zstd.compress(BODIES["a talk"], 3),
    "gzip, zstd": zstd.compress(gzip.compress(BODIES["a talk"])),
}
STREAM = (
    b'event: message_start\r\ndata: {"type":"message_start","message":{"id":"msg_1",'
    b'"usage":{"input_tokens":3,"output_tokens":1}}}\r\n\r\n: a comment\r\n\r\n'
    b'event: ping\ndata: {"type": "ping"}\n\n'
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
    b'"content_block":{"type":"text","text":""}}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":"H\xc3\xa9"}}\n\n'
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":'
    b'"end_turn"},"usage":{"output_tokens":2}}\n\nevent: message_stop\n'
    b'data: {"type":"message_stop"}\n\n'
)


async def recorded() -> list[bytes]:
    """Return the bodies on record."""

    def read() -> list[bytes]:
        found = Manifest.objects.select_related("call").order_by("pk")
        return [RequestReader(one.call.conversation_id).read(one) for one in found]

    return await sync_to_async(read)()


async def test_every_body_arrives_as_it_was_sent_and_is_on_record_so(
    upstream: RawServer, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    """That is so of odd JSON, of no JSON, and of compressed bodies, in their decoded form."""
    for body in BODIES.values():
        upstream.script.append(Script([STREAM]))
        answer = await visit("/v1/messages?beta=true", token, body)
        assert (answer.status, answer.body) == (200, STREAM)
    for encoding, body in ENCODED.items():
        upstream.script.append(Script([STREAM]))
        answer = await visit("/v1/messages", token, body, content_encoding=encoding)
        assert answer.body == STREAM
    upstream.script.append(Script([STREAM]))
    await visit("/v1/responses", token, ODD_TOOLS)
    for path, body in ODD_KINDS.items():
        upstream.script.append(Script([STREAM]))
        await visit(path, token, body)
    odd = [ODD_TOOLS, *ODD_KINDS.values()]
    assert upstream.bodies == [*BODIES.values(), *ENCODED.values(), *odd]
    assert await recorded() == [*BODIES.values(), *[BODIES["a talk"]] * len(ENCODED), *odd]
    assert "without what it says" not in caplog.text
    assert all(b"sk-test" in head and token.encode() not in head for head in upstream.heads)
    assert b"POST /v1/messages?beta=true HTTP/1.1" in upstream.heads[0]


@pytest.mark.parametrize("size", [1, 7, 64])
async def test_a_stream_is_passed_on_however_it_is_cut(
    upstream: RawServer, token: str, size: int
) -> None:
    """Its words are on record as well, wherever the chunks end."""
    chunks = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
    upstream.script.append(Script(chunks))
    answer = await visit("/v1/messages", token, BODIES["a talk"])
    assert answer.body == STREAM
    call = await ModelCall.objects.select_related("message").aget()
    assert call.message
    assert call.message.content == [{"type": "text", "text": "Hé"}]
    assert (call.reply_id, call.tokens_input, call.tokens_output) == ("msg_1", 3, 2)


async def test_a_call_takes_as_long_as_its_client_waits(upstream: RawServer, token: str) -> None:
    """Its record may be written later."""
    upstream.script.append(Script([STREAM]))
    began = time.monotonic()
    await Visit("/v1/messages", token, BODIES["a talk"]).task
    waited = time.monotonic() - began
    await recording.settle()
    call = await ModelCall.objects.aget()
    assert 0 < (call.seconds_to_first or 0) <= call.seconds <= waited


LIMITS = (
    "retry-after: 7",
    "anthropic-ratelimit-unified-status: rejected",
    f"request-id: sk-test{'r' * 200}",
    "x-request-id: abc",
    "openai-processing-ms: 5",
    "x-odd: caf\xe9",
)


@pytest.mark.parametrize("status", ["429 Too Many", "529 Overloaded", "400 Bad", "404 Not Found"])
async def test_an_error_keeps_status_words_and_headers(
    upstream: RawServer, token: str, status: str
) -> None:
    """The record says why there is no answer, without the key that the provider quotes."""
    said = b'{"type":"error","error":{"type":"x_error","message":"prompt is too long: sk-test"}} '
    headers = ("content-type: application/json", *LIMITS)
    upstream.script.append(Script([said[:9], said[9:]], status, headers))
    answer = await visit("/v1/messages", token, BODIES["a talk"])
    assert (answer.status, answer.body) == (int(status[:3]), said)
    passed = [f"{name.decode()}: {value.decode()}" for name, value in answer.headers]
    assert passed == [*headers]
    call = await ModelCall.objects.select_related("turn").aget()
    assert call.turn
    assert call.turn.error.endswith("prompt is too long: [key]")
    assert call.request_id == "[key]" + "r" * 95


async def test_responses_go_to_their_own_door_with_all_their_items(
    upstream: RawServer, token: str
) -> None:
    """So do chat completions, and compactions."""
    body = json.dumps({"model": "gpt-6.1-sol", "stream": True, "input": ITEMS}).encode()
    for path in ("/v1/responses", "/v1/chat/completions", "/v1/responses/compact"):
        upstream.script.append(Script([b"data: [DONE]\n\n"]))
        answer: Answer = await visit(path, token, body)
        assert answer.status == 200
        assert upstream.bodies[-1] == body
        assert upstream.heads[-1].startswith(b"POST " + path.encode())
    assert await recorded() == [body, body, body]


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "br"])
async def test_a_compressed_answer_stays_compressed_and_is_read(
    upstream: RawServer, token: str, encoding: str
) -> None:
    """Only the copy that is recorded is decoded."""
    made = {"gzip": gzip.compress, "zstd": zstd.compress, "br": brotli.compress}[encoding](STREAM)
    headers = ("content-type: text/event-stream", f"content-encoding: {encoding}")
    upstream.script.append(Script([made[:9], made[9:]], headers=headers))
    answer = await visit("/v1/messages", token, BODIES["a talk"], accept_encoding=encoding)
    assert (answer.body, answer.header("content-encoding")) == (made, encoding)
    assert (await Message.objects.alatest("seq")).content == [{"type": "text", "text": "Hé"}]


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "br"])
async def test_an_answer_that_grows_without_end_is_passed_on_unread(
    upstream: RawServer, token: str, encoding: str
) -> None:
    """Its copy takes no more memory than that of a request."""
    packed = {"gzip": gzip.compress, "zstd": zstd.compress, "br": brotli.compress}
    fast = {"gzip": {"compresslevel": 1}, "zstd": {"level": 1}, "br": {"quality": 1}}
    made = packed[encoding](b" " * (LARGEST_CLIENT_BODY + 1), **fast[encoding])  # type: ignore[operator] # each its own
    headers = ("content-type: text/event-stream", f"content-encoding: {encoding}")
    upstream.script.append(Script([made], headers=headers))
    assert (await visit("/v1/messages", token, BODIES["a talk"])).body == made
    assert (await ModelCall.objects.aget()).error == ANSWER_UNREAD
