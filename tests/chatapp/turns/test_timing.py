"""When a context is condensed: what is said of it, after a step, and not now."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_django
from django.contrib.auth.models import User

from chatapp.models import Condensation, Conversation, ModelCall, Preferences, Turn
from tests.chatapp.claude import converse
from tests.chatapp.scripted_turns import ask, end
from tests.chatapp.sockets import Page, open_page
from tests.standin.behaviours import Gate, Reply, ToolCall
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

SUMMARY = "<analysis>Short.</analysis><summary>What was said.</summary>"
LONG = " ".join(map(str, [*range(100, 725)] * 3))
AWAITED = "Condenses after this step."
LIST = ToolCall("list_files", {})


@pytest.fixture
def conversation(
    alice: User, anthropic_standin: Standin, settings: pytest_django.Settings
) -> Conversation:
    """A conversation of some 9,000 tokens in a window of 12,000, of which 10,600 may be used."""
    # One word is summary enough here.
    settings.CONDENSE_DEFAULT_HOOKS = False
    conversation = converse(alice, anthropic_standin, context_window=12_000, max_output=200)
    for text in ("The first answer.", "The second answer."):
        end(ask(conversation, LONG), text)
    conversation.messages.filter(role="user").update(tokens=3_750)
    return conversation


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
    await shown(page, due="put off by one turn")
    await page.ask("And now?")
    assert await purposes(conversation) == ["chat", "chat"]
    assert "Will condense before your next message." in page.frames[-1]["due"]
    anthropic_standin.then(Reply(SUMMARY), Reply("Yes."))
    await page.ask("Go on.")
    assert await purposes(conversation) == ["chat", "chat", "summary", "chat"]


async def test_what_no_longer_fits_is_condensed_although_it_was_put_off(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """Where the request would leave no room for the reply, the turn could not go on without."""
    profile = conversation.profile
    assert profile
    profile.context_window, profile.max_output = 10_000, 1_600
    await profile.asave()
    await page.send("condense.put_off")
    await shown(page, due="put off by one turn")
    anthropic_standin.then(Reply(SUMMARY), Reply("Yes."))
    await page.ask("And now?")
    assert (await purposes(conversation))[0] == "summary"
