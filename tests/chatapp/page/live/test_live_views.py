"""What no hint told is found in the rows, and shown a little later."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import timedelta
from typing import Any, override

import orjson
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings

import condense
from chatapp.agent import events
from chatapp.conversations.context.sizes import figures_of
from chatapp.conversations.context.turn_context import read_terms
from chatapp.models import Conversation, Profile, QueuedMessage, Turn
from chatapp.page.live import hints, live_views
from chatapp.page.live.channel import channel
from chatapp.page.live.live_views import LiveViews
from chatapp.project import languages
from tests.chatapp.claude import answered_by
from tests.chatapp.conftest import Say
from tests.chatapp.scripted_turns import ask, end
from tests.chatapp.sockets import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

Frame = dict[str, Any]


class Reader:
    """A page without a socket: its conversation's view, and the frames that it gets."""

    def __init__(
        self, conversation: Conversation, views: LiveViews, frames: AsyncIterator[str]
    ) -> None:
        self.conversation, self.views, self._frames = conversation, views, frames

    async def until(self, type_: str, **fields: Any) -> Frame:
        """Return the next frame of a type with these fields."""
        async with asyncio.timeout(PATIENCE):
            async for text in self._frames:
                frame: Frame = orjson.loads(text)
                if frame["type"] == type_ and fields.items() <= frame.items():
                    return frame
        raise AssertionError

    async def rest(self) -> list[str]:
        """Return the types of all frames up to now."""
        view = self.views.views[self.conversation.pk][languages.Reader()]
        view.show_list()
        types: list[str] = []
        async for text in self._frames:
            types.append(orjson.loads(text)["type"])
            if types[-1] == "list.changed":
                break
        return types[:-1]


@pytest.fixture
async def reader(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Reader]:
    """A page past its snapshot, before the first look of its process, which hears no hint."""
    monkeypatch.setattr("chatapp.page.live.live_views.LONGEST_CATCHING_UP", 0)
    views = LiveViews()
    async with aclosing(views.watch(conversation, None)) as frames:
        reader = Reader(conversation, views, frames)
        await reader.until("snapshot")
        yield reader


async def test_a_turn_that_nobody_told_of_is_shown_as_far_as_it_is(reader: Reader) -> None:
    """It runs in another process, whose hint was lost; its words come from the channel."""
    turn = await sync_to_async(ask)(reader.conversation)
    publisher = channel.open(turn.pk, turn.attempt)
    publisher.publish(events.StepStarted(1))
    publisher.publish(events.TextStreamed("Some words here."))
    await reader.views.look()
    await reader.until("status.changed", turn=str(turn.pk))
    assert "Some words" in (await reader.until("text.streamed"))["open"]


