"""Whoever watches gets every frame, or is told to come back for a snapshot."""

import asyncio
import json

from chatapp.live import frames
from chatapp.live.watchers import BACKLOG, Watchers

PATIENCE = 60


async def nothing_yet(_place: frames.Place) -> list[frames.Frame]:
    """Return a snapshot of one frame."""
    return [frames.status_changed("", turn="")]


async def test_a_watcher_that_falls_too_far_behind_is_dropped_and_told() -> None:
    """What it was sent until then still reaches it; then its frames end."""
    watchers = Watchers()
    heard = watchers.watch(nothing_yet)
    await anext(heard)
    for number in range(BACKLOG + 1):
        watchers.send(frames.condensing_progressed(str(number)))
    assert not watchers
    async with asyncio.timeout(PATIENCE):
        got = [json.loads(text) async for text in heard]
    assert [frame["written"] for frame in got] == [str(number) for number in range(BACKLOG)]
