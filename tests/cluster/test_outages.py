"""What all processes share goes away for a while: no turn is handed over, and nothing is lost."""

import contextlib
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.cluster.narrator import Story, story
from tests.cluster.pages import Page
from tests.cluster.services import PATIENCE, Redis
from tests.cluster.stage import Stage, in_both, in_cluster

Told = list[tuple[Page, Story]]

# What grows with each word.
GROWING = ("message", "modelcall", "auditentry")


@pytest.fixture
def told(stage: Stage) -> Told:
    """Stories that are being told in all processes, and the pages that watch."""
    return stage.begin_together(*(story(150) for _ in range(4)))


def pids(stage: Stage) -> list[int]:
    """Return the ids of all processes, of which none may have been started again."""
    assert all(node.is_alive for node in stage.cluster.nodes)
    return [node.pid for node in stage.cluster.nodes]


def owners(stage: Stage, told: Told) -> list[list[tuple[str, str]]]:
    """Return whose the turns are."""
    return [[("", owner) for _, owner in stage.turns(page.conversation)] for page, _one in told]


def check_all(stage: Stage, told: Told) -> None:
    """Every story is told to its end, in the turn that began it."""
    for page, one in told:
        page.wait(lambda page=page, one=one: page.words == [*one.words] and not page.turn)
        stage.check(page, one)
        assert [status for status, _ in stage.turns(page.conversation)] == ["succeeded"]


def restart(stage: Stage, _told: Told) -> None:
    """End it and start it again at once."""
    stage.cluster.postgres.restart()


def stop_while_words_are_shown(stage: Stage, told: Told) -> None:
    """Leave it away for as long as fifty words take: pages hear of them all the same."""
    places = [one.words.index(page.words[-1]) for page, one in told]
    with stage.cluster.postgres.away():
        for (page, one), place in zip(told, places, strict=True):
            page.until_words(one, place + 50)


def outlive(outage: Callable[[Stage, Told], None], stage: Stage, told: Told, **also: int) -> None:
    """Have an outage: each turn goes on in its process, and pages show every word."""
    before = (pids(stage), owners(stage, told))
    outage(stage, told)
    check_all(stage, told)
    assert (pids(stage), owners(stage, told)) == before
    page = stage.begin(one := story(9), web=2, **also)
    page.until_words(one, 9)


@in_both
@pytest.mark.parametrize("outage", [restart, stop_while_words_are_shown])
def test_a_restart_of_postgresql_hands_over_no_turn(
    stage: Stage, told: Told, outage: Callable[[Stage, Told], None]
) -> None:
    """Each goes on in its process, which mends its connections."""
    outlive(outage, stage, told)


@contextlib.contextmanager
def read_only(stage: Stage) -> Iterator[None]:
    """Let nobody write, as on a standby."""

    def allow(writes: str) -> None:
        stage.cluster.ask(f"ALTER SYSTEM SET default_transaction_read_only = {writes}")
        stage.cluster.ask("SELECT pg_reload_conf()")

    allow("on")
    try:
        yield
    finally:
        allow("off")


@contextlib.contextmanager
def locked(stage: Stage) -> Iterator[None]:
    """Let nobody write turns and messages, as while a migration makes an index of them."""
    with psycopg.connect(stage.cluster.postgres.url) as connection:
        connection.execute("LOCK TABLE chatapp_turn, chatapp_message IN SHARE MODE")
        yield


def away(stage: Stage) -> contextlib.AbstractContextManager[None]:
    """End it."""
    return stage.cluster.postgres.away()


@in_both
@pytest.mark.parametrize(
    "outage",
    [*(pytest.param(one, marks=pytest.mark.soak) for one in (away, read_only)), locked],
)
def test_postgresql_may_be_away_longer_than_a_process_may_be_silent(
    stage: Stage, outage: Callable[[Stage], contextlib.AbstractContextManager[None]]
) -> None:
    """Nobody takes the others for dead because nobody could be heard."""
    told = stage.begin_together(*(story(450, 0.1) for _ in range(4)))
    before = (pids(stage), owners(stage, told))
    with outage(stage):
        for page, one in told:
            # Twelve seconds.
            page.until_words(one, 370)
    check_all(stage, told)
    assert (pids(stage), owners(stage, told)) == before


@in_both
def test_a_row_that_somebody_holds_ends_no_turn_but_its_own(stage: Stage) -> None:
    """What waits for it keeps no process from giving signs of life."""
    told = stage.begin_together(*(story(450, 0.1) for _ in range(4)))
    (stopped, _one), *others = told
    sql = "SELECT 1 FROM chatapp_conversation WHERE id = %s FOR UPDATE"
    with psycopg.connect(stage.cluster.postgres.url) as connection:
        connection.execute(sql, [stopped.conversation])
        stopped.stop()
        for page, one in others:
            page.until_words(one, 370)
    check_all(stage, others)
    stopped.until_idle()
    ((status, _owner),) = stage.turns(stopped.conversation)
    assert status in {"stopped", "interrupted"}


