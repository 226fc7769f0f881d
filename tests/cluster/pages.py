"""Open pages: their sockets, which words they showed, and when.

All of a run are read by one thread.
"""

import asyncio
import contextlib
import json
import os
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.cluster.narrator import Story, read_words
from tests.cluster.screen import Screen, words_of
from tests.cluster.services import PATIENCE

# Seconds before a page comes back that was cut off.
PAUSE = 0.1
# A machine whose processors are idle for less than this share of the time is busy.
IDLE = 0.1
# With these codes it does not: nobody may see it any more.
OVER = {4401, 4403}


class Reading:
    """The thread in which all pages live, and how late it was at worst."""

    def __init__(self) -> None:
        # Moments, by how much each look was late, and for how long processors were idle by then.
        self._looks: list[tuple[float, float, float]] = []
        self._begun = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._watch(),), daemon=True)
        self._thread.start()
        self._begun.wait(PATIENCE)

    def begin[T](self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Have something done in it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def late_since(self, moment: float) -> float:
        """Return by how many seconds the machine delayed this thread at worst since a moment."""
        return max([late for when, late, _idle in self._looks if when >= moment], default=0.0)

    def was_busy_since(self, moment: float) -> bool:
        """Return whether nearly no processor was idle since a moment."""
        (begin, before), *_, (end, after) = [
            (when, idle) for when, _late, idle in self._looks if when >= moment - 2 * PAUSE
        ]
        return after - before < IDLE * (end - begin) * (os.cpu_count() or 1)

    async def _watch(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._begun.set()
        while not self._over.is_set():
            before = time.monotonic()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), PAUSE)
            now = time.monotonic()
            self._looks.append((now, now - before - PAUSE, _read_idle()))

    def close(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(PATIENCE)


class Page:
    """A page of a conversation at one address; it comes back when it is cut off, as browsers do."""

    def __init__(self, reading: Reading, origin: str, conversation: uuid.UUID, cookie: str) -> None:
        self.origin, self.conversation, self.cookie = origin, conversation, cookie
        self.screen = Screen()
        self._reading = reading
        self._news = threading.Condition()
        self._socket: ClientConnection | None = None
        self._epoch, self._change = "", 0
        self._unread = 0
        self._unanswered: dict[str, str] = {}
        self._closing = False
        # What it was sent, and when; and which words it showed first when.
        self.frames: list[tuple[float, dict[str, Any]]] = []
        self.shown: dict[str, float] = {}
        # How often it came back, and with which code it was closed for good.
        self.lines = 0
        self.code = 0
        self.closed_at = 0.0
        reading.begin(self._live())

    # What somebody does there

    def send(self, type_: str, **fields: Any) -> str:
        """Send a command, and return its nonce; one with a nonce is sent until it is answered."""
        command, nonce = json.dumps({"type": type_, **fields}), str(fields.get("nonce", ""))
        if nonce:
            self._unanswered[nonce] = command
        self._reading.begin(self._send(command)).result(PATIENCE)
        return nonce

    def say(self, text: str, **fields: Any) -> str:
        """Send a message, and return its nonce."""
        return self.send("message.send", text=text, nonce=str(uuid.uuid4()), **fields)

    def ask(self, told: Story) -> Story:
        """Ask for a story."""
        self.say(told.message)
        return told

    def stop(self) -> None:
        """Stop what runs."""
        self.send("turn.stop", turn=self.turn)

    def take_up(self, how: str) -> None:
        """Continue, or try again."""
        self.send(f"turn.{how}", nonce=str(uuid.uuid4()), seq=0)

    def close(self) -> None:
        """Go away."""
        self._closing = True
        if self._socket:
            self._reading.begin(self._socket.close()).result(PATIENCE)

    # What it shows

    @property
    def words(self) -> list[str]:
        """The words that it shows, from top to bottom."""
        with self._news:
            return self.screen.words

    @property
    def turn(self) -> str:
        """The id of the turn that runs, "" without one."""
        return self.screen.turn

    def wait[T](self, find: Callable[[], T | None]) -> T:
        """Return what is found, once it is; it is looked for after each frame."""
        with self._news:
            until = time.monotonic() + PATIENCE
            while not (found := find()):
                if not self._news.wait(until - time.monotonic()):
                    last = [frame["type"] for _when, frame in self.frames[-5:]]
                    status, words = self.screen.status, self.words[-9:]
                    raise AssertionError(f"nothing came: {status!r}, {last}, {words}")
            return found

    def _find(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
        """Return the next frame that fits, of those that were not looked at."""
        while self._unread < len(self.frames):
            _when, frame = self.frames[self._unread]
            self._unread += 1
            if fits(frame):
                return frame
        return None

    def until(self, type_: str, **fields: object) -> dict[str, Any]:
        """Return the next frame of a type with these fields, of those that were not looked at."""
        wanted = {"type": type_, **fields}
        return self.wait(lambda: self._find(lambda frame: wanted.items() <= frame.items()))

    def until_idle(self) -> None:
        """Return once nothing runs any more, which was not known when it was last waited for."""
        self.wait(lambda: self._find(lambda frame: is_idle(frame) and bool(self.shown)))

    def idle_since(self, moment: float) -> float | None:
        """Return when it was told first that nothing runs, of what it was told since a moment."""
        return next((when for when, one in self.frames if when > moment and is_idle(one)), None)

    def until_words(self, told: Story, number: int = 1) -> None:
        """Return once it has shown the word of a story that has this number."""
        self.wait(lambda: told.words[number - 1] in self.shown)

    def until_closed(self) -> int:
        """Return the code with which it is closed for good."""
        self.wait(lambda: self.code)
        return self.code

    # How it lives

    async def _send(self, command: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                with contextlib.suppress(ConnectionClosed, AttributeError):
                    await self._socket.send(command)  # type: ignore[union-attr] # it may be away
                    return
                await asyncio.sleep(PAUSE)

    async def _live(self) -> None:
        """Hold a line, and come back whenever it is lost."""
        address = f"{self.origin.replace('http', 'ws', 1)}/ws/c/{self.conversation}/"
        while not (self._closing or self.code):
            place = f"{self._epoch}.{self._change}" if self._epoch else ""
            with contextlib.suppress(OSError, InvalidHandshake, TimeoutError):
                async with connect(
                    f"{address}?since={place}",
                    origin=self.origin,  # type: ignore[arg-type] # a plain string
                    additional_headers={"Cookie": self.cookie},
                    compression=None,
                    max_size=None,
                    ping_interval=None,
                    open_timeout=PATIENCE,
                    close_timeout=1,
                ) as self._socket:
                    self.lines += 1
                    await self._listen(self._socket)
            await asyncio.sleep(PAUSE)

    async def _listen(self, socket: ClientConnection) -> None:
        try:
            async for text in socket:
                now, frame = time.monotonic(), json.loads(text)
                if self._is_new(frame):
                    await self._take(frame, now, socket)
        except ConnectionClosed as closed:
            if closed.rcvd and closed.rcvd.code in OVER:
                with self._news:
                    self.code, self.closed_at = closed.rcvd.code, time.monotonic()
                    self._news.notify_all()

    def _is_new(self, frame: dict[str, Any]) -> bool:
        """Note how far it is; return whether a frame is news to it. None may be missing."""
        if frame["type"] in {"snapshot", "resumed"}:
            self._epoch = frame["epoch"]
        if frame["type"] == "snapshot":
            self._change = frame["upto"]
        change = frame.get("change", self._change + 1)
        if change > self._change + 1:
            self.screen.wrong.append(f"change {self._change + 1} never came")
        is_new = bool(change > self._change)
        self._change = frame.get("change", self._change) if is_new else self._change
        return is_new

    async def _take(self, frame: dict[str, Any], now: float, socket: ClientConnection) -> None:
        if self.screen.wants_rows(frame):
            await self._fetch()
        if frame["type"] in {"message.accepted", "refused"}:
            self._unanswered.pop(frame["nonce"] or "", None)
        if frame["type"] in {"snapshot", "resumed"} and self.lines > 1:
            # What got no answer on the old line may not have arrived.
            for command in self._unanswered.values():
                await socket.send(command)
        with self._news:
            self.screen.show(frame)
            for word in words_of(frame):
                self.shown.setdefault(word, now)
            self.frames.append((now, frame))
            self._news.notify_all()

    async def _fetch(self) -> None:
        """Fetch the rows, until they come."""
        path = f"{self.origin}/c/{self.conversation}/transcript/"
        asked = urllib.request.Request(path, headers={"Cookie": self.cookie, "HX-Request": "true"})
        while not self._closing:
            try:
                html = await asyncio.to_thread(_read, asked)
            except OSError:
                await asyncio.sleep(PAUSE)
                continue
            with self._news:
                if self.screen.show_rows(html):
                    for word in read_words(html):
                        self.shown.setdefault(word, time.monotonic())
            return


def is_idle(frame: dict[str, Any]) -> bool:
    """Return whether a frame says that nothing runs."""
    return frame["type"] in {"status.changed", "snapshot"} and not frame["turn"]


def _read_idle() -> float:
    """Return the seconds for which the processors were idle since the machine began (Linux)."""
    return int(Path("/proc/stat").read_text().split(maxsplit=5)[4]) / os.sysconf("SC_CLK_TCK")


def _read(asked: urllib.request.Request) -> str:
    with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
        return str(answer.read().decode())