async def test_rows_are_looked_at_each_second_while_no_hint_arrives(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise every ten."""
    monkeypatch.setattr(live_views, "WITHOUT_HINTS", 0.0)
    monkeypatch.setattr(channel, "is_away", True)
    turn = await sync_to_async(ask)(reader.conversation)
    await sync_to_async(end)(turn, "So it is.")
    looking = asyncio.create_task(reader.views._look_again())
    await reader.until("transcript.changed")
    looking.cancel()


async def test_one_of_which_nothing_can_be_heard_is_shown_as_that(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it did when the channel went away may be over."""
    turn = await sync_to_async(ask)(reader.conversation)
    channel.open(turn.pk, turn.attempt).publish(events.StepStarted(1))
    await reader.views.look()
    await reader.until("status.changed", text="Waiting for the model…")
    monkeypatch.setattr(channel, "is_away", True)
    await reader.views.look()
    await reader.until("status.changed", text="Running. News of it comes late.")


async def test_one_that_waits_for_a_person_is_shown_as_that(reader: Reader) -> None:
    """No process may have it, so nothing is told of it."""
    turn = await sync_to_async(ask)(reader.conversation)
    await sync_to_async(turn.wait)()
    await reader.views.look()
    shown = await reader.until("status.changed", turn=str(turn.pk))
    assert (shown["text"], shown["waits"]) == ("Waiting for you.", True)


async def test_one_that_no_worker_takes_is_shown_as_that(reader: Reader) -> None:
    """Nobody thinks yet; what its worker tells is shown as ever."""
    turn = await sync_to_async(ask)(reader.conversation)
    long_ago = timezone.now() - timedelta(minutes=1)
    await Turn.objects.filter(pk=turn.pk).aupdate(owner="", offered_at=long_ago)
    for _look in range(2):
        await reader.views.look()
    await reader.until("status.changed", text="Waiting for a free worker…", turn=str(turn.pk))
    channel.open(turn.pk, turn.attempt).publish(events.StepStarted(1))
    await reader.until("status.changed", text="Waiting for the model…")


async def test_what_is_awaited_makes_way_for_a_condensation_and_a_call(reader: Reader) -> None:
    """It comes back behind the one, and says nothing more beside the other."""
    turn = await sync_to_async(ask)(reader.conversation)
    publisher = channel.open(turn.pk, turn.attempt)
    publisher.publish(events.StepStarted(1))
    await reader.views.look()
    assert "is reading" in (await reader.until("article.upserted", id="streaming"))["html"]
    publisher.publish(events.CondensingStarted("auto"))
    await reader.until("article.removed", id="streaming")
    publisher.publish(events.CondensingEnded("condensed", "succeeded"))
    assert "is reading" in (await reader.until("article.upserted", id="streaming"))["html"]
    publisher.publish(events.ToolUseStarted("call_1", "read_file"))
    assert "reading" not in (await reader.until("article.upserted", id="streaming"))["html"]


async def test_a_profile_that_answers_once_is_named_in_every_process(
    reader: Reader, alice: User
) -> None:
    """This one does not run the turn: it finds in its row whose answer is awaited."""
    turn, own = await sync_to_async(ask)(reader.conversation), reader.conversation
    once = await sync_to_async(answered_by)(alice, "offline", "offline", "")
    await Profile.objects.filter(pk=once.pk).aupdate(name="Once")
    await Turn.objects.filter(pk=turn.pk).aupdate(profile=once)
    terms = await sync_to_async(read_terms)(own.pk)
    assert terms
    size = condense.TokenCount(40)
    context = await sync_to_async(figures_of)(terms, [], size)
    publisher = channel.open(turn.pk, turn.attempt)
    publisher.publish(context)
    publisher.publish(events.StepStarted(1))
    await reader.views.look()
    shown = await reader.until("article.upserted", id="streaming")
    assert "<bdi>Once</bdi> is reading" in shown["html"]


async def test_an_end_that_was_not_heard_is_shown(reader: Reader) -> None:
    """Nothing tells it any more: a page would show for ever that the turn runs."""
    turn = await sync_to_async(ask)(reader.conversation)
    channel.open(turn.pk, turn.attempt).publish(events.TextStreamed("Some words."))
    await reader.views.look()
    await reader.until("text.streamed")
    await sync_to_async(end)(turn, "Some words.")
    await reader.views.look()
    shown = await reader.until("status.changed", turn="")
    assert shown["text"] == "Done."
    assert reader.views.views[reader.conversation.pk][languages.Reader()].followed is None


@pytest.mark.parametrize(("stored", "unsaved"), [("Some", []), ("", ["Some words."])])
async def test_text_whose_end_was_not_heard_is_unsaved_where_no_reply_is_stored(
    reader: Reader, stored: str, unsaved: list[str]
) -> None:
    """What a dead worker had saved of a reply stands in its row, and not twice."""
    turn = await sync_to_async(ask)(reader.conversation)
    channel.open(turn.pk, turn.attempt).publish(events.TextStreamed("Some words."))
    await reader.views.look()
    await reader.until("text.streamed")
    await sync_to_async(end)(turn, stored, status=Turn.Status.INTERRUPTED)
    await reader.views.look()
    await reader.until("status.changed", turn="")
    view = reader.views.views[reader.conversation.pk][languages.Reader()]
    articles = await view.turn_view.articles()
    kept = [html for id_, html in articles if id_.startswith("unsaved-")]
    assert [text in html for text, html in zip(unsaved, kept, strict=True)] == [True] * len(unsaved)


async def test_a_turn_that_is_heard_of_while_the_rows_are_read_is_not_taken_for_over(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read is from before it began."""
    turn = await sync_to_async(ask)(reader.conversation)
    view = reader.views.views[reader.conversation.pk][languages.Reader()]
    loop = asyncio.get_running_loop()

    def find_none(_conversation: uuid.UUID) -> None:
        loop.call_soon_threadsafe(view.follow, turn.pk)

    monkeypatch.setattr("chatapp.page.live.live_views._find_unfinished", find_none)
    await view.catch_up()
    assert view.followed == turn.pk
    channel.open(turn.pk, turn.attempt).publish(events.TextStreamed("Some words."))
    await reader.until("text.streamed")


async def test_the_next_turn_is_shown_where_the_end_of_the_last_was_not_heard(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever took over may tell of a new one only."""
    monkeypatch.setattr("chatapp.page.live.live_views.LONGEST_END", 0)
    first = await sync_to_async(ask)(reader.conversation)
    await reader.views.look()
    await reader.until("status.changed", turn=str(first.pk))
    await sync_to_async(end)(first)
    second = await sync_to_async(ask)(reader.conversation)
    channel.open(second.pk, second.attempt).publish(events.TextStreamed("Others come here."))
    await reader.views.look()
    await reader.until("status.changed", turn=str(second.pk))
    assert "Others come" in (await reader.until("text.streamed"))["open"]


async def test_a_change_that_nobody_told_of_is_shown_once(reader: Reader, say: Say) -> None:
    """Whatever else was shown meanwhile; and nothing where nothing has changed."""
    await reader.views.look()
    assert await reader.rest() == []
    await sync_to_async(say)("user", "From elsewhere.")
    await reader.views.look()
    await reader.views.look()
    assert await reader.rest() == ["transcript.changed", "panel.changed"]


async def test_what_a_turn_has_changed_is_not_fetched_again(reader: Reader) -> None:
    """Its events have shown it, while it ran and at its end."""
    turn = await sync_to_async(ask)(reader.conversation)
    publisher = channel.open(turn.pk, turn.attempt)
    await reader.views.look()
    await sync_to_async(end)(turn, "Some words.")
    publisher.publish(events.TurnEnded("Done."))
    await reader.until("status.changed", turn="")
    await reader.until("panel.changed")
    await reader.views.look()
    assert await reader.rest() == []


async def test_a_channel_that_is_back_has_all_fetched_that_may_have_been_missed(
    reader: Reader,
) -> None:
    """Rows, queue, list and title, and the turn that runs by now."""
    turn = await sync_to_async(ask)(reader.conversation)
    await QueuedMessage.objects.acreate(conversation=reader.conversation, text="And then?")
    reader.views.hear(hints.ChannelRestored())
    await reader.until("list.changed")
    await reader.until("title.changed")
    view = reader.views.views[reader.conversation.pk][languages.Reader()]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*view._tasks)
    assert view.followed == turn.pk
    told = await reader.rest()
    assert {"queue.changed", "transcript.changed", "panel.changed", "status.changed"} <= {*told}


class Stumbling(LiveViews):
    """Views that look again at once, and at first in vain."""

    interval, fails = 0.01, True

    @override
    async def look(self) -> None:
        if self.fails:
            self.fails = False
            raise ZeroDivisionError
        await super().look()


async def test_where_several_processes_write_each_looks_from_time_to_time(
    conversation: Conversation, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as somebody watches, and although a look fails."""
    monkeypatch.setattr("chatapp.page.live.live_views.LONGEST_CATCHING_UP", 0)
    settings.CLUSTER = True
    views = Stumbling()
    async with aclosing(views.watch(conversation, None)) as frames:
        reader = Reader(conversation, views, frames)
        await reader.until("snapshot")
        turn = await sync_to_async(ask)(conversation)
        await reader.until("status.changed", turn=str(turn.pk))
        await sync_to_async(end)(turn)
        await reader.until("status.changed", turn="")
        assert views._looking
    await views._looking
