"""``python -m tests.bench.scaling``: what 1,000 to 10,000,000 daily users need.

It prints the table of docs/scaling.md: what one turn was measured to take, times the turns of the
busiest hour, which begin at any moment.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, lgamma, log

# Assumed: how people write, and how long models take.
TURNS_A_DAY = 8
SHARE_OF_BUSIEST_HOUR = 0.12
SECONDS = 25.0
# Of daily users, who have a page open in that hour.
PAGES_OPEN = 0.15
# The share of its core that a process is given to do; a burst needs the rest.
BUSY = 0.6
# Turns that one worker runs at once.
AT_ONCE = 100

# Measured by tests.bench.sizes, of a turn with 1.5 calls and 250 words: processor seconds, by kind.
WEB, WORKER, POSTGRESQL, REDIS = 0.067, 0.043, 0.025, 0.005
# Bytes: stored with indexes, of the log of writes, in Redis while it runs.
STORED, LOGGED, IN_REDIS = 12_042, 32_641, 10_408
ROWS, TRANSACTIONS = 10.8, 36.7
# Measured by tests.bench: bytes of an open page in its web process.
PAGE = 179 * 1024
# Assumed: how often a page is opened in that hour; measured: processor seconds of a web process.
OPENINGS, OPENING = 1.0, 0.077
# Round trips of a message in the thread in which a web process writes, traced, and the seconds of
# one to a database in the same rack.
TRIPS, AWAY = 23, 0.001
# Of a web process and a worker that had worked and have nothing to do, counted in PostgreSQL for a
# minute: connections on average, and statements a second.
CONNECTIONS, IDLE = (1.2, 3.4), (0.9, 1.2)
# Statements for a page that is sent something, and the seconds after which it is looked at again;
# and seconds between two statements of a web process for all its pages.
LOOKS, AGAIN, ALL_PAGES = 2, 30, 10
# Each job wakes every worker, which asks for it: that of the turn, and the one that follows it.
JOBS = 2

USERS = (1_000, 100_000, 10_000_000)


@dataclass(frozen=True)
class Hour:
    """The busiest hour of so many daily users."""

    users: int

    @property
    def turns(self) -> int:
        """Turns of a day."""
        return self.users * TURNS_A_DAY

    @property
    def rate(self) -> float:
        """Turns that begin in a second."""
        return self.turns * SHARE_OF_BUSIEST_HOUR / 3_600

    @cached_property
    def running(self) -> int:
        """The most turns that run at all but one of 1,000 moments.

        Of what begins by chance, a Poisson distribution says how many run at once, however their
        lengths differ.
        """
        mean, count, chance = self.rate * SECONDS, 0, 0.0
        while (chance := chance + exp(count * log(mean) - mean - lgamma(count + 1))) < 0.999:
            count += 1
        return count


def workers(hour: Hour) -> int:
    """Return the workers that have room for all turns, and a core for each."""
    return max(ceil(hour.running / AT_ONCE), ceil(hour.rate * WORKER / BUSY))


def webs(hour: Hour) -> int:
    """Return the web processes: messages, and pages that are opened."""
    opened = hour.users * PAGES_OPEN * OPENINGS / 3_600
    return ceil((hour.rate * WEB + opened * OPENING) / BUSY)


def writing(hour: Hour) -> float:
    """Return how busy the one thread is in which a web process writes, in percent."""
    return 100 * hour.rate * TRIPS * AWAY / webs(hour)


def of_each(hour: Hour, costs: tuple[float, float]) -> float:
    """Return what all processes take that does not depend on what they have to do."""
    return webs(hour) * costs[0] + workers(hour) * costs[1]


# What a row of the table is called, its unit, and what it is of an hour.
ROWS_OF_TABLE: tuple[tuple[str, str, Callable[[Hour], float]], ...] = (
    ("turns a day", "", lambda hour: hour.turns),
    ("turns a second in the busiest hour", "", lambda hour: hour.rate),
    ("turns that run at once", "", lambda hour: hour.running),
    ("open pages", "", lambda hour: hour.users * PAGES_OPEN),
    ("web processes", "", webs),
    ("… their writing threads, database 1 ms away", "% busy", writing),
    ("their memory for pages", "GB", lambda hour: hour.users * PAGES_OPEN * PAGE / 1e9),
    ("workers", "", workers),
    ("cores of PostgreSQL", "", lambda hour: hour.rate * POSTGRESQL / BUSY),
    ("transactions a second", "", lambda hour: hour.rate * TRANSACTIONS),
    ("connections with nothing to do", "", lambda hour: of_each(hour, CONNECTIONS)),
    ("statements a second with nothing to do", "", lambda hour: of_each(hour, IDLE)),
    (
        "statements a second that look after pages",
        "",
        lambda hour: hour.running * LOOKS / AGAIN + webs(hour) / ALL_PAGES,
    ),
    ("questions for jobs a second", "", lambda hour: hour.rate * JOBS * workers(hour)),
    ("log of writes", "MB a second", lambda hour: hour.rate * LOGGED / 1e6),
    ("rows", "million a day", lambda hour: hour.turns * ROWS / 1e6),
    ("stored", "GB a day", lambda hour: hour.turns * STORED / 1e9),
    ("stored", "TB a year", lambda hour: hour.turns * STORED * 365 / 1e12),
    ("core of Redis", "%", lambda hour: 100 * hour.rate * REDIS),
    ("memory of Redis", "MB", lambda hour: hour.running * IN_REDIS / 1e6),
)


def render() -> Iterator[str]:
    """Yield the lines of the table."""
    hours = [Hour(users) for users in USERS]
    yield "| daily users | " + " | ".join(f"{users:,}" for users in USERS) + " |"
    yield "|---|" + "---|" * len(USERS)
    for name, unit, read in ROWS_OF_TABLE:
        label = f"{name}, {unit}" if unit else name
        yield f"| {label} | " + " | ".join(number(read(hour)) for hour in hours) + " |"


def number(value: float) -> str:
    """Return two digits that count, or all before the point."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


if __name__ == "__main__":
    print("\n".join(render()))
