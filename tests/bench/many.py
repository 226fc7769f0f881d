"""``make bench-many``: what a million stored messages cost a search and a turn, in PostgreSQL."""

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import quantiles

from tests.bench.cluster import Processes
from tests.bench.server import Server, model, open_page, serving
from tests.bench.table import Row, show
from tests.cluster.services import Postgres
from tests.processes import started

MESSAGES, CONVERSATIONS, FEW = 1_000_000, 100_000, 1_000
SEARCHES, TURNS = 200, 40
# A message for which recall looks through what is hidden.
SHORT = "SAY 12 words on why the lazy fox jumps over the brown dog"


def make_databases(postgres: Postgres, folder: Path) -> Iterator[tuple[dict[str, str], str]]:
    """Yield what a process on each database is given, and a conversation to go on in."""
    for name, stored in (("few", (FEW, FEW)), ("many", (MESSAGES, CONVERSATIONS))):
        postgres.ask(f"CREATE DATABASE {name}")
        (folder / name).mkdir()
        environment = {
            "DATABASE_URL": postgres.url.rpartition("/")[0] + f"/{name}",
            "DATA_DIR": str(folder / name),
            "ANTHROPIC_API_KEY": "x",
        }
        yield environment, run(f"crowd.main{stored}", environment)


def run(call: str, environment: dict[str, str]) -> str:
    """Make a call of the bench over a database, and return what it printed."""
    code = f"from tests.bench import crowd, search; {call}"
    with started("manage.py", "shell", "--verbosity=0", f"--command={code}", **environment) as one:
        return one[1]


def measure(postgres: Postgres, folder: Path) -> Iterator[Row]:
    """Yield every row."""
    # As docs/deploy.md has it; and nobody tidies up in the middle of a measurement.
    for setting in ("shared_buffers = '1GB'", "autovacuum = off"):
        postgres.ask(f"ALTER SYSTEM SET {setting}")
    postgres.restart()
    few, many = make_databases(postgres, folder)
    taken = json.loads(run(f"search.main({SEARCHES})", many[0]))
    work = f"95 of 100 searches in {MESSAGES:,} messages"
    yield Row(work, quantiles(taken, n=20)[-1], "ms", 150)
    yield Row("… half of them", quantiles(taken, n=20)[9], "ms", 150)
    assert postgres.process
    with model() as url, ExitStack() as stack:
        there = {"ANTHROPIC_BASE_URL": url}
        servers = [stack.enter_context(serving(**one | there)) for one, _chat in (few, many)]
        places = [(server, chat) for server, (_one, chat) in zip(servers, (few, many), strict=True)]
        floor, here = asyncio.run(talk(places, postgres.process.pid))
    work = f"one short turn beside {MESSAGES:,} messages in {CONVERSATIONS:,} conversations"
    yield Row(work, here, "ms", 1.3, f"the same beside {FEW:,} of each", floor)


async def talk(places: Sequence[tuple[Server, str]], postgres: int) -> list[float]:
    """Return the processor milliseconds of a short turn in each place, PostgreSQL's included."""
    pages = [(server, await open_page(server, chat)) for server, chat in places]
    spent = [0.0] * len(pages)
    for turn in range(TURNS + 1):
        for index, (server, page) in enumerate(pages):
            both = Processes([server.pid, postgres])
            before = both.cpu
            await page.say(SHORT)
            # The first is there to warm up.
            spent[index] += (both.cpu - before) * bool(turn)
    return [1_000 * one / TURNS for one in spent]


def main() -> int:
    """Return 0 when every bound is kept."""
    with tempfile.TemporaryDirectory(prefix="bench-many-") as folder:
        postgres = Postgres(Path(folder) / "postgres", durable=False)
        postgres.start()
        try:
            return show(measure(postgres, Path(folder)))
        finally:
            postgres.stop()
            postgres.remove()


if __name__ == "__main__":
    sys.exit(main())
