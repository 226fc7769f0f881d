"""``python -m tests.bench.sizes``: what a turn leaves in PostgreSQL, and holds in Redis meanwhile.

People write 40 words, every second turn reads a file of 3 kB, and an answer has 250 words of prose.
"""

import asyncio
import random
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any, override

from tests.bench.cluster import Processes, sign_in
from tests.bench.server import Server, open_page
from tests.cluster.cluster import Cluster
from tests.cluster.nodes import plain_environment
from tests.processes import ROOT
from tests.standin.behaviours import Behaviour, Reply, ToolCall
from tests.standin.rules import blocks_of
from tests.standin.server import Standin

CONVERSATIONS, TURNS = 10, 20
# Turns that run at once, and the seconds between the pieces of their answers.
RUNNING, PACE = 40, 0.05
ASKED, ANSWERED, FILE = 40, 250, 3_000
SIZES = """
    SELECT relname, n_live_tup, pg_table_size(relid), pg_indexes_size(relid)
    FROM pg_stat_user_tables WHERE relname LIKE 'chatapp_%' OR relname LIKE 'procrastinate_%'
"""
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'palimpsest%'"
READ = "Read the notes first. "
MEMORY = "palimpsest:turn:*"

Sizes = dict[str, tuple[int, int, int]]


class Prose:
    """Words of people and models, in whole paragraphs of the evaluation's chats."""

    def __init__(self) -> None:
        chats = ROOT / "tests" / "evaluation" / "chats"
        self._words = [
            word for path in sorted(chats.glob("*.en.txt")) for word in path.read_text().split()
        ]
        self._chance = random.Random(7)  # noqa: S311 - the same each time

    def take(self, count: int) -> str:
        """Return so many words that follow each other."""
        at = self._chance.randrange(len(self._words) - count)
        return " ".join(self._words[at : at + count])


class Correspondent(Standin):
    """The stand-in, which answers in prose, and reads a file where it is asked to."""

    pace = 0.0

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        self._prose = Prose()

    @override
    def next(self, body: Mapping[str, Any]) -> Behaviour:
        last = blocks_of(body["messages"][-1])[-1]
        if last["type"] == "text" and READ in last["text"]:
            return Reply(tools=[ToolCall("read_file", {"path": "notes.md"})])
        return Reply(self._prose.take(ANSWERED), pace=self.pace)


def read_sizes(cluster: Cluster) -> Sizes:
    """Return rows and bytes of each table, without the room that old versions of rows left."""
    cluster.ask("VACUUM FULL ANALYZE")
    cluster.ask("SELECT pg_stat_force_next_flush()")
    return {name: (rows, own, indexes) for name, rows, own, indexes in cluster.ask(SIZES)}


def read_writes(cluster: Cluster) -> list[int]:
    """Return the bytes of the log of all that was written, and the transactions so far."""
    cluster.ask("SELECT pg_stat_force_next_flush()")
    log = cluster.value("SELECT pg_current_wal_lsn() - '0/0'")
    return [int(log), int(cluster.value("SELECT sum(xact_commit) FROM pg_stat_database"))]


async def talk(server: Server, conversation: str, prose: Prose, turns: int) -> None:
    """Have turns in a conversation, one after the other."""
    page = await open_page(server, conversation)
    for number in range(turns):
        await page.say((READ if number % 2 else "") + prose.take(ASKED))
    await page.socket.close()


async def watch(cluster: Cluster, server: Server, prose: Prose) -> tuple[list[float], int]:
    """Return the bytes that a running turn takes in Redis, and the most connections to PostgreSQL.

    They are looked at while many turns run.
    """
    assert cluster.redis
    pages = [await open_page(server, server.converse()) for _ in range(RUNNING)]
    saying = [asyncio.create_task(page.say(prose.take(ASKED))) for page in pages]
    taken, most = list[float](), 0
    with cluster.redis.connect() as client:
        while not any(one.done() for one in saying):
            await asyncio.sleep(0.2)
            keys = client.keys(MEMORY)
            most = max(most, cluster.value(CONNECTIONS))
            taken += [client.memory_usage(key) or 0 for key in keys if client.ttl(key) > 600]
    await asyncio.gather(*saying)
    return taken, most


def measure(cluster: Cluster, model: Correspondent) -> None:
    """Print what turns took."""
    assert cluster.postgres.process
    assert cluster.redis
    assert cluster.redis.process
    server, prose = sign_in(cluster)[0], Prose()
    chats = [server.converse() for _ in range(CONVERSATIONS + 1)]
    for chat in chats:
        folder = cluster.folder / "data" / "workspaces" / chat.replace("-", "")
        folder.mkdir(parents=True)
        (folder / "notes.md").write_text(prose.take(FILE)[:FILE])
    asyncio.run(talk(server, chats.pop(), prose, TURNS))
    before, turns = read_sizes(cluster), CONVERSATIONS * TURNS
    written = read_writes(cluster)
    for chat in chats:
        asyncio.run(talk(server, chat, prose, TURNS))
    wal, commits = [
        (one - other) / turns for one, other in zip(read_writes(cluster), written, strict=True)
    ]
    after = read_sizes(cluster)
    print("| table | rows | bytes | of indexes |\n|---|---|---|---|")
    sums = [0.0, 0.0, 0.0]
    for name in sorted(after, key=lambda one: -sum(after[one][1:])):
        rows, own, indexes = (
            (one - other) / turns for one, other in zip(after[name], before[name], strict=True)
        )
        if rows or own + indexes > 1:
            print(f"| {name} | {rows:.2f} | {own:,.0f} | {indexes:,.0f} |")
            sums = [sums[0] + rows, sums[1] + own, sums[2] + indexes]
    print(f"| all | {sums[0]:.1f} | {sums[1]:,.0f} | {sums[2]:,.0f} |")
    print(f"Of a turn: {wal:,.0f} bytes of WAL, {commits:.1f} transactions")
    model.pace = PACE
    kinds = {
        "web": [one.pid for one in cluster.webs],
        "worker": [one.pid for one in cluster.workers],
        "PostgreSQL": [cluster.postgres.process.pid],
        "Redis": [cluster.redis.process.pid],
    }
    begun = {kind: Processes(pids).cpu for kind, pids in kinds.items()}
    taken, most = asyncio.run(watch(cluster, server, prose))
    print(f"A running turn in Redis: {mean(taken):,.0f} bytes, at most {max(taken):,.0f}")
    print(f"Connections of both processes: {most}")
    for kind, pids in kinds.items():
        spent = 1_000 * (Processes(pids).cpu - begun[kind]) / RUNNING
        print(f"Of {RUNNING} turns at once, each: {spent:.0f} ms of {kind}")


def main() -> int:
    """Return 0 when all was measured."""
    with Correspondent() as model, tempfile.TemporaryDirectory(prefix="bench-sizes-") as folder:
        given = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "x"}
        cluster = Cluster(Path(folder), plain_environment() | given, webs=1, workers=1)
        with cluster:
            measure(cluster, model)
        cluster.postgres.remove()
    return 0


if __name__ == "__main__":
    sys.exit(main())
