"""Clocks that differ: each process judges others by what it has seen itself, by no time of day."""

import time
from collections.abc import Iterator

import pytest

from tests.cluster.narrator import story
from tests.cluster.nodes import Node
from tests.cluster.stage import BUSY, NOTICED, SHOWN, Stage, in_cluster

pytestmark = [in_cluster, pytest.mark.soak]

SETTINGS = "tests.cluster.wrong_clock_settings"
# By how many hours the clock of each worker is wrong; those of the web processes are right.
WRONG = {"worker 1": -1, "worker 2": 1}
# Words that take twice as long as a process may be silent.
LONG = 360


@pytest.fixture
def clocks(stage: Stage) -> Iterator[dict[str, Node]]:
    """The processes whose clocks are wrong, by their names."""
    nodes = {node.name: node for node in stage.cluster.nodes if node.name in WRONG}
    for name, node in nodes.items():
        node.end()
        node.start(DJANGO_SETTINGS_MODULE=SETTINGS, CLOCK_HOURS=str(WRONG[name]))
    yield nodes
    for node in nodes.values():
        node.thaw()
        node.end()
        node.start()


def hours_wrong(stage: Stage, node: Node) -> set[int]:
    """Return by how many hours the ends of turns differ that a process has noted, rounded."""
    sql = (
        "SELECT round(extract(epoch FROM finished_at - clock_timestamp()) / 3600) "
        "FROM chatapp_turn WHERE owner LIKE %s AND status = 'succeeded'"
    )
    return {int(hours) for (hours,) in stage.cluster.ask(sql, f"%/{node.pid}/%")}


def test_clocks_that_differ_end_no_turn_and_hide_no_silence(
    stage: Stage, clocks: dict[str, Node]
) -> None:
    """Turns go on past the longest silence; those of a frozen process are ended as usual."""
    ran: dict[Node, bool] = {}
    while {*clocks.values()} - {*ran}:
        told = stage.begin_together(*(story(LONG, 0.1) for _ in range(4)))
        ran |= {stage.runner_of(page): True for page, _one in told}
        for page, one in told:
            page.wait(lambda page=page, one=one: page.words == [*one.words] and not page.turn)
            stage.check(page, one)
            assert [status for status, _ in stage.turns(page.conversation)] == ["succeeded"]
    assert {node.name: hours_wrong(stage, node) for node in ran} == {
        node.name: {WRONG[node.name]} for node in ran
    }
    told = stage.begin_together(*(story(LONG, 0.1) for _ in range(4)))
    frozen = stage.runner_of(told[0][0])
    own = [page for page, _one in told if stage.runner_of(page) is frozen]
    moment = time.monotonic()
    frozen.freeze()
    for page, one in told:
        if page not in own:
            page.wait(lambda page=page, one=one: page.words == [*one.words] and not page.turn)
            continue
        page.wait(lambda page=page: page.idle_since(moment))
        patience = BUSY if stage.reading.was_busy_since(moment) else 1
        assert (page.idle_since(moment) or 0) - moment <= patience * (NOTICED + SHOWN)
    for page, _one in told:
        ended = ["interrupted" if page in own else "succeeded"]
        assert [status for status, _ in stage.turns(page.conversation)] == ended
