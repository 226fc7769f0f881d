"""Background jobs of several processes on one database, which may each end at any moment."""

from typing import Any

import psycopg
import pytest

from tests.chatapp.operations.background_jobs.processes import Start
from tests.cluster.services import Postgres

# What tells a worker of a job, and how often workers have looked for one since a moment.
CHANNEL, NEWS = "procrastinate_queue_v1#background", '{"type": "job_inserted", "job_id": 0}'
FETCHED = """
    SELECT count(*) FROM pg_stat_activity
    WHERE query LIKE '%%procrastinate_fetch_job%%' AND query_start > %s AND pid <> pg_backend_pid()
"""

pytestmark = pytest.mark.postgresql("workers take their jobs from it")


def job(name: str, word: str, **how: Any) -> dict[str, Any]:
    """Return a job as ``enqueue`` takes it."""
    return {"name": name, "word": word, **how}


def test_a_job_is_a_part_of_its_transaction_and_one_waits_of_each_key(start: Start) -> None:
    """What is rolled back never runs, and what runs leaves nothing."""
    writer = start()
    writer.ask({"enqueue": [job("say", "rolled back")], "rollback": True}, "enqueued")
    keyed = [job("say", "one", key="k"), job("say", "two", key="k"), job("say", "three", key="l")]
    writer.ask({"enqueue": keyed}, "enqueued")
    writer.ask({"enqueue": [job("say", "four", key="k"), job("say", "last")]}, "enqueued")
    writer.ask({"enqueue": [job("say", "in an hour", after=3_600)]}, "enqueued")
    worker = start(1)
    assert [worker.hear("said") for _ in range(3)] == ["one", "three", "last"]
    writer.ask({"enqueue": [job("say", "again", key="k")]}, "enqueued")
    assert worker.hear("said") == "again"
    worker.end()
    assert writer.ask("count", "jobs") == {"todo 0": 1}


def test_turns_have_a_queue_of_their_own_and_an_order(start: Start) -> None:
    """Jobs take no turn's place; of turns those of higher priority come first."""
    writer = start()
    writer.ask({"enqueue": [job("hold", "long")]}, "enqueued")
    worker = start(1)
    assert worker.hear("began") == "long"
    writer.ask({"turns": {"first": 0}}, "enqueued")
    assert worker.hear("turn") == "first"
    worker.tell("go on")
    worker.hear("said")
    worker.end()
    writer.ask({"turns": {"tenth": -9, "second": 0, "third": -1}}, "enqueued")
    worker = start(1)
    assert [worker.hear("turn") for _ in range(3)] == ["second", "third", "tenth"]
    worker.end()
    assert writer.ask("count", "jobs") == {}


def test_an_older_worker_leaves_a_job_that_it_does_not_know(start: Start) -> None:
    """Newer ones find it there again in a moment."""
    writer = start()
    writer.ask({"enqueue": [job("hold", "new"), job("say", "old")]}, "enqueued")
    worker = start(1, jobs=("say",))
    assert worker.hear("said") == "old"
    worker.end()
    assert writer.ask("count", "jobs") == {"todo 1": 1}


def test_a_job_is_run_again_that_the_database_was_away_for(start: Start) -> None:
    """A while later, as often as that takes: the row of what it is of is there.

    One that fails of itself would fail again: it is not run twice.
    """
    known = ("say", "stumble", "fail")
    writer, worker = start(jobs=known), start(1, jobs=known)
    jobs = [job("stumble", "early"), job("fail", "always"), job("say", "after")]
    writer.ask({"enqueue": jobs}, "enqueued")
    assert [worker.hear("began"), worker.hear("began")] == ["early", "always"]
    assert worker.hear("said") == "after"
    worker.end()
    assert writer.ask("count", "jobs") == {"todo 1": 1, "failed 1": 1}


def test_a_worker_takes_jobs_as_soon_as_the_database_can_be_written_again(
    start: Start, postgres: Postgres
) -> None:
    """Those that run need not be over: an error would have it stop, and wait for them."""
    writer, worker = start(), start(2)
    writer.ask({"enqueue": [job("hold", "long")]}, "enqueued")
    worker.hear("began")
    with psycopg.connect(postgres.url, autocommit=True) as connection:

        def allow(writes: str) -> None:
            connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {writes}")
            connection.execute("SELECT pg_reload_conf()")

        writer.ask({"enqueue": [job("say", "before")]}, "enqueued")
        assert worker.hear("said") == "before"
        allow("on")
        while connection.execute("SHOW default_transaction_read_only").fetchone() == ("off",):
            pass
        began = connection.execute("SELECT clock_timestamp()").fetchone()
        connection.execute("SELECT pg_notify(%s, %s)", [CHANNEL, NEWS])
        while connection.execute(FETCHED, began).fetchone() == (0,):
            pass
        connection.execute("SET default_transaction_read_only = off")
        allow("off")
    writer.ask({"enqueue": [job("say", "after")]}, "enqueued")
    assert worker.hear("said") == "after"
    worker.tell("go on")
    assert worker.hear("said") == "long"
    worker.end()


