"""Whoever watches gets every frame, or is told to come back for a snapshot."""

import asyncio

from chatapp.live import protocol
from chatapp.live.watchers import BACKLOG, Watchers

PATIENCE = 60


async def nothing_yet() -> list[protocol.Frame]:
    """Return a snapshot of one frame."""
    return [protocol.status_changed("", running=False)]


async def test_a_watcher_that_falls_too_far_behind_is_dropped_and_told() -> None:
    """What it was sent until then still reaches it; then its frames end."""
    watchers = Watchers()
    frames = watchers.watch(nothing_yet)
    await anext(frames)
    sent = [protocol.condensing_progressed(f"{number}") for number in range(BACKLOG + 1)]
    for frame in sent:
        watchers.send(frame)
    assert not watchers
    async with asyncio.timeout(PATIENCE):
        assert [frame async for frame in frames] == sent[:BACKLOG]