def redis_of(stage: Stage) -> Redis:
    """Return its Redis."""
    assert stage.cluster.redis
    return stage.cluster.redis


def restart_empty(stage: Stage, _told: Told) -> None:
    """End it, and start it with nothing in it."""
    redis_of(stage).restart()


def pause(stage: Stage, _told: Told) -> None:
    """End it, and start it with what it held."""
    redis_of(stage).stop_and_keep()
    redis_of(stage).start()


def flush(stage: Stage, _told: Told) -> None:
    """Empty it while it runs."""
    with redis_of(stage).connect() as client:
        client.flushall()


def stop_until_more_is_stored(stage: Stage, told: Told) -> None:
    """Leave it away until the drafts have grown: the workers go on."""
    places = [one.words.index(page.words[-1]) for page, one in told]
    with redis_of(stage).away():
        for (page, one), place in zip(told, places, strict=True):
            until_stored(stage, page, f"%{one.words[place + 30]}%")


def stop_until_all_is_told(stage: Stage, told: Told) -> None:
    """Leave it away until the turns have ended."""
    with redis_of(stage).away():
        for page, one in told:
            until_stored(stage, page, f"%{one.words[-1]}%")


def until_stored(stage: Stage, page: Page, pattern: str) -> None:
    """Return once a draft or a message of a conversation has a word."""
    until = time.monotonic() + PATIENCE
    sql = (
        "SELECT count(*) FROM chatapp_modelcall c LEFT JOIN chatapp_message m "
        "ON m.conversation_id = c.conversation_id WHERE c.conversation_id = %s "
        "AND (m.content::text LIKE %s OR (SELECT string_agg(p.text, '' ORDER BY p.id) "
        "FROM chatapp_draftpiece p WHERE p.call_id = c.id) LIKE %s)"
    )
    while not stage.cluster.value(sql, page.conversation, pattern, pattern):
        assert time.monotonic() < until, f"{pattern} was never stored"
        time.sleep(0.1)


@in_cluster
@pytest.mark.soak
def test_redis_may_be_away_for_a_minute(stage: Stage) -> None:
    """The turns go on, and their pages with them, once it is back and empty."""
    told = stage.begin_together(*(story(1_500, 0.15) for _ in range(4)))
    before = (pids(stage), owners(stage, told))
    with redis_of(stage).away():
        for page, one in told:
            until_stored(stage, page, f"%{one.words[1_250]}%")
    check_all(stage, told)
    assert (pids(stage), owners(stage, told)) == before


REDIS_OUTAGES = (
    restart_empty, pause, flush, stop_until_more_is_stored, stop_until_all_is_told,
)  # fmt: skip


@in_cluster
@pytest.mark.parametrize("outage", REDIS_OUTAGES)
def test_without_redis_turns_go_on_and_pages_catch_up(
    stage: Stage, told: Told, outage: Callable[[Stage, Told], None]
) -> None:
    """No turn is handed over, no process starts again, and no page ever shows a gap."""
    outlive(outage, stage, told, also=1)


@in_cluster
def test_without_redis_a_message_is_answered_and_stop_is_heard(stage: Stage) -> None:
    """Rows tell the worker what is asked of it, and later the page what came of that."""
    with redis_of(stage).away():
        short = stage.begin(told := story(9))
        until_stored(stage, short, f"%{told.words[-1]}%")
        page = stage.begin(long := story(3_000), web=2)
        until_stored(stage, page, f"%{long.words[9]}%")
        page.wait(lambda: page.turn)
        page.stop()
        page.wait(lambda: stage.turns(page.conversation)[-1][0] == "stopped")
    for one, what in ((short, told), (page, long)):
        one.wait(lambda one=one: not one.turn and one.words)
        stage.check(one, what, whole=what is told)


@contextlib.contextmanager
def full_disk(stage: Stage) -> Iterator[None]:
    """Have PostgreSQL take no new rows of what is said, as where its disk is full."""
    stage.cluster.ask(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
        "'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$"
    )
    for table in GROWING:
        when = "BEFORE INSERT OR UPDATE"
        stage.cluster.ask(
            f"CREATE TRIGGER full_disk {when} ON chatapp_{table} FOR EACH ROW "
            "EXECUTE FUNCTION refuse()"
        )
    try:
        yield
    finally:
        stage.cluster.ask("DROP FUNCTION refuse CASCADE")


@in_cluster
def test_a_full_disk_at_postgresql_loses_nothing_and_ends_no_turn(stage: Stage) -> None:
    """What is being told waits until there is room; a message is refused with what to do."""
    told = story(100)
    page = stage.begin(told)
    page.until_words(told, 9)
    other = stage.open(stage.converse(), 2)
    with full_disk(stage):
        other.say(story(9).message)
        assert "Its disk is full. Make room there" in other.until("refused")["reason"]
        page.wait(lambda: any("could not save" in one.get("notice", "") for _, one in page.frames))
    page.until_words(told, told.length)
    page.wait(lambda: not page.turn)
    stage.check(page, told)
    assert [status for status, _owner in stage.turns(page.conversation)] == ["succeeded"]
    assert stage.stored(other.conversation) == []
