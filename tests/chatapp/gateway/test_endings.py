"""Endings: clients that leave, lines that break, and what is refused at our own door."""

import asyncio
import gzip
import json
from decimal import Decimal
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chatapp.gateway import recording
from chatapp.gateway.bodies import LARGEST_CLIENT_BODY
from chatapp.models import ApiToken, Conversation, DraftPiece, ModelCall, Preferences
from chatapp.models.database import execute, reading
from chatapp.turns.crash_recovery import close_left
from tests.chatapp.claude import answered_by
from tests.chatapp.gateway.programs import (
    Answer,
    Visit,
    body_of,
    said_in,
    talks,
    token_of,
    visit,
)
from tests.chatapp.gateway.streams import ASKED, FIRST_HALF, SECOND_HALF
from tests.standin.raw_server import RawServer, Script


async def halfway(upstream: RawServer, token: str) -> Visit:
    """Return a request whose answer has come in half, and is on record so far."""
    upstream.script.append(Script([FIRST_HALF, SECOND_HALF], gate=asyncio.Event()))
    one = Visit("/v1/messages", token, ASKED)
    await one.answer.wait_for(b"Half a")
    while not await DraftPiece.objects.filter(text__contains="Half a").aexists():
        pass
    return one


async def test_a_client_that_leaves_ends_the_call_and_what_came_is_kept(
    upstream: RawServer, token: str
) -> None:
    """The provider's line is closed; the answer is marked as stopped."""
    one = await halfway(upstream, token)
    one.leave()
    await one.task
    await upstream.left.wait()
    await recording.settle()
    call = await ModelCall.objects.select_related("message", "turn").aget()
    assert call.message
    assert call.turn
    assert (call.message.stop_reason, call.turn.status) == ("stopped", "stopped")
    assert await talks() == [[("user", "Say all."), ("assistant", "Half a")]]


async def test_a_client_that_leaves_before_the_first_word_pays_for_its_prompt(
    transactional_db: None, alice: User
) -> None:
    """The provider has read it by then, and reports nothing."""
    read = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"Say all.")
        read.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        make = sync_to_async(lambda: answered_by(alice, "anthropic", "claude-opus-5", url))
        one = Visit("/v1/messages", await sync_to_async(token_of)(alice, await make()), ASKED)
        await read.wait()
        one.leave()
        await one.task
        await recording.settle()
    call = await ModelCall.objects.aget()
    assert (call.error, call.usage_measured) == (recording.GONE, False)
    assert call.tokens_input
    assert call.cost == Decimal(4 * call.tokens_input) / 1_000_000


async def test_requests_that_come_at_once_are_on_record_before_their_answers_go_out(
    upstream: RawServer, token: str
) -> None:
    """A crash loses none of them, but for one that is alone by then: no other waits beside it."""
    gate = asyncio.Event()
    upstream.default = lambda _body: Script([FIRST_HALF, SECOND_HALF], gate=gate)
    many = [Visit("/v1/messages", token, ASKED) for _number in range(5)]
    for one in many:
        await one.answer.wait_for(b"Half a")
    stored = await reading(ModelCall.objects.count)()
    gate.set()
    await asyncio.gather(*[one.task for one in many])
    await recording.settle()
    assert stored >= len(many) - 1


async def test_requests_at_once_keep_to_a_budget(
    upstream: RawServer, token: str, alice: User
) -> None:
    """One that is under way counts with its prompt."""
    await Preferences.objects.filter(owner=alice).aupdate(month_budget="0.01")
    upstream.script.append(Script([FIRST_HALF, SECOND_HALF], gate=asyncio.Event()))
    said = [{"role": "user", "content": "word " * 3_000}]
    asked = body_of(model="claude-opus-5", stream=True, messages=said)
    one = Visit("/v1/messages", token, asked)
    await one.answer.wait_for(b"Half a")
    while not await ModelCall.objects.aexists():
        pass
    other = Visit("/v1/messages", token, asked)
    await other.task
    refused = other.answer
    assert (refused.status, error_of(refused)) == (403, "permission_error")
    assert len(upstream.bodies) == 1
    one.leave()
    await one.task


