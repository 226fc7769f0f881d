"""Where the answer will be stands who reads what, since when, and how long it took before."""

import re

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chatapp.models import Conversation, ModelCall, Profile
from tests.chatapp.claude import answered_by
from tests.chatapp.sockets import Page, open_page
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

READING = re.compile(r"<bdi>Claude \d</bdi> is reading ≈ [\d,]+ tokens · <span role=.timer")


async def awaited(page: Page) -> str:
    """Return what stands where the next answer will be."""
    return str((await page.until("article.upserted", id="streaming"))["html"])


async def test_the_line_says_what_is_read_and_how_long_that_took_last_time(
    conversation: Conversation, alice: User, standin: Standin
) -> None:
    """Also on a page that comes later; with the first word it is gone."""
    first = Gate()
    standin.then(Reply("One."), Reply("Two.", hold=first))
    async with open_page(conversation, alice) as page:
        await page.say("Hi")
        shown = await awaited(page)
        assert READING.search(shown)
        assert "first word in about" not in shown
        await page.until_idle()
        await ModelCall.objects.aupdate(seconds_to_first=30)
        await page.say("And?")
        assert re.search(r"first word in about 3\d s", await awaited(page))
        async with open_page(conversation, alice) as other:
            (article,) = other.frames[0]["articles"]
            assert re.search(r"is reading .* first word in about", article["html"])
        first.open()
        assert "is reading" not in await awaited(page)
        await page.until_idle()


async def test_another_profile_answers_again_this_once(
    conversation: Conversation, alice: User, standin: Standin
) -> None:
    """The conversation keeps its own; nobody else's answers, nor one that is gone."""
    bob = await User.objects.acreate(username="bob")
    make = sync_to_async(answered_by)
    other, foreign = [
        await make(one, "anthropic", "claude-haiku-4-5", standin.url) for one in (alice, bob)
    ]
    standin.then(Reply("One."), Reply("Two."), Reply("Three."))
    async with open_page(conversation, alice) as page:
        await page.ask("Hi")
        again = {"nonce": page.nonce.replace(page.nonce[:8], "00000000"), "seq": 2}
        for wrong in (foreign.pk, 0x7FFFFFFF):
            await page.send("turn.regenerate", **again, profile=wrong)
            assert (await page.until("refused"))["reason"].startswith("This profile is gone.")
        await page.send("turn.regenerate", **again, profile="1")
        assert "out of date" in (await page.until("refused"))["reason"]
        await page.send("turn.regenerate", **again, profile=other.pk)
        await page.until_idle()
        await page.ask("And?")
    models = [one.model async for one in ModelCall.objects.order_by("pk")]
    assert models == ["claude-opus-5", "claude-haiku-4-5", "claude-opus-5"]
    await conversation.arefresh_from_db()
    assert (await Profile.objects.aget(pk=conversation.profile_id)).model == "claude-opus-5"
