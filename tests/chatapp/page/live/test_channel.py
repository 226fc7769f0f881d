"""What a turn tells arrives, once and in order, and so do hints: in one process or across several.

Each fact about the port is one about both channels. With Redis, whoever tells and whoever reads
have a channel each, as processes do.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

from chatapp.agent import events
from chatapp.agent.events import Restarted, StepStarted, TextStreamed, TurnEnded, TurnEvent
from chatapp.page.live import channel as channels
from chatapp.page.live import hints
from chatapp.page.live.channel import Channel, ChannelInMemory, Events, Publisher
from tests.chatapp.sockets import PATIENCE
from tests.deployment.conftest import redis

if TYPE_CHECKING:
    from chatapp.page.live.redis_channel import RedisChannel
    from tests.cluster.services import Redis

__all__ = ["redis"]

END = TurnEnded("Done.")
# The last of what is told before it.
LAST = events.ToolUseStarted("call", "echo")
# Enough for some keyframes between them.
WORDS = [f"word{number} " for number in range(30)]
THIRD = len(WORDS) // 3

Process = Callable[[], Channel]


async def hear(heard: Events, last: TurnEvent = END) -> list[TurnEvent]:
    """Return all that is heard up to this event."""
    told: list[TurnEvent] = []
    async with asyncio.timeout(PATIENCE):
        while told[-1:] != [last]:
            told.append(await heard.get())
    return told


def standing(told: Iterable[TurnEvent]) -> list[TurnEvent]:
    """Return what counts of what was heard: pieces in a row as one, nothing that is void."""
    counts: list[Any] = []
    for event in told:
        counts = [] if event == Restarted() else [*counts, event]
    return [*events.joined(counts)]  # type: ignore[list-item] # of a turn, as they were


async def tell_slowly(publisher: Publisher, heard: Events, words: Iterable[str]) -> list[TurnEvent]:
    """Tell words, each once the one before it was heard, and return what was heard."""
    told: list[TurnEvent] = []
    for word in words:
        publisher.publish(TextStreamed(word))
        told += await hear(heard, TextStreamed(word))
    return told


@pytest.fixture
def address(redis: "Redis", monkeypatch: pytest.MonkeyPatch) -> str:
    """Where a Redis is whose channels write and read at once, with keyframes among few words."""
    values = {"SHORTEST": 0, "AGAIN": 0.01, "KEYFRAME_AFTER": 6}
    for name, value in values.items():
        monkeypatch.setattr(f"chatapp.page.live.redis_channel.{name}", value)
    return redis.url


@pytest.fixture(params=["memory", "redis"])
async def process(request: pytest.FixtureRequest) -> AsyncIterator[Process]:
    """Return what gives the channel of one more process; in memory, there is one process."""
    if request.param == "memory":
        one = ChannelInMemory()
        one.start()
        yield lambda: one
        return
    url = request.getfixturevalue("address")
    async with AsyncExitStack() as stack:
        yield lambda: redis_channel(url, stack)


def redis_channel(url: str, stack: AsyncExitStack) -> "RedisChannel":
    """Return a channel over Redis, which is closed with the stack."""
    from chatapp.page.live.redis_channel import RedisChannel  # noqa: PLC0415 - needs the extra "scale"

    one = RedisChannel(url)
    one.start()
    stack.push_async_callback(one.close)
    return one


@pytest.fixture
async def across(address: str) -> AsyncIterator["Callable[[], RedisChannel]"]:
    """Return what gives the channel of one more process, over a Redis that a test may stop."""
    async with AsyncExitStack() as stack:
        yield lambda: redis_channel(address, stack)


async def test_all_who_read_are_told_all_in_order(process: Process) -> None:
    """Each once, also in one process."""
    turn, web = uuid.uuid4(), process()
    publisher = process().open(turn, 1)
    told = [events.CondensingAwaited(), events.CondensingStarted("auto"), StepStarted(1)]
    async with web.read(turn) as first, web.read(turn) as second, process().read(turn) as third:
        for event in (*told, *map(TextStreamed, WORDS), END):
            publisher.publish(event)
            await asyncio.sleep(0)
        heard = [standing(await hear(one)) for one in (first, second, third)]
    assert heard == [[*told, TextStreamed("".join(WORDS)), END]] * 3


async def test_whoever_comes_late_is_told_how_it_stands(process: Process) -> None:
    """However much was told one by one, then all that comes; also once it has ended."""
    turn, web = uuid.uuid4(), process()
    publisher = process().open(turn, 1)
    async with web.read(turn) as first:
        told = await tell_slowly(publisher, first, WORDS)
        assert "".join(one.text for one in told if isinstance(one, TextStreamed)) == "".join(WORDS)
        async with process().read(turn) as late, web.read(turn) as beside:
            publisher.publish(TextStreamed("More."))
            publisher.publish(LAST)
            heard = [standing(await hear(one, LAST)) for one in (late, beside)]
        assert heard == [[TextStreamed("".join([*WORDS, "More."])), LAST]] * 2
        publisher.publish(END)
        publisher.close()
        assert await hear(first) == [TextStreamed("More."), LAST, END]
    async with process().read(turn) as after:
        await hear(after)


async def test_whoever_comes_while_words_do_misses_none(process: Process) -> None:
    """What is read as it stands, and what comes meanwhile, meet without a gap."""
    turn, web = uuid.uuid4(), process()
    publisher = process().open(turn, 1)

    async def come() -> list[TurnEvent]:
        async with web.read(turn) as heard:
            return standing(await hear(heard, LAST))

    async with web.read(turn) as first:
        readers = []
        for word in WORDS:
            await tell_slowly(publisher, first, [word])
            readers.append(asyncio.create_task(come()))
        publisher.publish(LAST)
        heard = await asyncio.gather(*readers)
    assert heard == [[TextStreamed("".join(WORDS)), LAST]] * len(WORDS)


async def test_one_that_leaves_takes_nothing_from_one_that_comes(process: Process) -> None:
    """Whatever either is at just then."""
    turn, web = uuid.uuid4(), process()
    publisher = process().open(turn, 1)
    publisher.publish(TextStreamed("One."))

    async def leave() -> None:
        async with web.read(turn) as heard:
            await heard.get()

    told: list[TurnEvent] = [TextStreamed("One.")]
    for number in range(20):
        leaving = asyncio.create_task(leave())
        async with web.read(turn) as coming:
            await leaving
            told.append(events.ToolUseStarted(str(number), "echo"))
            publisher.publish(told[-1])
            assert standing(await hear(coming, told[-1])) == told


async def test_another_attempt_tells_all_anew_and_an_earlier_one_nothing(process: Process) -> None:
    """Wherever the earlier one is still at work, and whoever heard it."""
    turn, web = uuid.uuid4(), process()
    first = process().open(turn, 1)
    async with web.read(turn) as heard:
        await tell_slowly(first, heard, ["An ", "answer "])
        second = process().open(turn, 2)
        told = await tell_slowly(second, heard, ["Another "])
        assert told[0] == Restarted()
        first.publish(TextStreamed("late"))
        first.publish(END)
        first.close()
        told += await tell_slowly(second, heard, ["answer"])
        async with process().read(turn) as late:
            second.publish(LAST)
            told += await hear(heard, LAST)
            late_told = await hear(late, LAST)
    assert [standing(one) for one in (told, late_told)] == [
        [TextStreamed("Another answer"), LAST]
    ] * 2


async def test_an_attempt_that_comes_after_a_later_one_is_not_heard(process: Process) -> None:
    """It lost its turn before it said a word."""
    turn, web = uuid.uuid4(), process()
    second = process().open(turn, 2)
    async with web.read(turn) as heard:
        told = await tell_slowly(second, heard, ["Word."])
        first = process().open(turn, 1)
        first.publish(TextStreamed("late"))
        first.close()
        told += await tell_slowly(second, heard, ["More."])
        second.publish(END)
        assert standing(told + await hear(heard)) == [TextStreamed("Word.More."), END]


async def test_hints_reach_every_process_and_the_one_that_tells_them(process: Process) -> None:
    """Each once, although one listener fails; callable from any thread."""
    here, there = process(), process()
    own, others = Told(here), Told(there)
    await own.until_heard_by(others)
    hinted = [hints.ListChanged(number) for number in range(30)]
    for hint in hinted:
        await asyncio.to_thread(here.tell, hint)
    assert [await one.up_to(hinted[-1]) for one in (own, others)] == [hinted, hinted]


class Told:
    """What one process is told beside turns."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.heard: asyncio.Queue[hints.Hint] = asyncio.Queue()
        channel.listeners += [self._fail, self.heard.put_nowait]

    def _fail(self, _hint: hints.Hint) -> None:
        raise ZeroDivisionError

    async def until_heard_by(self, other: "Told") -> None:
        """Return once another process hears this one: what is told before it listens is gone."""
        async with asyncio.timeout(PATIENCE):
            while other.heard.empty():
                self._channel.tell(hints.UserChanged(0))
                await asyncio.sleep(0.01)

    async def up_to(self, last: hints.Hint) -> list[hints.Hint]:
        """Return what changes of lists were told of, up to this."""
        told: list[hints.Hint] = []
        async with asyncio.timeout(PATIENCE):
            while told[-1:] != [last]:
                told.append(await self.heard.get())
        return [one for one in told if isinstance(one, hints.ListChanged)]


