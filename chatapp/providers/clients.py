"""Clients of vendors' SDKs, kept for a moment after a call: the next one finds the line open.

To look a name up, connect and agree on keys takes longer than all else before the first word.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, cast
from weakref import WeakKeyDictionary

# Seconds for which a client is kept that nobody uses, and a line: no server known ends one sooner
# than after 5, and what it ends at the moment of a call makes that fail.
KEPT_SECONDS = 3.0
# So many that nobody uses are kept at most.
MOST_IDLE = 50


class Client(Protocol):
    """A client with open lines."""

    async def close(self) -> None:
        """Close them."""
        ...


@dataclass(eq=False, slots=True)
class _Kept:
    """A client, how many calls use it, and what ends it where none does."""

    client: Client
    users: int = 0
    end: asyncio.TimerHandle | None = None


class Clients:
    """The clients of one event loop, by what they are made of."""

    def __init__(self, seconds: float = KEPT_SECONDS, most_idle: int = MOST_IDLE) -> None:
        """Keep each for some ``seconds`` after its last call, and so many of those at most."""
        self._seconds = seconds
        self._most_idle = most_idle
        self._kept: dict[Hashable, _Kept] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def use[C: Client](self, made_of: Hashable, make: Callable[[], C]) -> AsyncIterator[C]:
        """Yield the client that is ``made_of`` the same, or a new one.

        One with which a call failed, or was given up, is used for no other call.
        """
        kept = self._kept.get(made_of) or self._kept.setdefault(made_of, _Kept(make()))
        kept.users += 1
        if kept.end:
            kept.end.cancel()
            kept.end = None
        try:
            yield cast("C", kept.client)
        except BaseException:
            self._drop(made_of, kept)
            raise
        finally:
            kept.users -= 1
            if not kept.users:
                await self._rest(made_of, kept)

    def _drop(self, made_of: Hashable, kept: _Kept) -> bool:
        """Give a client to nobody any more; return whether it was given until now."""
        known = self._kept.get(made_of) is kept
        if known:
            del self._kept[made_of]
        return known

    async def _rest(self, made_of: Hashable, kept: _Kept) -> None:
        """Keep a client for a moment that nobody uses, or close it where it was dropped."""
        if not self._drop(made_of, kept):
            await kept.client.close()
            return
        # Behind those that have not been used for longer.
        self._kept[made_of] = kept
        loop = asyncio.get_running_loop()
        kept.end = loop.call_later(self._seconds, self._end, made_of, kept)
        idle = [(of, one) for of, one in self._kept.items() if one.end]
        for oldest in idle[: -self._most_idle]:
            self._end(*oldest)

    def _end(self, made_of: Hashable, kept: _Kept) -> None:
        """Close a client that nobody uses."""
        if kept.end:
            kept.end.cancel()
        self._drop(made_of, kept)
        task = asyncio.get_running_loop().create_task(kept.client.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close all that nobody uses; each other is closed after its last call."""
        for made_of, kept in [*self._kept.items()]:
            if kept.end:
                self._end(made_of, kept)
            self._drop(made_of, kept)
        await asyncio.gather(*self._closing)


_Life = AsyncGenerator[Clients]
_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Clients, _Life]] = WeakKeyDictionary()


async def clients() -> Clients:
    """Return those of the event loop that runs, which closes them when it shuts down."""
    loop = asyncio.get_running_loop()
    if loop not in _of_loops:
        life = _life()
        _of_loops[loop] = await anext(life), life
    return _of_loops[loop][0]


async def _life() -> _Life:
    # A loop that shuts down closes the generators that it has begun.
    made = Clients()
    try:
        yield made
    finally:
        _of_loops.pop(asyncio.get_running_loop(), None)
        await made.close()


async def close_clients() -> None:
    """Close the clients of the event loop that runs, where it is not shut down in order."""
    if known := _of_loops.get(asyncio.get_running_loop()):
        await known[1].aclose()
