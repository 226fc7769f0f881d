"""Every process is replaced while people write: no message is lost, and no answer is broken off."""

import threading
from concurrent.futures import ThreadPoolExecutor

from tests.cluster.narrator import Story, story
from tests.cluster.pages import Page
from tests.cluster.stage import Person, Stage, in_cluster
from tests.standin.behaviours import ToolCall


@in_cluster
def test_a_rolling_restart_under_load_loses_no_message(stage: Stage) -> None:
    """Each process ends in order and comes back, and all that was asked is told.

    A turn may go on elsewhere after its step; none has to be tried again.
    """
    begun: list[tuple[Page, Story]] = []
    over = threading.Event()

    def ask(person: Person) -> None:
        while not over.is_set():
            told = story(45, call=ToolCall("list_files") if len(begun) % 2 else None)
            page = stage.begin(told, web=1 + len(begun) % 2, person=person)
            begun.append((page, told))
            page.until_words(told)

    people = [Person(stage.cluster) for _ in range(2)]
    with ThreadPoolExecutor(len(people)) as threads:
        asking = [threads.submit(ask, person) for person in people]
        try:
            for node in stage.cluster.nodes:
                asked = len(begun)
                assert node.end() == 0
                node.start()
                for page, told in begun[asked:]:
                    page.until_words(told)
        finally:
            over.set()
    for one in asking:
        one.result()
    assert len(begun) > len(stage.cluster.nodes)
    for page, told in begun:
        page.wait(lambda page=page, told=told: page.words == [*told.words] and not page.turn)
        stage.check(page, told)
        assert [status for status, _ in stage.turns(page.conversation)] == ["succeeded"]


@in_cluster
def test_a_worker_that_ends_in_order_lets_its_turns_come_to_their_end(stage: Stage) -> None:
    """Those of less than its grace end there; nobody has to take them over."""
    told = stage.begin_together(*(story(90) for _ in range(4)))
    owners = [stage.turns(page.conversation) for page, _one in told]
    worker = stage.runner_of(told[0][0])
    assert worker.end() == 0
    worker.start()
    for page, one in told:
        page.until_words(one, one.length)
        page.wait(lambda page=page: not page.turn)
        stage.check(page, one)
    after = [stage.turns(page.conversation) for page, _one in told]
    assert [[owner for _, owner in turns] for turns in after] == [
        [owner for _, owner in turns] for turns in owners
    ]
