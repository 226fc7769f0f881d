"""Kill workers, web processes and Redis at work: what was shown is there, once, and all goes on.

Each kill takes some seconds to be noticed. The next one comes meanwhile.
"""

import random
import time
from dataclasses import dataclass

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.narrator import Story, story
from tests.cluster.nodes import Node
from tests.cluster.pages import Page
from tests.cluster.stage import BUSY, NOTICED, SHOWN, Stage, in_cluster
from tests.standin.behaviours import ToolCall

# Beside the first one of each test, and how often in proportion.
VICTIMS, WEIGHTS = ("worker", "web", "redis"), (2, 1, 1)
# Kills of one test, and turns that are written at each of them.
KILLS, TURNS = 5, 4
# Tests in every run, and in both: 10 kills, and 220.
FEW, MANY = 2, 44


@dataclass
class Turn:
    """What was asked for, the page that watches, and when its process was killed, if it was."""

    page: Page
    told: Story
    killed_at: float = 0.0

    @property
    def is_noticed(self) -> bool:
        """Whether the page knows what became of it."""
        return self.page.idle_since(self.killed_at) is not None


def begin(stage: Stage, chance: random.Random) -> Turn:
    """Have a story told, with a tool used in it or not, that is watched somewhere."""
    call = ToolCall("list_files") if chance.random() < 0.3 else None
    told = story(chance.randint(45, 90), call=call)
    return Turn(stage.begin(told, web=chance.choice((1, 2)), also=chance.choice((1, 2))), told)


def kill(stage: Stage, node: Node, turns: list[Turn]) -> None:
    """Kill a process, and start it again; note which turns were its own."""
    node.ready()
    node.kill()
    now = time.monotonic()
    node.launch()
    # Whatever it had begun and did not end; some of that may be closed already.
    sql = "SELECT conversation_id FROM chatapp_turn WHERE owner LIKE %s AND status <> 'succeeded'"
    own = {conversation for (conversation,) in stage.cluster.ask(sql, f"%/{node.died}/%")}
    for turn in turns:
        if turn.page.conversation in own:
            turn.killed_at = now


def ended_after(stage: Stage, turn: Turn) -> tuple[float, float]:
    """Return how long after a kill its turn was ended, and how long after that this was shown."""
    sql = "SELECT min(finished_at) FROM chatapp_turn WHERE conversation_id = %s"
    ended = stage.cluster.value(sql, turn.page.conversation).timestamp()
    took = ended - (time.time() - time.monotonic()) - turn.killed_at
    return took, (turn.page.idle_since(turn.killed_at) or 0) - turn.killed_at - took


# Where a hint was lost with Redis, a page looks for itself after so many seconds.
LOOKS = 10
# What nobody has twice: a message in a turn, and a tool's run for one call.
TWICE = """
    SELECT turn_id::text, content::text FROM chatapp_message
    WHERE role = 'user' AND NOT holds_results AND turn_id IS NOT NULL
    GROUP BY turn_id, content::text HAVING count(*) > 1
    UNION ALL SELECT turn_id::text, call_id FROM chatapp_toolrun
    GROUP BY turn_id, call_id HAVING count(*) > 1
"""


def settle(stage: Stage, turns: list[Turn], late: float = 0.0) -> None:
    """Nothing is lost of them but the last moment; they are continued, and are whole then.

    Pages may have been ``late`` to hear of it, by so many seconds.
    """
    for turn in turns:
        page = turn.page
        page.wait(lambda turn=turn: turn.is_noticed)
        if late:
            # It may show what is lost until it looks.
            page.wait(lambda page=page: page.words == stage.stored(page.conversation))
        if turn.killed_at:
            stage.check_after_kill(page, turn.told, turn.killed_at)
            took, until_shown = ended_after(stage, turn)
            patience = BUSY if stage.reading.was_busy_since(turn.killed_at) else 1
            assert took <= patience * NOTICED
            assert until_shown <= patience * SHOWN + late
        if stage.turns(page.conversation)[-1][0] == "interrupted":
            assert turn.killed_at, "nothing happened to its process"
            page.take_up("continue")
    for turn in turns:
        page, last = turn.page, turn.told.words[-1]
        page.wait(lambda page=page, last=last: page.words[-1:] == [last] and not page.turn)
        stage.check(page, turn.told)
    assert stage.cluster.ask(TWICE) == []


