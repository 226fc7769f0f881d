"""What surrounds the transcript while something runs: the band, the notice, what is announced."""

import re
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chatapp.agent import events
from chatapp.live.live_view import LiveView
from chatapp.models import Conversation
from tests.chatapp.live.heard import Heard
from tests.chatapp.runs import run_in
from tests.chatapp.sockets import Page, open_page
from tests.standin.behaviours import Failure, Gate, Reply, rate_limited
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

SUMMARY = "<summary>The vault's word is heliotrope.</summary>"
NO_SUMMARY = Failure(400, "invalid_request_error", "This model writes no summaries")
LONG = " ".join(map(str, [*range(100, 725)] * 3))  # 3,750 tokens


def values(frames: list[dict[str, Any]], type_: str, name: str) -> list[Any]:
    """Return what a field of a type's frames became, one after the other, repeats left out."""
    found: list[Any] = []
    for frame in frames:
        if frame["type"] == type_ and found[-1:] != [frame[name]]:
            found.append(frame[name])
    return found


def moment(html: str, name: str) -> float:
    """Return the Unix seconds in an attribute of the panel's HTML."""
    found = re.search(f'data-{name}="([0-9.]+)"', html)
    assert found, html
    return float(found[1])


async def test_the_band_is_the_same_until_it_goes_and_its_figures_come_beside_it(
    conversation: Conversation, alice: User, anthropic_standin: Standin, page: Page
) -> None:
    """Shown anew twice a second, it would take the focus from its button; a late page has it."""
    gate = Gate()
    anthropic_standin.then(Reply("Noted."), Reply(SUMMARY, gate=gate))
    await page.ask(LONG)
    known = len(page.frames)
    await page.send("condense.start")
    await page.until("condensing.progressed")
    async with open_page(conversation, alice) as late:
        assert "Condensing context…" in late.frames[0]["panel"]["condensing"]
    gate.open()
    await page.until_idle()
    before, band, after = values(page.frames[known - 1 :], "panel.changed", "condensing")
    assert (before, after) == ("", "")
    assert "Condensing context…" in band
    assert "tokens written" in str(values(page.frames, "condensing.progressed", "written"))


async def test_a_page_that_opens_while_a_retry_waits_counts_down_the_rest(
    conversation: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """Not the whole time again: the moment is the same, whenever it is shown."""
    anthropic_standin.then(rate_limited(60))
    async with open_page(conversation, alice) as page:
        await page.say("Hello.")
        while not (panel := await page.until("panel.changed"))["notice"]:
            pass
        async with open_page(conversation, alice) as late:
            shown = late.frames[0]["panel"]
        await page.stop()
    assert shown["notice"] == panel["notice"]
    assert shown["now"] > panel["now"]
    assert 50 < moment(shown["notice"], "until") - panel["now"] < 60.1


async def test_a_retry_of_the_summary_is_counted_down_until_its_first_words(
    anthropic_standin: Standin, page: Page
) -> None:
    """The band stays beside the notice."""
    gate = Gate()
    anthropic_standin.then(Reply("Noted."), rate_limited(0), Reply(SUMMARY, gate=gate))
    await page.ask(LONG)
    await page.send("condense.start")
    while not (panel := await page.until("panel.changed"))["notice"]:
        pass
    assert panel["condensing"]
    assert "rate limit" in panel["notice"]
    assert moment(panel["notice"], "until")
    assert not (await page.until("panel.changed"))["notice"]
    gate.open()
    await page.until_idle()
    said = values(page.frames, "status.changed", "text")
    assert said[-5:] == [
        "Condensing context…",
        "Trying again: 2 of 5",
        "Condensing context…",
        "Context condensed",
        "Done.",
    ]


async def test_the_next_step_takes_away_the_band_of_an_attempt_that_never_ended(
    conversation: Conversation,
) -> None:
    """One can be cancelled before its record begins; no spinner sticks."""
    heard = Heard()
    view = LiveView(conversation.pk, heard)
    view.begin(await sync_to_async(run_in)(conversation))
    view.publish(events.CondensingStarted("auto"))
    view.publish(events.StepStarted(1))
    await view.end("Done.", None)
    panels = [frame for frame in heard.frames if frame["type"] == "panel.changed"]
    assert [bool(panel["condensing"]) for panel in panels] == [True, False, False]
