"""``make cluster-bench``: what a cluster costs beside one process, and how late its pages are."""

import asyncio
import contextlib
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from tests.bench.server import TICKS, Server, model, open_page, serving
from tests.bench.table import Row, show
from tests.cluster.cluster import Cluster
from tests.cluster.nodes import plain_environment

MANY, WORDS, EVERY = 500, 400, 0.05
PACED = f"SAY {WORDS} EVERY {EVERY}"
# So few that no processor is busy all the time.
FEW = 20
STOPS = 10
# Seconds between two looks at a row.
LOOK = 0.005
ENDLESS = "SAY 2000 EVERY 0.05"


@dataclass(frozen=True, slots=True)
class Streamed:
    """Processor milliseconds of 1,000 words, words that were not shown, and the delay of the rest.

    All but one in a hundred words were on the page after ``late`` milliseconds.
    """

    cpu: float
    lost: int
    late: float


class Processes:
    """Some processes and all that they started, also what has ended since."""

    def __init__(self, pids: Sequence[int]) -> None:
        self.pids = pids

    @property
    def cpu(self) -> float:
        """The processor seconds that they have used (Linux)."""
        return sum(map(_cpu_of, self.pids))


def _cpu_of(pid: int) -> float:
    """Return the seconds of a process, of its children that have ended, and of those that live."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = sum(map(int, fields[11:15])) / TICKS
    for child in children:
        # It may end meanwhile, and is among the others then.
        with contextlib.suppress(OSError):
            own += _cpu_of(int(child))
    return own


async def stream(servers: Sequence[Server], processes: Processes, pages: int) -> Streamed:
    """Have a turn of many at once, each on a page of its own; servers take turns."""
    for server in servers:
        warm = await open_page(server, server.converse())
        await warm.say("SAY 12")
    opened = [await open_page(one, one.converse()) for one in _take_turns(servers, pages)]
    before = processes.cpu
    await asyncio.gather(*(page.say(PACED) for page in opened))
    cpu = 1_000 * (processes.cpu - before) / (pages * WORDS / 1_000)
    shown = [page.delays for page in opened]
    later = [one for delays in shown for one in delays[WORDS // 4 :]]
    for page in opened:
        await page.socket.close()
    lost = pages * WORDS - sum(map(len, shown))
    return Streamed(cpu, lost, 1_000 * quantiles(later, n=100)[-1])


def _take_turns(servers: Sequence[Server], count: int) -> Iterator[Server]:
    return itertools.islice(itertools.cycle(servers), count)


async def stop(sender: Server, watcher: Server, cluster: Cluster) -> list[float]:
    """Return the milliseconds from Stop at one server until a turn of the other's has ended."""
    taken = []
    for _ in range(STOPS):
        conversation = sender.converse()
        page, other = await open_page(sender, conversation), await open_page(watcher, conversation)
        saying = asyncio.create_task(page.say(ENDLESS))
        turn = await found(cluster, "SELECT id FROM {} AND owner <> ''", conversation)
        began = time.monotonic()
        await other.socket.send(json.dumps({"type": "turn.stop", "turn": str(turn)}))
        await found(cluster, "SELECT id FROM {} AND finished_at IS NOT NULL", conversation)
        taken.append(1_000 * (time.monotonic() - began))
        saying.cancel()
        for one in (page, other):
            await one.socket.close()
    return taken


async def found(cluster: Cluster, sql: str, conversation: str) -> Any:
    """Return the value that a statement finds of a conversation's turns, once it is there."""
    sql = sql.format("chatapp_turn WHERE conversation_id = %s")
    # Another process writes it.
    while not (rows := await asyncio.to_thread(cluster.ask, sql, conversation)):  # noqa: ASYNC110
        await asyncio.sleep(LOOK)
    return rows[0][0]


def sign_in(cluster: Cluster) -> list[Server]:
    """Return the web processes with one browser's cookies."""
    first, *others = [Server(web.pid, f"127.0.0.1:{web.port}") for web in cluster.webs]
    first.ask("GET", cluster.link)
    first.post(cluster.link)
    first.ask("GET", "/")
    for other in others:
        other.jar = first.jar
    return [first, *others]


def measure() -> Iterator[Row]:
    """Yield every row."""
    with model() as url:
        given = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x"}
        with serving(**given) as server:
            alone = asyncio.run(stream([server], Processes([server.pid]), MANY))
        with tempfile.TemporaryDirectory(prefix="bench-cluster-") as folder:
            cluster = Cluster(Path(folder), plain_environment() | given, durable=True)
            with cluster:
                yield from measure_cluster(cluster, alone)
            cluster.postgres.remove()


def measure_cluster(cluster: Cluster, alone: Streamed) -> Iterator[Row]:
    """Yield the rows of a running cluster, beside what one process took."""
    assert cluster.redis
    assert cluster.redis.process
    assert cluster.postgres.process
    servers, nodes = sign_in(cluster), [node.pid for node in cluster.nodes]
    services = [cluster.redis.process.pid, cluster.postgres.process.pid]
    both = Processes([*nodes, *services])
    own, floor = Processes(nodes), "one process with SQLite"
    work = f"1,000 words to {MANY} pages, {1 / EVERY:.0f} a second each"
    before = own.cpu, both.cpu
    told = asyncio.run(stream(servers, both, MANY))
    share = (own.cpu - before[0]) / (both.cpu - before[1])
    yield Row(f"{work}: Redis and PostgreSQL included", told.cpu, "ms", 1.6, floor, alone.cpu)
    yield Row("… web processes and workers alone", share * told.cpu, "ms", 1.6, floor, alone.cpu)
    yield Row("… words that were not shown", told.lost, "", 0)
    few = asyncio.run(stream(servers, both, FEW))
    yield Row(f"… until 99 of 100 words are shown, to {FEW} pages", few.late, "ms", 150)
    yield Row("… words that were not shown", few.lost, "", 0)
    yield Row(
        "Stop at another web process",
        median(asyncio.run(stop(servers[0], servers[1], cluster))),
        "ms",
        300,
    )
    with cluster.redis.away():
        taken = asyncio.run(stop(servers[0], servers[1], cluster))
    yield Row("… without Redis, at most", max(taken), "ms", 2_500)


if __name__ == "__main__":
    sys.exit(show(measure()))