async def test_what_was_sent_before_a_crash_is_kept(upstream: RawServer, token: str) -> None:
    """The next process finds the draft of an owner that is gone."""
    one = await halfway(upstream, token)

    def crash() -> list[tuple[str, str]]:
        ModelCall.objects.update(owner="gone")
        close_left()
        return said_in(Conversation.objects.get())

    assert await sync_to_async(crash)() == [("user", "Say all."), ("assistant", "Half a")]
    assert (await ModelCall.objects.aget()).status == "interrupted"
    one.leave()
    await one.task
    await recording.settle()
    assert (await Conversation.objects.aget()).last_seq == 2


async def test_what_was_read_before_a_crash_is_paid_for(upstream: RawServer, token: str) -> None:
    """Nothing of it was reported."""
    chunk = b'data: {"choices": [{"index": 0, "delta": {"content": "Half a"}}]}\n\n'
    upstream.script.append(Script([chunk, b""], gate=asyncio.Event()))
    said = [{"role": "user", "content": "word " * 3_000}]
    one = Visit("/v1/chat/completions", token, body_of(model="gpt-6.1-sol", messages=said))
    await one.answer.wait_for(b"Half a")
    while not await ModelCall.objects.filter(pieces__isnull=False).aexists():
        pass

    def crash() -> ModelCall:
        ModelCall.objects.update(owner="gone")
        recording.partial_replies.forget(ModelCall.objects.get().pk)
        close_left()
        return ModelCall.objects.get()

    call = await sync_to_async(crash)()
    assert (call.status, call.usage_measured) == ("interrupted", False)
    assert 3_000 <= call.tokens_input <= 3_100
    assert call.cost
    assert call.cost >= Decimal(4 * 3_000) / 1_000_000
    one.leave()
    await one.task
    await recording.settle()


async def test_a_line_that_breaks_is_an_error_event_at_the_end(
    upstream: RawServer, token: str
) -> None:
    """All that came before it is passed on, and kept."""
    upstream.script.append(Script([FIRST_HALF], cut=True))
    answer = await visit("/v1/messages", token, ASKED)
    passed, _, last = answer.body.partition(b"event: error\ndata: ")
    assert passed == FIRST_HALF
    assert json.loads(last)["error"]["type"] == "api_error"
    assert await talks() == [[("user", "Say all."), ("assistant", "Half a")]]


async def test_a_line_that_rested_too_long_is_opened_again(upstream: RawServer, token: str) -> None:
    """The server closes it with the second request, which reaches it on another one."""
    upstream.rests = True
    for _number in range(2):
        upstream.script.append(Script([FIRST_HALF, SECOND_HALF]))
        assert (await visit("/v1/messages", token, ASKED)).status == 200
    assert upstream.bodies == [ASKED, ASKED]


async def test_a_request_is_not_sent_twice_to_a_server_that_took_it(
    upstream: RawServer, token: str
) -> None:
    """It closes the line without an answer."""
    upstream.script += [Script([], status=""), Script([FIRST_HALF, SECOND_HALF])]
    answer = await visit("/v1/messages", token, ASKED)
    assert (answer.status, error_of(answer)) == (502, "api_error")
    assert b"can't be reached. The connection broke off before there was" in answer.body
    assert upstream.bodies == [ASKED]


@pytest.mark.parametrize("status", ["301 Moved", "307 Temporary Redirect", "308 Moved"])
async def test_a_redirect_is_neither_followed_nor_passed_on(
    upstream: RawServer, token: str, status: str
) -> None:
    """A client would take its token there, and past the record."""
    upstream.script.append(Script([b"Away"], status, ["location: http://elsewhere.example/v1"]))
    answer = await visit("/v1/messages", token, ASKED)
    assert (answer.status, error_of(answer)) == (502, "api_error")
    assert b"redirects to another address" in answer.body
    assert "elsewhere" not in f"{answer.headers}{answer.body!r}"
    assert "redirects to another address" in (await ModelCall.objects.aget()).error