@in_cluster
@pytest.mark.parametrize(
    "seed",
    [*range(FEW), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(FEW, MANY))],
)
def test_kills_lose_and_repeat_nothing(stage: Stage, seed: int) -> None:
    """Of workers, web processes and Redis, at any moment.

    The turns of dead workers are interrupted within ten seconds, and no others are.
    """
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    turns: list[Turn] = []
    # A worker always, and each of the others in most runs.
    victims = ["worker", *chance.choices(VICTIMS, WEIGHTS, k=KILLS - 1)]
    for victim in victims:
        fresh = [begin(stage, chance) for _ in range(TURNS)]
        turns += fresh
        watched = chance.choice(fresh)
        watched.page.until_words(watched.told, chance.randint(1, watched.told.length // 2))
        if victim == "worker":
            kill(stage, stage.runner_of(watched.page), turns)
        elif victim == "web":
            web = chance.choice(stage.cluster.webs)
            web.kill()
            web.start()
        else:
            assert stage.cluster.redis
            stage.cluster.redis.kill()
            stage.cluster.redis.start()
    settle(stage, turns, LOOKS if {*victims} > {"worker"} else 0)
    assert any(turn.killed_at for turn in turns)
    assert unfinished(stage.cluster) == 0


def unfinished(cluster: Cluster) -> int:
    """Return how many turns are not over."""
    return int(cluster.value("SELECT count(*) FROM chatapp_turn WHERE finished_at IS NULL"))


@in_cluster
@pytest.mark.soak
def test_a_kill_while_two_hundred_turns_are_written_loses_nothing(stage: Stage) -> None:
    """Those of the other worker are whole, and those of the dead are taken up."""
    turns = [
        Turn(stage.begin(told, web=1 + n % 2), told)
        for n in range(200)
        for told in [story(240, pace=0.5)]
    ]
    for turn in turns:
        turn.page.until_words(turn.told, 30)
    kill(stage, stage.cluster.runners[0], turns)
    assert any(turn.killed_at for turn in turns)
    assert not all(turn.killed_at for turn in turns)
    settle(stage, turns)


@in_cluster
def test_a_worker_that_was_frozen_writes_nothing_more(stage: Stage) -> None:
    """Its turns are interrupted meanwhile; when it goes on, it finds that and takes others."""
    turns = [Turn(*told) for told in stage.begin_together(*(story(600) for _ in range(4)))]
    frozen = stage.runner_of(turns[0].page)
    own = [turn for turn in turns if stage.runner_of(turn.page) is frozen]
    moment = time.monotonic()
    frozen.freeze()
    for turn in own:
        turn.killed_at = moment
        turn.page.wait(lambda turn=turn: turn.is_noticed)
    before = record(stage, own)
    frozen.thaw()
    for _ in range(40):
        page = stage.begin(told := story(30))
        page.until_words(told)
        if stage.runner_of(page) is frozen:
            break
    else:
        pytest.fail("it takes no turns any more")
    page.until_idle()
    assert record(stage, own) == before
    for turn in turns:
        if turn not in own:
            turn.page.stop()
    settle(stage, own)


def record(stage: Stage, turns: list[Turn]) -> list[object]:
    """Return everything that is stored of these turns' conversations."""
    own = "conversation_id = %(id)s"
    tables = {
        "conversation": "id = %(id)s",
        **dict.fromkeys(("turn", "message", "modelcall", "auditentry"), own),
        "toolrun": f"turn_id IN (SELECT id FROM chatapp_turn WHERE {own})",  # noqa: S608 - as below
    }
    return [
        stage.cluster.ask(
            f"SELECT to_json(t)::text FROM chatapp_{table} t WHERE {which} ORDER BY id",  # noqa: S608 - names of our own
            {"id": turn.page.conversation},
        )
        for turn in turns
        for table, which in tables.items()
    ]


@in_cluster
def test_a_web_process_that_is_killed_ends_no_turn(stage: Stage) -> None:
    """Its pages come back, and miss nothing of what a worker wrote meanwhile."""
    told = story(150)
    page = stage.begin(told, web=1)
    page.until_words(told, 9)
    web = stage.cluster.web(1)
    web.kill()
    web.start()
    page.until_words(told, told.length)
    page.wait(lambda: not page.turn)
    assert page.lines > 1
    stage.check(page, told)
    assert [status for status, _owner in stage.turns(page.conversation)] == ["succeeded"]
