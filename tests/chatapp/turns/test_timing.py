"""When a context is condensed: what is said of it, after a step, and not now."""

import asyncio
import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.models import (
    Condensation,
    Conversation,
    ModelCall,
    Preferences,
    Profile,
    Turn,
    message_store,
)
from chatapp.turns import lifecycle
from tests.chatapp.claude import converse
from tests.chatapp.condensing.conftest import talk_long
from tests.chatapp.scripted_turns import ask
from tests.chatapp.sockets import Page, open_page
from tests.standin.behaviours import OVERFLOW, UNAUTHORIZED, Gate, Reply, ToolCall
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

SUMMARY = "<analysis>Short.</analysis><summary>What was said.</summary>"
AWAITED = "Condenses after this step."
LIST = ToolCall("list_files", {})


@pytest.fixture
def conversation(alice: User, anthropic_standin: Standin, short_summaries: None) -> Conversation:
    """A conversation of some 9,000 tokens in a window of 12,000, of which 10,600 may be used."""
    return talk_long(converse(alice, anthropic_standin, context_window=12_000, max_output=200))


@asynccontextmanager
async def answering(
    conversation: Conversation, user: User, standin: Standin, reply: Reply
) -> AsyncIterator[Page]:
    """Yield a page while this reply to its message is written, and stands at its gate."""
    assert reply.gate
    standin.then(reply)
    async with open_page(conversation, user) as page:
        await page.say("And now?")
        assert await asyncio.to_thread(reply.gate.wait_until_reached)
        try:
            yield page
        finally:
            reply.gate.open()


async def shown(page: Page, **words: str) -> dict[str, Any]:
    """Return the next panel that says these words in its parts; "" is an empty part."""
    while True:
        panel = await page.until("panel.changed")
        if all(
            said in panel[part] and bool(said) == bool(panel[part]) for part, said in words.items()
        ):
            return panel


async def purposes(conversation: Conversation) -> list[str]:
    """Return what the calls so far were for."""
    calls = ModelCall.objects.filter(conversation=conversation).order_by("pk")
    return [one.purpose async for one in calls]


async def test_condensing_asked_for_while_a_step_runs_follows_it_within_the_turn(
    conversation: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """The status says so at once; the turn's next call comes after the summary, and reads it."""
    step = Reply("Let me look.", tools=(LIST,), gate=Gate())
    async with answering(conversation, alice, anthropic_standin, step) as page:
        await page.send("condense.start", focus="the port")
        await shown(page, condensing=AWAITED)
        anthropic_standin.then(Reply(SUMMARY), Reply("Done."))
        step.gate.open()
        await shown(page, condensing="Condensing context…", due="")
        await shown(page, condensing="")
        await page.until_idle()
    assert await purposes(conversation) == ["chat", "summary", "chat"]
    attempt = await Condensation.objects.aget()
    assert (attempt.trigger, attempt.focus, attempt.status) == ("manual", "the port", "succeeded")
    assert await Turn.objects.filter(conversation=conversation).acount() == 3


async def test_what_was_asked_for_can_be_taken_back_before_it_begins(
    conversation: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """The status goes, and nothing is condensed."""
    answer = Reply("Done.", gate=Gate())
    async with answering(conversation, alice, anthropic_standin, answer) as page:
        await page.send("condense.start")
        await shown(page, condensing=AWAITED)
        await page.send("condense.cancel")
        await shown(page, condensing="")
        answer.gate.open()
        await page.until_idle()
    assert await purposes(conversation) == ["chat"]


async def test_not_now_puts_it_off_by_one_turn(
    conversation: Conversation, alice: User, anthropic_standin: Standin, page: Page
) -> None:
    """No step of the next turn condenses, and the first one of the turn after it does."""
    await Preferences.objects.filter(owner=alice).aupdate(threshold=50)
    anthropic_standin.then(Reply("Let me look.", tools=(LIST,)), Reply("Done."))
    await page.send("condense.put_off")
    await shown(page, due="condense this turn.")
    await page.ask("And now?")
    assert await purposes(conversation) == ["chat", "chat"]
    assert "Your next message will condense the context first." in page.frames[-1]["due"]
    anthropic_standin.then(Reply(SUMMARY), Reply("Yes."))
    await page.ask("Go on.")
    assert await purposes(conversation) == ["chat", "chat", "summary", "chat"]


@pytest.mark.parametrize(
    ("window", "overflows", "said"),
    [
        (10_000, False, r"the next request \((\d,\d+) tokens\) would not fit in 8,400\."),
        (12_000, True, r"the provider refused the request as too long\."),
    ],
)
async def test_a_promise_to_wait_that_had_to_be_broken_is_told_where_the_condensation_is(
    conversation: Conversation,
    anthropic_standin: Standin,
    browser: Client,
    page: Page,
    *,
    window: int,
    overflows: bool,
    said: str,
) -> None:
    """In the chat, the record and the history; from then on nothing is put off any more."""
    await Profile.objects.aupdate(context_window=window, max_output=1_600)
    await page.send("condense.put_off")
    await page.until("panel.changed")
    anthropic_standin.then(*([OVERFLOW] if overflows else []), Reply(SUMMARY), Reply("Yes."))
    await page.ask("And now?")
    assert "this turn" not in page.frames[-1]["due"]
    assert not (await Conversation.objects.aget()).put_off
    attempt = await Condensation.objects.aget()
    assert re.fullmatch(f"You asked to wait; condensing could not wait: {said}", attempt.notes[0])
    for name, key in (("chat", []), ("condensation", [attempt.pk]), ("condensations", None)):
        address = reverse(name, args=None if key is None else [conversation.pk, *key])
        assert attempt.notes[0] in html.unescape((await sync_to_async(browser.get)(address)).text)


@pytest.mark.parametrize("end", ["done", "failed", "stopped"])
async def test_what_was_put_off_is_put_off_for_one_turn_however_that_ends(
    conversation: Conversation, alice: User, anthropic_standin: Standin, page: Page, end: str
) -> None:
    """Also where nothing was due in it; what is put off while one runs is of the next one."""
    await page.send("condense.put_off")
    await page.until("panel.changed")
    gate = Gate()
    anthropic_standin.then(UNAUTHORIZED if end == "failed" else Reply("Yes.", gate=gate))
    await page.say("And now?")
    if end == "stopped":
        assert await asyncio.to_thread(gate.wait_until_reached)
        await page.send("turn.stop")
    gate.open()
    await page.until_idle()
    assert not (await Conversation.objects.aget()).put_off
    running = Reply("Yes.", gate=Gate())
    async with answering(conversation, alice, anthropic_standin, running) as other:
        await other.send("condense.put_off")
        await other.until("panel.changed")
        running.gate.open()
        await other.until_idle()
    assert (await Conversation.objects.aget()).put_off


def test_what_was_put_off_for_a_turn_that_a_crash_ended_is_not_any_more(
    conversation: Conversation,
) -> None:
    """Whoever closes the turn, as crash recovery does."""
    message_store.put_off(conversation, True)
    turn = ask(conversation, "And now?")
    lifecycle.finish_turn(turn=turn, status=Turn.Status.INTERRUPTED)
    assert not Conversation.objects.get().put_off
