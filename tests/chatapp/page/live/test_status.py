"""The line that says what a turn does."""

import json
import uuid
from contextlib import aclosing

from chatapp.page.live.outgoing_frames import Frame, PageProgress, Watchers
from chatapp.page.live.turn_view import TurnView


async def test_a_status_is_sent_once_for_each_turn() -> None:
    """The same words of another turn are news: they bring the turn that Stop is for."""
    watchers, turns = Watchers(), [uuid.uuid4(), uuid.uuid4()]
    view = TurnView(uuid.uuid4(), watchers)

    async def snapshot(_place: PageProgress) -> Frame:
        return {}

    async with aclosing(watchers.watch(snapshot)) as frames:
        assert await anext(frames) == "{}"
        for turn in [turns[0], turns[0], turns[1], turns[1]]:
            view.begin(turn)
        sent = [json.loads(await anext(frames)) for _ in range(watchers.change)]
    assert [frame["turn"] for frame in sent] == [str(turn) for turn in turns]
