"""Whoever watches gets every frame, or is told to come back for a snapshot."""

import asyncio
import json

import pytest

from chatapp.live import outgoing_frames
from chatapp.live.watchers import BACKLOG, KEPT, Watchers

PATIENCE = 60


async def nothing_yet(_place: outgoing_frames.Place) -> outgoing_frames.Frame:
    """Return a snapshot of one frame."""
    return outgoing_frames.status_changed("", turn="")


@pytest.mark.parametrize("sent", [["x"] * (BACKLOG + 1), ["x" * (KEPT // 9)] * 9])
async def test_a_watcher_that_falls_too_far_behind_is_told_to_come_back(sent: list[str]) -> None:
    """By the number of frames, and by their size; one that is not, gets all."""
    watchers = Watchers()
    behind, fast = watchers.watch(nothing_yet), watchers.watch(nothing_yet)
    await anext(behind)
    await anext(fast)
    async with asyncio.timeout(PATIENCE):
        for text in sent:
            watchers.send(outgoing_frames.draft_streamed(text))
            assert json.loads(await anext(fast))["draft"] == text
        assert [text async for text in behind] == []


async def test_what_is_behind_a_dismissal_is_not_sent_any_more() -> None:
    """Whoever still may watch comes back for it."""
    watchers = Watchers()
    heard = watchers.watch(nothing_yet)
    await anext(heard)
    watchers.send(outgoing_frames.list_changed())
    watchers.dismiss()
    assert not watchers
    async with asyncio.timeout(PATIENCE):
        assert [text async for text in heard] == []
