"""Clients are kept from one call to the next, and nothing of them longer than that helps."""

import asyncio

import pytest

from chatapp.providers.http import Clients, clients, close_clients
from tests.chatapp.providers.doors import DOORS, Door
from tests.chatapp.providers.requests import reply, request
from tests.standin.behaviours import Gate, Reply, Rest
from tests.standin.server import Standin


class Line:
    """A client that knows whether it was closed."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def close(self) -> None:
        """Note it."""
        self.closed.set()


async def use(kept: Clients, made_of: str = "key") -> Line:
    """Return the client of one call."""
    async with kept.use(made_of, Line) as line:
        return line


def lines(standin: Standin) -> list[int]:
    """Return the connection that each request came by."""
    return [received.line for received in standin.requests]


async def test_a_call_goes_over_the_line_of_the_one_before(door: Door, standin: Standin) -> None:
    """Also where another provider was made for it; another key has a line of its own."""
    for _turn in range(3):
        await reply(door.provider(standin), request("Hi"))
    assert len(set(lines(standin))) == 1
    await reply(door.provider(standin), request("Hi"))
    await reply(door.provider(standin, api_key="sk-another-123"), request("Hi"))
    first, second = standin.requests[-2:]
    assert first.line != second.line
    assert "sk-another-123" in str(second.headers)
    assert "sk-another-123" not in str(first.headers)


async def test_the_line_is_kept_where_the_body_ends_a_moment_after_the_reply(
    standin: Standin,
) -> None:
    """As on a busy machine; whoever never ends it keeps nobody waiting."""
    end = Gate()
    standin.then(Reply("One.", end=Rest(0.02)), Reply("Two.", end=end), Reply("Three."))
    for _turn in range(3):
        await reply(DOORS[1].provider(standin), request("Hi"))
    first, second, third = lines(standin)
    assert (first == second, second == third) == (True, False)
    end.open()


async def test_a_client_in_use_is_kept() -> None:
    """However many calls end meanwhile; of those that nobody uses, the oldest is closed."""
    kept = Clients(most=1)
    async with kept.use("key", Line) as one:
        assert await use(kept) is one
        other = await use(kept, "another")
        await use(kept, "a third")
        assert other.closed.is_set()
        await kept.close()
        assert not one.closed.is_set()
    assert one.closed.is_set()
    kept = Clients(most=2)
    one, two = await use(kept, "one"), await use(kept, "two")
    await use(kept, "one")
    await use(kept, "three")
    assert two.closed.is_set()
    assert await use(kept, "one") is one
    await kept.close()


async def test_a_client_that_failed_is_closed_after_the_other_calls_that_use_it() -> None:
    """And given to no further one."""
    kept = Clients()
    async with kept.use("key", Line) as one:
        with pytest.raises(OSError, match="gone"):
            async with kept.use("key", Line):
                raise OSError("gone")
        assert not one.closed.is_set()
        assert await use(kept) is not one
    assert one.closed.is_set()
    await kept.close()


async def test_a_call_that_is_stopped_closes_its_client() -> None:
    """Whoever stops an answer wants its line to end at once."""
    kept, used = Clients(), asyncio.Queue[Line]()

    async def call() -> None:
        async with kept.use("key", Line) as line:
            await used.put(line)
            await asyncio.Event().wait()

    task = asyncio.create_task(call())
    line = await used.get()
    task.cancel()
    await asyncio.wait({task})
    assert line.closed.is_set()
    assert await use(kept) is not line
    await kept.close()


def test_the_loop_closes_its_clients() -> None:
    """When it shuts down; one that is not shut down can have them closed."""

    async def work() -> Line:
        return await use(await clients())

    async def work_and_close() -> Line:
        line = await work()
        await close_clients()
        assert line.closed.is_set()
        return await work()

    assert asyncio.run(work()).closed.is_set()
    assert asyncio.run(work_and_close()).closed.is_set()
