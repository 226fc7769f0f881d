"""Joins: requests of one session only, whatever else looks like it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.utils import timezone

from chatapp.gateway import recording
from chatapp.gateway.messages import DIALECT
from chatapp.gateway.requests import GatewayRequest
from chatapp.gateway.sessions import find_conversation, find_end
from chatapp.models import ApiToken, Conversation, ModelCall, Rewind
from tests.chatapp.gateway.clients import SYSTEM, TOOLS, mains, reply_with, told_by
from tests.chatapp.gateway.programs import Visit, body_of, visit
from tests.standin.raw_server import RawServer

Told = tuple[str, str]
EXAMPLES = [("user", "Change the greeting."), ("assistant", "Ok."), ("user", "New code base now.")]
EXAMPLES += [("assistant", "Ok.")]


def talk(*said: str, before: Sequence[Told] = ()) -> list[Told]:
    """Return messages of a user and a model in turn."""
    return [*before, *zip(("user", "assistant") * len(said), said, strict=False)]


async def ask(token: str, history: Sequence[Told], *, named: Any = (), **more: Any) -> None:
    """Send a history."""
    messages = [{"role": role, "content": text} for role, text in history]
    about: dict[str, Any] = {"model": "claude-opus-5", "system": SYSTEM, "tools": TOOLS}
    await visit("/v1/messages", token, body_of(**about | more, messages=messages), **dict(named))


async def shown() -> list[list[Told]]:
    """Return the words of each conversation that is no side request."""

    def read() -> list[list[Told]]:
        return [told_by(one) for one in mains()]

    return await sync_to_async(read)()


# Requests in their order: each with what names it, its history, and the answer to it. In the end
# each conversation is one of these histories with its answer.
ONE, TWO = {"x_session_affinity": "one"}, {"x_session_affinity": "two"}
PLAIN: dict[str, str] = {}
TITLE = {"system": "Name the talk.", "tools": []}
AGENTS = {
    "root": {"session_id": "s", "thread_id": "s"},
    "child": {"session_id": "s", "thread_id": "c", "x_codex_parent_thread_id": "s"},
    "side": {"session_id": "s", "thread_id": "f"},
}
AGENTS = {
    whose: {name.replace("_id", "-id"): value for name, value in told.items()}
    for whose, told in AGENTS.items()
}
CASES: dict[str, tuple[list[tuple[dict[str, str], list[Told], str, dict[str, Any]]], list[int]]] = {
    "two sessions without a name, whose first answers are the same": (
        [
            (PLAIN, talk("hello"), "Hi!", {}),
            (PLAIN, talk("hello"), "Hi!", {}),
            (PLAIN, talk("hello", "Hi!", "A"), "To A.", {}),
            (PLAIN, talk("hello", "Hi!", "B"), "To B.", {}),
            (PLAIN, talk("hello", "Hi!", "A", "To A.", "C"), "To C.", {}),
        ],
        [4, 3],
    ),
    "a third one, which could be a version of either": (
        [
            (PLAIN, talk("hello"), "Hi!", {}),
            (PLAIN, talk("hello"), "Hi!", {}),
            (PLAIN, talk("hello", "Hi!", "A"), "To A.", {}),
            (PLAIN, talk("hello", "Hi!", "B"), "To B.", {}),
            (PLAIN, talk("hello", "Hi!", "C"), "To C.", {}),
        ],
        [2, 3, 4],
    ),
    "examples that a program puts before each question": (
        [
            (PLAIN, talk("One?", before=EXAMPLES), "First.", {}),
            (PLAIN, talk("Two?", before=EXAMPLES), "Second.", {}),
            (PLAIN, talk("One?", "First.", "On.", before=EXAMPLES), "Third.", {}),
            (PLAIN, talk("Two?", "Second.", "On.", before=EXAMPLES), "Fourth.", {}),
        ],
        [2, 3],
    ),
    "agents of one session, each in its thread": (
        [
            (AGENTS["root"], talk("Begin."), "Begun.", {}),
            (AGENTS["child"], talk("Sub."), "Sub done.", {}),
            (AGENTS["side"], talk("Begin.", "Begun.", "Aside."), "Aside done.", {}),
            (AGENTS["root"], talk("Begin.", "Begun.", "On."), "Done.", {}),
            (AGENTS["child"], talk("Sub.", "Sub done.", "More."), "More done.", {}),
        ],
        [3],
    ),
    "a program that asks in mid-session what its user may say next": (
        [
            (ONE, talk("Begin."), "Begun.", {}),
            (ONE, talk("Begin.", "Begun.", "[SUGGESTION MODE: Suggest.]"), "run it", {}),
            (ONE, talk("Begin.", "Begun.", "On."), "Done.", {}),
        ],
        [2],
    ),
    "a title that is asked for first, by a program without tools": (
        [
            (ONE, talk("Begin."), "A Title", TITLE),
            (ONE, talk("Begin."), "Begun.", {"tools": []}),
            (ONE, talk("Begin.", "Begun.", "On."), "Done.", {"tools": []}),
            (ONE, talk("Title it again."), "Another", TITLE),
        ],
        [2],
    ),
    "a title that says the same as the first answer": (
        [
            (ONE, talk("Begin."), "OK.", {}),
            (ONE, talk("Begin."), "OK.", TITLE),
            (ONE, talk("Begin.", "OK.", "On."), "Done.", {}),
        ],
        [2],
    ),
    "a session whose program goes back behind its summary, and on again": (
        [
            (ONE, talk("Begin."), "Begun.", {}),
            (ONE, talk("In short: begun."), "Yes.", {}),
            (ONE, talk("Begin.", "Begun.", "On."), "Done.", {}),
            (ONE, talk("In short: begun.", "Yes.", "And?"), "So.", {}),
        ],
        [3],
    ),
    "agents of a session, each in its own": (
        [
            (ONE, talk("Begin."), "Begun.", {}),
            (TWO | {"x-parent-session-id": "one"}, talk("Sub."), "Sub done.", {}),
            ({"x-session-affinity": "3", "x-parent-session-id": "two"}, talk("Sub."), "Deep.", {}),
            (TWO, talk("Sub.", "Sub done.", "More."), "More done.", {}),
            ({"x-parent-session-id": "one"}, talk("Another."), "Nameless.", {}),
        ],
        [0],
    ),
    "chats of a page, each with its header": (
        [
            ({"x-openwebui-chat-id": "1"}, talk("hello"), "Hi!", {}),
            ({"x-openwebui-chat-id": "2"}, talk("hello"), "Hi!", {}),
            ({"x-openwebui-chat-id": "1"}, talk("hello", "Hi!", "A"), "To A.", {}),
            ({"x-openwebui-chat-id": "2"}, talk("hello", "Hi!", "B"), "To B.", {}),
        ],
        [2, 3],
    ),
}


async def test_agents_that_are_asked_the_same_at_once_are_two(
    upstream: RawServer, token: str
) -> None:
    """Neither says which it is; both go on."""
    upstream.default = lambda _body: reply_with("Begun.")
    await ask(token, talk("Begin."), named=ONE)
    gate = asyncio.Event()
    body = {"model": "claude-opus-5", "system": "Sub-agent.", "tools": TOOLS}
    body |= {"messages": [{"role": "user", "content": "Sub."}]}
    told: Any = ONE
    upstream.script.append(replace(reply_with("First."), gate=gate, chunks=[b" ", b"{}"]))
    first = Visit("/v1/messages", token, body_of(**body), **told)
    await first.answer.wait_for(b" ")
    while await ModelCall.objects.acount() < 2:
        pass
    upstream.default = lambda _body: reply_with("Second.")
    second = Visit("/v1/messages", token, body_of(**body), **told)
    await second.task
    gate.set()
    await first.task
    await recording.settle()
    assert await Conversation.objects.exclude(client__parent=None).acount() == 2


async def test_an_agent_is_another_one_if_it_was_asked_before_the_first_one_ended(
    upstream: RawServer, token: str
) -> None:
    """However late that is looked at; asked after the end, it is a second try."""
    upstream.default = lambda _body: reply_with("Begun.")
    await ask(token, talk("Begin."), named=ONE)
    body = {"model": "claude-opus-5", "system": "Sub-agent.", "tools": TOOLS}
    raw = body_of(**body, messages=[{"role": "user", "content": "Sub."}])
    given = await ApiToken.objects.select_related("owner").aget()
    headers = {name.replace("_", "-"): value for name, value in ONE.items()}
    early = GatewayRequest(given, DIALECT, None, headers, raw, "")
    upstream.script.append(replace(reply_with("Lost."), chunks=[b"{}"]))
    await visit("/v1/messages", token, raw, **ONE)
    late = replace(early, arrived=timezone.now())
    agent = await Conversation.objects.exclude(client__parent=None).aget()
    again, another = [await sync_to_async(find_conversation)(one) for one in (late, early)]
    assert again == agent != another


async def test_messages_are_compared_before_others_have_to_wait(
    upstream: RawServer, token: str
) -> None:
    """Those of ten long conversations took seconds, for each request that drops its oldest ones."""
    upstream.default = lambda _body: reply_with("Done.")
    history = talk("One.", "Done.", "Two.", "Done.", "Three.")
    for end in (1, 3, 5):
        await ask(token, history[:end])
    shown = [{"role": role, "content": text} for role, text in history[2:]]
    asked = [*shown, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "On."}]
    given = await ApiToken.objects.select_related("owner").aget()
    body = body_of(model="claude-opus-5", system=SYSTEM, tools=TOOLS, messages=asked)
    request, read = GatewayRequest(given, DIALECT, None, {}, body, ""), list[str]()

    def note(execute: Any, sql: str, *more: Any) -> Any:
        read.append(sql)
        return execute(sql, *more)

    def find() -> Conversation:
        end = find_end(request)
        with connection.execute_wrapper(note):
            return find_conversation(request, end)

    found = await sync_to_async(find)()
    assert found == await Conversation.objects.aget()
    assert [sql for sql in read if '"chatapp_message"."seq" DESC' in sql] == []


@pytest.mark.parametrize("case", CASES)
async def test_each_session_is_one_conversation(upstream: RawServer, token: str, case: str) -> None:
    """It shows what its client has, every message of it is stored once, and every call is there."""
    requests, ends = CASES[case]
    for named, history, answer, more in requests:
        upstream.script.append(reply_with(answer))
        await ask(token, history, named=named, **more)
    expected = [[*requests[at][1], ("assistant", requests[at][2])] for at in ends]
    assert sorted(await shown()) == sorted(expected)
    assert await ModelCall.objects.acount() == len(requests)

    def stored() -> list[list[str]]:
        talks = Conversation.objects.all()
        return [[one.content[0]["text"] for one in talk.messages.all()] for talk in talks]

    for said in await sync_to_async(stored)():
        assert [one for one in said if said.count(one) > 1 and one != "Ok."] == []
    assert not await Rewind.objects.exclude(cause="replaced").aexists()
