"""Processes of two versions work together while one takes the place of the other."""

from collections.abc import Iterator

import pytest

from tests.cluster.narrator import story
from tests.cluster.nodes import Node
from tests.cluster.stage import Stage, in_cluster

pytestmark = in_cluster

NEWER = {"DJANGO_SETTINGS_MODULE": "tests.cluster.newer_settings"}


@pytest.fixture
def newer(stage: Stage) -> Iterator[tuple[Node, Node]]:
    """A web process and a worker of the next version, beside those of this one."""
    cluster = stage.cluster
    given = {**cluster.environment, **NEWER}
    web = Node("serve", len(cluster.webs) + 1, cluster.folder, given)
    worker = Node("work", len(cluster.workers) + 1, cluster.folder, given)
    cluster.webs.append(web)
    cluster.workers.append(worker)
    for node in (web, worker):
        node.launch()
    for node in (web, worker):
        node.ready()
    yield web, worker
    cluster.webs.remove(web)
    cluster.workers.remove(worker)
    for node in (web, worker):
        assert node.end() == 0


def test_an_older_process_leaves_what_it_does_not_know_and_says_so(
    stage: Stage, newer: tuple[Node, Node]
) -> None:
    """Pages of each version show turns of each, and stop them; nothing is lost or doubled."""
    before = [node.complaints() for node in stage.cluster.nodes]
    ran = set()
    while ran != {*stage.cluster.workers}:
        told = story(45)
        sender = stage.begin(told, web=3)
        page = stage.open(sender.conversation, 1)
        page.until_words(told)
        ran.add(stage.runner_of(page))
        for one in (page, sender):
            one.wait(lambda one=one, told=told: one.words == [*told.words] and not one.turn)
            stage.check(one, told)
    told = story(3_000)
    page = stage.begin(told, web=1, also=3)
    page.until_words(told)
    page.stop()
    page.until_idle()
    old_web, *_ = stage.cluster.webs
    said = old_web.log.read_text()
    for name in ("EventOfTomorrow", "HintOfTomorrow"):
        assert said.count(f"a newer process said something that is not known: {name}") == 1
    assert [node.complaints() for node in stage.cluster.nodes] == before


def test_an_older_process_works_with_columns_it_does_not_know(stage: Stage) -> None:
    """The database is migrated before the processes are replaced."""
    tables = ("turn", "message", "modelcall", "conversation")
    add = "ALTER TABLE chatapp_{} ADD COLUMN of_tomorrow text NOT NULL DEFAULT 'new'"
    for table in tables:
        stage.cluster.ask(add.format(table))
    try:
        page = stage.begin(told := story(15), web=2, also=1)
        page.until_idle()
        stage.check(page, told)
    finally:
        for table in tables:
            stage.cluster.ask(f"ALTER TABLE chatapp_{table} DROP COLUMN of_tomorrow")


def test_a_worker_leaves_a_request_that_it_does_not_know(stage: Stage) -> None:
    """The turn goes on, and the log says what was asked of it."""
    told = story(240)
    page = stage.begin(told)
    page.until_words(told)
    worker = stage.runner_of(page)
    stage.cluster.ask(
        "INSERT INTO chatapp_turnrequest (turn_id, kind, nonce, details) "
        "VALUES (%s, 'of_tomorrow', gen_random_uuid(), '{}')",
        page.turn,
    )
    page.until_idle()
    stage.check(page, told)
    assert "of_tomorrow" in worker.log.read_text()
