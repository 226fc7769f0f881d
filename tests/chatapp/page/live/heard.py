"""Watchers that are nobody's page, and turns that nobody runs."""

import asyncio
from typing import Any, override

from chatapp.models import Turn
from chatapp.page.live import outgoing_frames
from chatapp.page.live.channel import Publisher, channel
from chatapp.page.live.live_views import LiveView
from chatapp.page.live.outgoing_frames import Watchers
from tests.chatapp.sockets import PATIENCE


class Heard(Watchers):
    """Somebody who watches, and remembers every frame."""

    def __init__(self) -> None:
        """Hear nothing yet."""
        super().__init__()
        self.frames: list[dict[str, Any]] = []
        self._news = asyncio.Event()

    @override
    def __bool__(self) -> bool:
        return True

    @override
    def send(self, frame: outgoing_frames.Frame) -> None:
        self.frames.append(frame)
        self._news.set()

    async def until_idle(self) -> None:
        """Wait until nothing runs any more, and for the panel that follows."""
        async with asyncio.timeout(PATIENCE):
            while not self._is_idle():
                self._news.clear()
                await self._news.wait()

    def _is_idle(self) -> bool:
        said, last = self.frames[-2:] if len(self.frames) > 1 else ({}, {})
        return said.get("turn") == "" and last.get("type") == "panel.changed"


async def follow_turn(view: LiveView) -> Publisher:
    """Have a view follow a turn, and return what tells its events as soon as it hears them."""
    turn = Turn(conversation_id=view.conversation_id)
    told = channel.open(turn.pk, turn.attempt)
    view.follow(turn.pk)
    await view._caught_up.wait()
    return told
