"""What each process tells of all: the queues, and the oldest sign of life."""

import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.nodes import Node
from tests.cluster.stage import Stage, in_cluster

# A job that is due for two minutes, and waits for the one that has its lock; and one not yet due.
HOLD = """
    INSERT INTO procrastinate_jobs (queue_name, task_name, lock, status, scheduled_at) VALUES
    ('long', 'of_test', 'of_test', 'doing', NULL),
    ('long', 'of_test', 'of_test', 'todo', now() - interval '120 s'),
    ('turns', 'of_test', 'of_test', 'todo', now() + interval '1 day')
"""


def read(node: Node) -> dict[tuple[str, ...], float]:
    """Return the numbers of a process."""
    with urllib.request.urlopen(f"{node.origin}/metrics") as answer:
        families = text_string_to_metric_families(answer.read().decode())
    return {(one.name, *one.labels.values()): one.value for of in families for one in of.samples}


@in_cluster
def test_queues_and_signs_of_life_are_told_by_each_web_process(stage: Stage) -> None:
    """How many jobs are due and since when, how many writes wait, how old the oldest sign is."""
    stage.cluster.ask(HOLD)
    try:
        for web in stage.cluster.webs:
            seen = read(web)
            jobs, since = ("palimpsest_queue_jobs", "palimpsest_queue_oldest_seconds")
            assert [seen[jobs, one] for one in ("long", "turns")] == [1, 0]
            assert 120 <= seen[since, "long"] < 1_000
            assert seen[since, "turns"] == 0
            assert 0 <= seen["palimpsest_oldest_heartbeat_seconds",] < 60
            assert seen["palimpsest_waiting_writes",] >= 0
    finally:
        stage.cluster.ask("DELETE FROM procrastinate_jobs WHERE task_name = 'of_test'")