def test_a_worker_listens_for_all_its_queues_on_one_connection(
    start: Start, postgres: Postgres
) -> None:
    """Each is told of its jobs, and looks for them itself only now and then."""
    writer, worker = start(), start(2)
    for word in ("first", "second"):
        writer.ask({"enqueue": [job("say", word)]}, "enqueued")
        assert worker.hear("said") == word
    with psycopg.connect(postgres.url) as connection:
        listens = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
        assert connection.execute(listens).fetchone() == (1,)
    worker.end()


@pytest.mark.soak
def test_an_outage_of_the_database_stops_no_worker_and_loses_no_job(
    start: Start, postgres: Postgres
) -> None:
    """What runs goes on, what waits is run, and who enqueues needs no restart either.

    Nobody is taken for gone who could not give a sign of life meanwhile.
    """
    writer, worker, other = start(), start(4), start(1)
    words = [f"{number}" for number in range(300)]
    writer.ask({"enqueue": [job("hold", "long"), job("hold", "long")]}, "enqueued")
    holding = {worker.hear("began"), other.hear("began")}
    before = sorted(writer.ask("workers", "workers"))
    writer.ask({"enqueue": [job("say", word) for word in words]}, "enqueued")
    said = {worker.hear("said")}
    postgres.stop()
    worker.read_log("new jobs are not announced for now")
    other.read_log("abandoned jobs could not be looked for")
    postgres.start()
    while said < {*words}:
        said.add(worker.hear("said"))
    writer.ask({"enqueue": [job("say", "after")]}, "enqueued")
    worker.hear_word("after")
    assert sorted(writer.ask("workers", "workers")) == before
    for one in (worker, other):
        one.tell("go on")
        one.hear_word("long")
        one.end()
        assert one.has_said("began") == []
    assert writer.ask("count", "jobs") == {}
    assert said == {*words}
    assert holding == {"long"}


def test_a_job_is_run_that_was_handed_to_a_worker_which_never_heard_of_it(
    start: Start, postgres: Postgres
) -> None:
    """Its connection broke between the commit and the answer, say."""
    writer, worker = start(), start(1)
    writer.ask({"enqueue": [job("hold", "first")]}, "enqueued")
    worker.hear("began")
    writer.ask({"enqueue": [job("say", "unheard of", after=3_600)]}, "enqueued")
    with psycopg.connect(postgres.url) as connection:
        connection.execute(
            "UPDATE procrastinate_jobs SET status = 'doing', worker_id = doing.worker_id"
            " FROM procrastinate_jobs AS doing"
            " WHERE doing.status = 'doing' AND procrastinate_jobs.status = 'todo'"
        )
    worker.tell("go on")
    assert [worker.hear("said"), worker.hear("said")] == ["first", "unheard of"]
    worker.end()
    assert writer.ask("count", "jobs") == {}


def test_a_job_of_a_killed_worker_is_run_by_another_a_few_times(
    start: Start, postgres: Postgres
) -> None:
    """Where it has ended each of them, it is given up."""
    writer = start()
    writer.ask({"enqueue": [job("hold", "long")]}, "enqueued")
    worker = start(1)
    worker.hear("began")
    worker.kill()
    worker = start(1)
    assert worker.hear("began") == "long"
    worker.tell("go on")
    assert worker.hear("said") == "long"
    worker.end()
    writer.ask({"enqueue": [job("hold", "deadly")]}, "enqueued")
    with psycopg.connect(postgres.url) as connection:
        connection.execute("UPDATE procrastinate_jobs SET attempts = 2")
    worker = start(1)
    assert worker.hear("began") == "deadly"
    worker.kill()
    worker = start(1)
    worker.read_log("given up")
    writer.ask({"enqueue": [job("say", "after")]}, "enqueued")
    assert worker.hear("said") == "after"
    worker.end()
    assert writer.ask("count", "jobs") == {"failed 3": 1}
    assert writer.ask("workers", "workers") == []


def test_an_orderly_stop_leaves_what_it_cuts_off_to_another_worker(start: Start) -> None:
    """At once, as nobody has to find out that the worker is gone."""
    writer, worker = start(), start(1)
    writer.ask({"enqueue": [job("hold", "long")]}, "enqueued")
    worker.hear("began")
    worker.end()
    assert writer.ask("count", "jobs") == {"todo 1": 1}
    worker = start(1)
    assert worker.hear("began") == "long"
    worker.tell("go on")
    worker.hear("said")
    worker.end()
