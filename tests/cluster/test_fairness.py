"""Where more is asked for than runs at once, who has little running comes before who has much."""

import contextlib
import uuid
from collections.abc import Iterator

from tests.cluster.conftest import NO_TITLES
from tests.cluster.narrator import Story, story
from tests.cluster.nodes import Node
from tests.cluster.pages import Page
from tests.cluster.stage import Person, Stage, in_cluster

JOIN = (
    "INSERT INTO auth_user (username, password, first_name, last_name, email, is_superuser, "
    "is_staff, is_active, date_joined) VALUES (%s, '', '', '', '', false, false, true, now())"
)


@contextlib.contextmanager
def one_turn_at_a_time(stage: Stage) -> Iterator[None]:
    """Have one worker instead of all, which does no more than that."""
    cluster = stage.cluster
    for worker in cluster.workers:
        worker.end()
    number = len(cluster.workers) + 1
    alone = Node("work", number, cluster.folder, cluster.environment, "--turns=1")
    alone.start()
    try:
        yield
    finally:
        alone.end()


@in_cluster
def test_a_users_second_turn_waits_behind_anothers_first(stage: Stage) -> None:
    """Of one user nine wait when another comes, whose turn is the next that runs."""
    name = f"guest-{uuid.uuid4()}"
    stage.cluster.ask(JOIN, name)
    guest = Person(stage.cluster, name)
    with one_turn_at_a_time(stage):
        running, *waiting = [story(3) for _ in range(10)]
        gate = stage.narrator.hold(running.number)
        first = stage.begin(running)
        first.until_words(running)
        pages = [_ask(stage, told) for told in waiting]
        page = _ask(stage, own := story(3), guest)
        # Titles are asked for beside turns.
        stage.cluster.ask(NO_TITLES)
        gate.open()
        for one in (first, page, *pages):
            one.until_idle()
    expected = [told.number for told in (running, own, *waiting)]
    assert [number for number in stage.narrator.asked if number in expected] == expected


def _ask(stage: Stage, told: Story, person: Person | None = None) -> Page:
    """Ask for a story, and return its page once the turn is in the queue."""
    page = stage.begin(told, person=person)
    page.until("message.accepted")
    return page