async def test_in_memory_a_turn_is_kept_while_it_is_told_or_read_and_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever comes a moment later than the end hears it; then nothing is left."""
    monkeypatch.setattr(channels, "KEPT_AFTER_END", 3_600)
    channel, turn = ChannelInMemory(), uuid.uuid4()
    channel.start()
    publisher = channel.open(turn, 1)
    async with channel.read(turn) as heard:
        publisher.publish(END)
        publisher.close()
        await hear(heard)
    async with channel.read(turn) as heard:
        await hear(heard)
    channel._turns[turn].keep_no_longer()
    async with channel.read(uuid.uuid4()):
        pass
    assert channel._turns == {}


async def test_redis_that_comes_back_empty_is_told_all_anew(
    redis: "Redis", across: "Callable[[], RedisChannel]"
) -> None:
    """Readers miss nothing, and get nothing twice; hints arrive again."""
    turn, web, worker = uuid.uuid4(), across(), across()
    publisher, told = worker.open(turn, 1), Told(web)
    async with web.read(turn) as heard:
        before = await tell_slowly(publisher, heard, WORDS[:THIRD])
        redis.kill()
        for word in WORDS[THIRD:-THIRD]:
            publisher.publish(TextStreamed(word))
        redis.start()
        after = await hear_rest(publisher, heard, WORDS[-THIRD:])
        assert standing(before + after) == [TextStreamed("".join(WORDS)), LAST]
    async with asyncio.timeout(PATIENCE):
        while await told.heard.get() != hints.ChannelRestored():
            pass
    await Told(worker).until_heard_by(told)
    async with across().read(turn) as late:
        assert standing(await hear(late, LAST)) == [TextStreamed("".join(WORDS)), LAST]


async def hear_rest(publisher: Publisher, heard: Events, words: list[str]) -> list[TurnEvent]:
    """Tell the rest, and return all that is heard."""
    for word in words:
        publisher.publish(TextStreamed(word))
    publisher.publish(LAST)
    return await hear(heard, LAST)


async def test_what_is_told_and_read_while_redis_is_away_arrives_when_it_is_back(
    redis: "Redis", across: "Callable[[], RedisChannel]"
) -> None:
    """A turn begins and ends meanwhile, and somebody comes to watch it."""
    turn, web, worker = uuid.uuid4(), across(), across()
    redis.kill()
    try:
        publisher = worker.open(turn, 1)
        publisher.publish(TextStreamed("Word."))
        publisher.publish(END)
        publisher.close()
        async with web.read(turn) as heard:
            redis.start()
            assert standing(await hear(heard)) == [END]
    finally:
        redis.restart()


async def test_a_redis_that_can_be_read_but_takes_nothing_is_away_until_it_does(
    redis: "Redis", across: "Callable[[], RedisChannel]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where it is full: meanwhile pages show what the rows have, and no hint is lost."""
    monkeypatch.setattr("chatapp.page.live.redis_channel.BLOCK", 0.1)
    web, worker, hint = across(), across(), hints.ListChanged(7)
    told, heard = Told(web), list[hints.Hint]()
    await Told(worker).until_heard_by(told)
    async with asyncio.timeout(PATIENCE):
        with redis.connect() as client:
            client.config_set("maxmemory", "1")
            worker.tell(hint)
            while not web.is_away:
                await asyncio.to_thread(client.ping)
            client.config_set("maxmemory", "0")
        while not {hint, hints.ChannelRestored()} <= {*heard}:
            heard.append(await told.heard.get())
    assert heard.count(hint) == 1
    assert not web.is_away


