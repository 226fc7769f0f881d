"""What surrounds the transcript while something runs: condensation, notice, what is announced."""

import asyncio
import re
import threading
from typing import Any, override

import pytest
from django.template import Template
from django.test.signals import template_rendered

from chatapp.agent import events
from chatapp.models import Conversation
from chatapp.page.live import hints, outgoing_frames
from chatapp.page.live.live_views import LiveView
from tests.chatapp.page.live.heard import Heard, follow_turn
from tests.chatapp.sockets import PATIENCE, Page
from tests.long_texts import filler
from tests.standin.behaviours import Gate, Reply, rate_limited
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

SUMMARY = "<summary>The vault's word is heliotrope.</summary>"
LONG = filler(3_750)


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


async def test_a_retry_of_the_summary_is_counted_down_until_its_first_words(
    anthropic_standin: Standin, page: Page
) -> None:
    """The condensing status stays beside the notice."""
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
    assert said[-4:] == [
        "Condensing context…",
        "Trying again: 2 of 5",
        "Condensing context…",
        "Context condensed",
    ]


async def test_the_next_step_takes_away_the_status_of_an_attempt_that_never_ended(
    conversation: Conversation,
) -> None:
    """One can be cancelled before its record begins; no spinner sticks."""
    heard = Heard()
    told = await follow_turn(LiveView(conversation.pk, heard))
    told.publish(events.CondensingStarted("auto"))
    told.publish(events.StepStarted(1))
    told.publish(events.TurnEnded("Done."))
    await heard.until_idle()
    panels = [frame for frame in heard.frames if frame["type"] == "panel.changed"]
    assert [bool(panel["condensing"]) for panel in panels] == [True, False, False]


async def test_a_condensation_takes_the_place_of_the_awaited_model(
    conversation: Conversation,
) -> None:
    """The model is awaited again behind it."""
    heard = Heard()
    told = await follow_turn(LiveView(conversation.pk, heard))
    told.publish(events.StepStarted(1))
    told.publish(events.CondensingStarted("auto"))
    told.publish(events.CondensingEnded("condensed", "succeeded"))
    told.publish(events.TurnEnded("Done."))
    await heard.until_idle()
    lines = [one["type"] for one in heard.frames if one.get("id") == "streaming"]
    assert lines[:3] == ["article.upserted", "article.removed", "article.upserted"]


class Drafted(Heard):
    """Notes that a draft was told, and more of it."""

    def __init__(self) -> None:
        """Hear nothing yet."""
        super().__init__()
        self.begun, self.more = asyncio.Event(), threading.Event()

    @override
    def send(self, frame: outgoing_frames.Frame) -> None:
        super().send(frame)
        if frame.get("draft"):
            self.begun.set()
        if frame["type"] == "draft.streamed":
            self.more.set()


async def test_a_panel_shows_no_less_of_a_summary_than_was_told_while_it_was_drawn(
    conversation: Conversation,
) -> None:
    """It is drawn in a thread, beside which the summary goes on."""
    heard, loop = Drafted(), asyncio.get_running_loop()
    view = LiveView(conversation.pk, heard)
    told = await follow_turn(view)

    def tell_more(template: Template, **_rest: object) -> None:
        if template.name == "chat/_notice.html" and not heard.more.is_set():
            loop.call_soon_threadsafe(told.publish, events.SummaryStreamed(" two", 3))
            assert heard.more.wait(PATIENCE)

    told.publish(events.CondensingStarted("auto"))
    told.publish(events.SummaryStreamed("One"))
    await heard.begun.wait()
    template_rendered.connect(tell_more)
    view.hear(hints.SavingDelayed(conversation.pk, until=1))
    assert await asyncio.to_thread(heard.more.wait, PATIENCE)
    told.publish(events.TurnEnded("Done."))
    await heard.until_idle()
    drafts = [frame["draft"] for frame in heard.frames if frame.get("draft")]
    assert drafts[1] == "One two"
    assert "One" not in drafts[1:]
