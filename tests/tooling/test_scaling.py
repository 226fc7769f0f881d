"""The page on scaling says what its assumptions come to."""

from pathlib import Path

from tests.bench import scaling

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"


def test_the_table_is_what_the_script_prints() -> None:
    """Whoever measures a turn anew puts both right: `python -m tests.bench.scaling`."""
    assert "\n".join(scaling.render()) in PAGE.read_text("utf-8")


def test_the_page_gives_the_figures_that_the_table_is_made_from() -> None:
    """What one turn takes, and what was assumed about people and models."""
    text = " ".join(PAGE.read_text("utf-8").split())
    for figure in (
        f"| log of writes (WAL) | {scaling.LOGGED:,} bytes |",
        f"| transactions | {scaling.TRANSACTIONS} |",
        f"at most {scaling.IN_REDIS:,} |",
        f"web process | {1_000 * scaling.WEB:.0f} ms |",
        f"… worker | {1_000 * scaling.WORKER:.0f} ms |",
        f"… PostgreSQL | {1_000 * scaling.POSTGRESQL:.0f} ms |",
        f"… Redis | {1_000 * scaling.REDIS:.0f} ms |",
        f"takes {scaling.PAGE // 1024} kB of its web process",
        f"{100 * scaling.SHARE_OF_BUSIEST_HOUR:.0f} % of them in the busiest hour",
        f"runs for {scaling.SECONDS:.0f} seconds on average",
        f"{100 * scaling.PAGES_OPEN:.0f} % of the day's users have a page open",
        f"given {100 * scaling.BUSY:.0f} % of its core",
        f"a worker has {scaling.AT_ONCE} turns at once",
        f"({1_000 * scaling.OPENING:.0f} ms of a web process)",
        f"has {scaling.CONNECTIONS[0]} connections to PostgreSQL and sends {scaling.IDLE[0]}",
        f"a worker {scaling.CONNECTIONS[1]} and {scaling.IDLE[1]};",
        f"does {scaling.TRIPS} round trips for a message",
    ):
        assert figure in text
    stored = text.partition("| all | ")[2].split(" | ")
    assert float(stored[0]) == scaling.ROWS
    assert (
        sum(int(one.replace(",", "")) for one in (stored[1], stored[2].split()[0]))
        == scaling.STORED
    )