async def test_a_file_of_passwords_for_other_programs_is_not_read(
    upstream: RawServer, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The credential is the profile's, whatever curl would send to the same host."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login somebody password theirs\n")
    monkeypatch.setenv("NETRC", str(netrc))
    upstream.script.append(Script([FIRST_HALF, SECOND_HALF]))
    assert (await visit("/v1/messages", token, ASKED)).status == 200


async def test_a_summary_that_the_client_asks_for_is_no_part_of_the_talk(
    upstream: RawServer, token: str
) -> None:
    """Its call is on record."""
    history = [{"role": "user", "content": "Say all."}]
    for text in ("", "Your task is to create a detailed summary of the conversation so far."):
        if text:
            history[0:] = [*json.loads(ASKED)["messages"]]
            history += [{"role": "assistant", "content": "Half a word."}]
            history += [{"role": "user", "content": text}]
        upstream.script.append(Script([FIRST_HALF, SECOND_HALF]))
        body = json.dumps({"model": "claude-opus-5", "stream": True, "messages": history})
        await visit("/v1/messages", token, body.encode())
    assert await talks() == [[("user", "Say all."), ("assistant", "Half a word.")]]
    found = [
        one async for one in ModelCall.objects.order_by("pk").values_list("purpose", flat=True)
    ]
    assert found == ["chat", "summary"]


def error_of(answer: Answer) -> str:
    """Return the type of an error, in whichever envelope."""
    return str(json.loads(answer.body)["error"]["type"])


OFTEN_PACKED = gzip.compress(gzip.compress(gzip.compress(gzip.compress(ASKED))))
REFUSED = {
    "a wrong token": ("/v1/messages", ASKED, {"x_api_key": "no"}, 401, "authentication_error"),
    "none": ("/v1/chat/completions", ASKED, {"x_api_key": ""}, 401, "authentication_error"),
    "no such path": ("/v1/embeddings", ASKED, {}, 404, "not_found_error"),
    "a method": ("/v1/responses", b"", {"method": "GET"}, 405, "invalid_request_error"),
    "a model": ("/v1/responses", b'{"model":"none"}', {}, 404, "not_found_error"),
    "a control character": (
        *("/v1/messages", ASKED, {"user_agent": "a\x01"}, 400),
        "invalid_request_error",
    ),
    "half a character": ("/v1/responses", b'{"model":"\\udfff"}', {}, 404, "not_found_error"),
    "a socket": (
        *("/v1/responses", b"", {"method": "GET", "sec_websocket_key": "x"}, 426),
        "invalid_request_error",
    ),
    "an encoding": (
        *("/v1/messages", ASKED, {"content_encoding": "lzma"}, 415),
        "invalid_request_error",
    ),
    "many encodings": (
        *("/v1/messages", OFTEN_PACKED, {"content_encoding": "gzip, gzip, gzip, gzip"}, 415),
        "invalid_request_error",
    ),
    "damage": ("/v1/messages", b"x", {"content_encoding": "gzip"}, 400, "invalid_request_error"),
    "two parts": (
        *("/v1/messages", gzip.compress(ASKED) * 2, {"content_encoding": "gzip"}),
        *(400, "invalid_request_error"),
    ),
    "too much": ("/v1/messages", b"x" * (LARGEST_CLIENT_BODY + 1), {}, 413, "request_too_large"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_refusal_of_ours_is_in_the_dialects_own_words(
    upstream: RawServer, token: str, case: str
) -> None:
    """Nothing is passed on, and nothing is stored."""
    path, body, more, status, kind = REFUSED[case]
    if "x_api_key" in more:
        token, more = more["x_api_key"], {}
    answer = await visit(path, token, body, **more)
    assert (answer.status, error_of(answer)) == (status, kind)
    told = {401: ("www-authenticate", "Bearer"), 405: ("allow", "POST")}
    name, value = told.get(status, ("allow", ""))
    assert answer.header(name) == value
    assert (upstream.bodies, await Conversation.objects.acount()) == ([], 0)


# What follows the answer.
MORE = json.dumps(
    json.loads(ASKED)
    | {
        "messages": [
            *json.loads(ASKED)["messages"],
            {"role": "assistant", "content": "Half a word."},
        ]
    }
).encode()


async def test_limits_of_users_hold_here_too(upstream: RawServer, token: str, alice: User) -> None:
    """A budget that is spent, a key that is lost, a token of another scope, and a revoked one."""
    upstream.script.append(Script([FIRST_HALF, SECOND_HALF]))
    await alice.profiles.aupdate(price_input=100_000)
    assert (await visit("/v1/messages", token, ASKED)).status == 200
    for limited in (Preferences.objects.all(), Conversation.objects.all()):
        name = "budget" if limited.model is Conversation else "month_budget"
        await limited.aupdate(**{name: Decimal("0.01")})
        answer = await visit("/v1/messages", token, MORE)
        assert (answer.status, error_of(answer)) == (403, "permission_error")
        await limited.aupdate(**{name: None})
    await alice.profiles.aupdate(encrypted_key="of another key")
    answer = await visit("/v1/messages", token, MORE)
    assert (answer.status, error_of(answer)) == (403, "permission_error")
    assert b"secret key. Enter it again." in answer.body
    await ApiToken.objects.aupdate(scope="all")
    assert (await visit("/v1/messages", token, ASKED)).status == 401
    await ApiToken.objects.all().adelete()
    assert (await visit("/v1/messages", token, ASKED)).status == 401
    assert upstream.bodies == [ASKED]


async def test_a_database_that_can_not_be_read_is_said_in_the_dialects_words(
    upstream: RawServer, token: str
) -> None:
    """A program reads the error of its API, and no page; the next request is answered."""
    await sync_to_async(execute)("ALTER TABLE chatapp_apitoken RENAME TO away")
    answers = [await visit(path, token, ASKED) for path in ("/v1/messages", "/v1/responses")]
    await sync_to_async(execute)("ALTER TABLE away RENAME TO chatapp_apitoken")
    for answer, kind in zip(answers, ("api_error", "server_error"), strict=True):
        assert (answer.status, error_of(answer)) == (500, kind)
        assert b"The server's log says why." in answer.body
    upstream.script.append(Script([FIRST_HALF, SECOND_HALF]))
    assert (await visit("/v1/messages", token, ASKED)).status == 200


async def test_a_clients_own_credential_is_passed_on_where_the_token_stands_beside_it(
    upstream: RawServer, token: str
) -> None:
    """The token itself goes nowhere."""
    for path, more in (
        (f"/t/{token}/v1/messages", {}),
        ("/v1/messages", {"x_palimpsest_token": token}),
    ):
        upstream.script.append(Script([FIRST_HALF, SECOND_HALF]))
        await visit(path, "", ASKED, authorization="Bearer own", **more)
    for head in upstream.heads:
        assert b"authorization: Bearer own" in head
        assert token.encode() not in head
        assert b"sk-test" not in head


async def test_models_are_those_of_the_profiles(upstream: RawServer, token: str) -> None:
    """Both APIs' clients find what they look for."""
    answer = await visit("/v1/models?limit=1000", token, method="GET")
    listed = json.loads(answer.body)
    assert {one["id"] for one in listed["data"]} == {"claude-opus-5", "gpt-6.1-sol"}
    one = await visit("/v1/models/claude-opus-5", token, method="GET")
    assert json.loads(one.body) in listed["data"]
    assert (await visit("/v1/models", token, method="HEAD")).status == 200
    assert (await visit("/", "", method="HEAD")).status == 200


async def test_a_request_that_comes_at_once_finds_the_answer_before_it(
    upstream: RawServer, token: str
) -> None:
    """Its record waits for that of an answer that is over."""
    history = json.loads(ASKED)["messages"]
    for number in range(4):
        upstream.script.append(Script([FIRST_HALF, SECOND_HALF]))
        body = {"model": "claude-opus-5", "stream": True, "messages": history}
        await Visit("/v1/messages", token, json.dumps(body).encode()).task
        history += [{"role": "assistant", "content": "Half a word."}]
        history += [{"role": "user", "content": f"More {number}."}]
    said = [(one["role"], one["content"]) for one in history[:-1]]
    assert await talks() == [said]