async def test_an_address_gives_redis_no_less_time_than_news_may_take(
    redis: "Redis", address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing happens, it is not taken for away."""
    monkeypatch.setattr("chatapp.page.live.redis_channel.BLOCK", 0.1)
    async with asyncio.timeout(PATIENCE), AsyncExitStack() as stack:
        with redis.connect() as client:
            client.flushall()
            web = redis_channel(f"{address}?socket_timeout=0.01", stack)
            # It writes this once nothing has come.
            while not await asyncio.to_thread(client.keys, "palimpsest:wake:*"):
                pass
        assert not web.is_away


async def test_a_reader_that_is_late_at_a_keyframe_need_not_begin_anew(
    across: "Callable[[], RedisChannel]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words that were written together with the keyframe, and before it, are there still."""
    # Each reads a little after the other has written.
    monkeypatch.setattr("chatapp.page.live.redis_channel.SHORTEST", 0.03)
    turn, web, worker = uuid.uuid4(), across(), across()
    publisher = worker.open(turn, 1)
    async with web.read(turn) as heard:
        await tell_slowly(publisher, heard, WORDS[:1])
        publisher.publish(TextStreamed(WORDS[1]))
        publisher.needs_keyframe = True
        told = await hear_rest(publisher, heard, WORDS[2:])
    assert standing(told) == [TextStreamed("".join(WORDS[1:])), LAST]
    assert Restarted() not in told


async def test_a_redis_that_pauses_loses_and_repeats_nothing(
    redis: "Redis", across: "Callable[[], RedisChannel]"
) -> None:
    """What it held is there again, also what did not arrive because its answer was lost."""
    turn, web, worker = uuid.uuid4(), across(), across()
    publisher = worker.open(turn, 1)
    async with web.read(turn) as heard:
        before = await tell_slowly(publisher, heard, WORDS[:THIRD])
        redis.stop_and_keep()
        for word in WORDS[THIRD:-THIRD]:
            publisher.publish(TextStreamed(word))
        redis.start()
        after = await hear_rest(publisher, heard, WORDS[-THIRD:])
    assert standing(before + after) == [TextStreamed("".join(WORDS)), LAST]


async def test_what_is_told_last_is_written_before_a_process_ends(
    across: "Callable[[], RedisChannel]",
) -> None:
    """Turns that it interrupts say so."""
    turn, web, worker = uuid.uuid4(), across(), across()
    async with web.read(turn) as heard:
        publisher = worker.open(turn, 1)
        await tell_slowly(publisher, heard, ["Word."])
        publisher.publish(END)
        publisher.close()
        await worker.close()
        assert standing(await hear(heard)) == [END]


async def test_nothing_stays_in_redis_for_ever(
    redis: "Redis", across: "Callable[[], RedisChannel]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn's stream goes soon after its end; one that goes while it runs begins anew."""
    from chatapp.page.live import redis_channel as module  # noqa: PLC0415 - needs the extra "scale"

    turn, web, worker = uuid.uuid4(), across(), across()
    key, publisher = f"{module.TURN}{turn}", worker.open(turn, 1)
    with redis.connect() as client:
        async with web.read(turn) as heard:
            monkeypatch.setattr(module, "KEPT", 1)
            await tell_slowly(publisher, heard, ["One. "])
            while await asyncio.to_thread(client.exists, key):
                pass
            await tell_slowly(publisher, heard, ["Two. "])
            async with across().read(turn) as late:
                assert standing(await hear(late, TextStreamed("One. Two. ")))
            publisher.publish(END)
            publisher.close()
            await hear(heard)
        await worker.close()
        assert 0 < client.ttl(key) <= channels.KEPT_AFTER_END
        endless = {one for one in client.scan_iter("palimpsest:*") if client.ttl(one) == -1}
    assert endless <= {module.HINTS}
    assert (web._followers, web._positions, worker._publishers) == ({}, {}, {})
