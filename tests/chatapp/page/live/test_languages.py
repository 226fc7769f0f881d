"""What a socket says is in the language of its page's reader."""

import asyncio
import json
import uuid
from decimal import Decimal

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext

from chatapp.models import Conversation, ModelCall, Preferences, ServerSettings, Turn
from chatapp.project.languages import Reader, in_words
from chatapp.project.sentences import translate
from tests.chatapp.claude import converse
from tests.chatapp.sockets import PATIENCE, Page, open_page, socket_of
from tests.standin.behaviours import Failure, Gate, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

NOTHING = "There is nothing to send yet. Type a message first."
BUSY = "The previous turn is still running. Stop it first, or wait."
TOO_MANY = (
    (
        "You may have {count:,} turn at once, and it is not over. Wait for it, answer what it "
        "asks, or stop it."
    ),
    (
        "You may have {count:,} turns at once, and none of yours is over. Wait for one, answer "
        "what it asks, or stop it."
    ),
)
TOO_OFTEN = (
    "Limit of {count:,} request a minute reached. Try again in {seconds} s.",
    "Limit of {count:,} requests a minute reached. Try again in {seconds} s.",
)


async def refusal(browser: Client, conversation: Conversation, accepts: str) -> str:
    """Return why a socket of the browser's takes no empty message."""
    socket = socket_of(browser, f"/ws/c/{conversation.pk}/", accepts=accepts)
    assert await socket.connect(PATIENCE) == (True, None)
    page = Page(socket)
    await page.until("snapshot")
    why = await page.refusal(" ")
    await socket.disconnect(timeout=PATIENCE)
    return why


async def test_a_socket_speaks_as_its_page_does(
    conversation: Conversation, alice: User, browser: Client
) -> None:
    """The account's choice comes first, then the sign-in page's, then the browser's languages."""

    async def said_in(language: str, accepts: str) -> bool:
        with translation.override(language):
            wanted = gettext(NOTHING)
        return await refusal(browser, conversation, accepts) == wanted

    assert await said_in("en", "")
    assert await said_in("fr", "tlh, fr;q=0.5")
    await sync_to_async(browser.post)(reverse("set_language"), {"language": "ko"})
    assert await said_in("ko", "fr")
    await Preferences.objects.filter(owner=alice).aupdate(language="de")
    assert await said_in("de", "fr")


@pytest.mark.parametrize("language", ["ar", "de", "ja"])
async def test_what_is_refused_is_told_in_the_readers_language(
    conversation: Conversation, alice: User, anthropic_standin: Standin, language: str
) -> None:
    """Limits too, and what may be on record; the same is English on an English page."""
    other = await sync_to_async(converse)(alice, anthropic_standin)
    gate = Gate()
    anthropic_standin.then(Reply("One.", gate=gate), Reply("Two."))
    async with (
        open_page(conversation, alice, language=language) as page,
        open_page(conversation, alice) as english,
        open_page(other, alice, language=language) as second,
    ):
        await page.begin("First")
        with translation.override(language):
            assert await page.refusal("Second") == gettext(BUSY) != BUSY
        assert await english.refusal("Second") == BUSY
        await page.communicator.send_to(text_data=json.dumps({"type": "nothing"}))
        with translation.override(language):
            outdated = gettext("This page is out of date. Reload it.")
        assert (await page.until("refused"))["reason"] == outdated
        await ServerSettings.objects.aupdate_or_create(pk=1, defaults={"turns_at_once": 1})
        with translation.override(language):
            most = translate(*TOO_MANY, count=1)
        assert await second.refusal("Second") == most
        await ServerSettings.objects.aupdate(requests_per_minute=1)
        with translation.override(language):
            before, after = translate(*TOO_OFTEN, count=1, seconds="x").split("x")
        why = await page.refusal("Third")
        assert why.startswith(before)
        assert why.endswith(after)
        await ServerSettings.objects.all().adelete()
        gate.open()
        await page.until_idle()


async def test_a_limit_that_a_record_may_hold_is_told_in_it(
    conversation: Conversation, alice: User
) -> None:
    """With amounts as the reader writes them."""
    call = {"conversation": conversation, "purpose": "chat"}
    await ModelCall.objects.acreate(cost=Decimal(1_250), **call)
    await Conversation.objects.filter(pk=conversation.pk).aupdate(budget=Decimal("0.01"))
    async with open_page(conversation, alice, language="de") as page:
        why = await page.refusal("Hi", nonce=str(uuid.uuid4()))
    assert why.startswith("Das Budget dieser Unterhaltung ist aufgebraucht: 1.250,00\xa0$ von")


async def test_two_pages_are_each_told_in_their_own_language(
    conversation: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """Whichever came last: what goes on, the context, and how it ended."""
    gate, failure = Gate(), Failure(404, "not_found_error", "model: my model")
    anthropic_standin.then(Reply("One.", gate=gate), failure)
    async with (
        open_page(conversation, alice, language="de") as german,
        open_page(conversation, alice) as english,
    ):
        await german.begin("First")
        async with open_page(conversation, alice, language="ja") as japanese:
            gate.open()
            await asyncio.gather(*(one.until_idle() for one in (german, english, japanese)))
            await asyncio.gather(german.ask("Second"), english.until_idle(), japanese.until_idle())
            for page in (german, english, japanese):
                await page.send("ping")
                upto = (await page.until("pong"))["upto"]
                assert upto == max(one.get("change", 0) for one in page.frames)

    rows = [await Turn.objects.alatest("started_at"), await ModelCall.objects.alatest("created_at")]
    assert all(one.error.values == {"model": conversation.profile.model} for one in rows)

    def told(page: Page) -> tuple[list[str], str]:
        frames = [one for one in page.frames if one["type"] == "status.changed"]
        panels = [one["notice"] + one["bar"] for one in page.frames if "notice" in one]
        return [one["text"] for one in frames], panels[-1]

    (said, panel), of_german, of_japanese = told(english), told(german), told(japanese)
    assert {"Writing…", "Done.", "Failed."} <= {*said}
    for language, (others, other_panel) in (("de", of_german), ("ja", of_japanese)):
        with Reader(language, language).reading():
            words = [in_words(one) if in_words(one) != one else gettext(one) for one in said]
            window = gettext("Context window")
        assert others == words[-len(others) :]
        assert panel != other_panel
        assert window in other_panel
