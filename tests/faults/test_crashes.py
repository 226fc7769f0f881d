"""Kill the server at any moment: what was shown is there afterwards, once, and talking goes on.

Each test kills a server that its predecessor started, and starts the next: a life for a death.
"""

import random
from collections.abc import Iterator

import pytest

from tests.chatapp.visitors import Visitor
from tests.faults import scenarios
from tests.faults.harness import WORD, Server, Talk
from tests.faults.scenarios import Scenario
from tests.first_start import FirstStart
from tests.standin.server import Standin

# How often a moment is chosen at random, in every run of the tests and in the long one.
FEW, MANY = 2, 202
WIDE = 200_000
LOOKS = ("check_integrity", "check_requests")


class Stage:
    """A running server and somebody who is signed in."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.visitor = Visitor(server.start())
        self.talks: list[Talk] = []

    def talk(self, *, filled: bool = False) -> Talk:
        """Open a new conversation, with something in it that can be condensed."""
        talk = Talk(self.server, self.visitor)
        talk.open()
        if filled:
            scenarios.fill(self.server, talk)
        self.talks.append(talk)
        return talk

    def kill_and_check(self) -> None:
        """Kill the server; all talks must be whole in its next life, and go on."""
        server, talks = self.server, self.talks
        self.talks = []
        server.kill()
        kept_until = server.kept_until
        server.standin.forget()
        server.start()
        assert server.count("chatapp_turn WHERE finished_at IS NULL") == 0
        for table in ("modelcall", "condensation"):
            assert server.count(f"chatapp_{table} WHERE status = 'running'") == 0
        # What a message shows beside its text is kept there.
        assert server.count("chatapp_modelcall WHERE draft <> '' AND message_id IS NULL") == 0
        assert server.count("chatapp_modelcall") >= len(server.standin.requests)
        scenarios.set_window(server, WIDE)
        for talk in talks:
            check(talk, kept_until)
            go_on(talk)
        assert server.standin.problems == []


def check(talk: Talk, kept_until: float) -> None:
    """What was shown by then is stored, and nothing twice; thoughts are on the page again."""
    stored = talk.stored()
    assert len(stored) == len(set(stored))
    assert talk.seen_before(kept_until) <= {*stored, *WORD.findall(talk.page())}
    assert stored == sorted(stored, key=lambda word: int(word[1:]))


def go_on(talk: Talk) -> None:
    """Send again what got no answer, take up what was interrupted, and come to an end."""
    status, origin = talk.turn()
    if origin != "condensed":
        # The row of an attempt says it of a condensation by hand.
        assert (status == "interrupted") == (">Interrupted<" in talk.page())
    talk.open()
    if nonce := talk.last.get("nonce"):
        known = talk.knows(nonce)
        talk.again()
        talk.until_accepted(nonce, idle=not known)
    status, origin = talk.turn()
    if status == "interrupted" and origin != "condensed":
        talk.take_up("continue")
    else:
        talk.say("And now?")
    talk.until_idle()
    assert talk.turn()[0] == "succeeded"
    stored = talk.stored()
    assert len(stored) == len(set(stored))
    talk.close()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, first_start: FirstStart) -> Iterator[Stage]:
    """One folder and one provider for all lives of the server."""
    data = first_start.copy(tmp_path_factory.mktemp("data"))
    with Standin() as standin, Server(data, standin) as server:
        stage = Stage(server)
        try:
            yield stage
        finally:
            for talk in stage.talks:
                talk.close()


def test_what_runs_in_many_conversations_is_interrupted_everywhere(stage: Stage) -> None:
    """At whatever it is: what was written is there, and nothing of it is sent that may not be."""
    holds = (
        scenarios.hold_in_a_summary,
        scenarios.hold_before_the_first_word,
        scenarios.hold_while_it_thinks,
        scenarios.hold_in_mid_stream,
        scenarios.hold_while_a_call_is_written,
        scenarios.hold_in_a_tool,
    )
    gates = [hold(stage.server, stage.talk()) for hold in holds]
    summary, _before, thinks, stream, calls, tool = stage.talks
    written = {talk: "".join(talk.drafts()) for talk in (thinks, calls)}
    shown = stream.seen_before(stage.server.now())
    stage.kill_and_check()
    for gate in gates:
        gate.open()
    assert shown <= set(stream.stored())
    for talk, draft in written.items():
        assert set(WORD.findall(draft)) <= set(WORD.findall(talk.page()))
    assert 'class="note thought"' in thinks.page()
    assert "The model was still writing a call of read_file. It never ran." in calls.page()
    assert "it may have run" in tool.page()
    assert "Not run" in tool.page()
    (failed,) = stage.server.ask(
        "SELECT status, CAST(cost AS REAL) > 0, cost_measured FROM chatapp_condensation "
        "WHERE conversation_id = ?",
        summary.id.hex,
    )
    assert failed == ("failed", 1, 0)


SCENARIOS = (
    *(scenarios.answer, scenarios.use_tools, scenarios.condense, scenarios.copy_facts),
    scenarios.truncate,
)
MESSAGE, CALL, TOOL = ("INSERT INTO .chatapp_" + name for name in ("message", "modelcall", "tool"))
POINTS: dict[str, tuple[Scenario, str, int, bool]] = {
    "inside a send": (scenarios.answer, "INSERT INTO .chatapp_turn", 1, True),
    "before a call is on record": (scenarios.answer, CALL, 1, False),
    "while a draft is written": (scenarios.answer, "INTO chatapp_draftpiece", 1, False),
    "between a reply and its commit": (scenarios.answer, MESSAGE, 2, False),
    "inside the commit of a reply": (scenarios.answer, "modelcall.+message_id", 1, True),
    "before the turn's end": (scenarios.answer, "chatapp_turn.? SET .+last_seq", 1, False),
    "between a call and its result": (scenarios.use_tools, "toolrun.? SET .text", 1, False),
    "between two tools": (scenarios.use_tools, TOOL, 2, False),
    "before the results are stored": (scenarios.use_tools, MESSAGE, 3, True),
    "when an attempt begins": (scenarios.condense, "INSERT INTO .chatapp_condensation", 1, True),
    "inside a condensation": (scenarios.condense, "message.? SET .?hidden", 1, True),
    "inside a copying of facts": (scenarios.copy_facts, MESSAGE, 2, True),
    "inside a truncation": (scenarios.truncate, MESSAGE, 2, False),
}


# In these, each of a kind is tried; the others of that kind take long to come to nothing new.
TELLING = {
    "inside a send",
    "while a draft is written",
    "between a reply and its commit",
    "between a call and its result",
    "inside a condensation",
    "inside a truncation",
}


@pytest.mark.parametrize(
    "point",
    [*(pytest.param(one, marks=() if one in TELLING else pytest.mark.soak) for one in POINTS)],
)
def test_a_kill_at_a_named_point_loses_and_repeats_nothing(stage: Stage, point: str) -> None:
    """Whatever was not committed is as if it had not been, and can be done again."""
    scenario, pattern, number, after = POINTS[point]
    talk = stage.talk(filled=scenario not in {scenarios.answer, scenarios.use_tools})
    scenarios.make_room(stage.server, scenario)
    stage.server.arm(pattern, number=number, after=after)
    scenario(stage.server, talk)
    stage.server.until_stands()
    stage.kill_and_check()


@pytest.mark.parametrize(
    "seed",
    [*range(FEW), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(FEW, MANY))],
)
def test_a_kill_at_any_moment_loses_and_repeats_nothing(stage: Stage, seed: int) -> None:
    """At a statement of the database or a frame to the page, while three talk at once."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    other = chance.choice(SCENARIOS)
    filled = other not in {scenarios.answer, scenarios.use_tools}
    talk, *streams = stage.talk(filled=filled), stage.talk(), stage.talk()
    for stream in streams:
        scenarios.answer(stage.server, stream)
        stream.until("text.streamed")
    scenarios.make_room(stage.server, other)
    if chance.random() < 0.6:
        stage.server.arm("", number=chance.randint(1, 40), after=chance.random() < 0.5)
        other(stage.server, talk)
        stage.server.until_stands(or_idle=True)
    else:
        other(stage.server, talk)
        streams[0].hear(chance.randint(1, 12))
    stage.kill_and_check()


@pytest.mark.parametrize(
    "command",
    [*LOOKS, *(pytest.param(one, marks=pytest.mark.soak, id=f"{one} after many") for one in LOOKS)],
)
def test_the_data_is_whole_after_all_of_this(stage: Stage, command: str) -> None:
    """Tags, costs and so on agree, and every request can be shown as it was sent."""
    stage.server.kill()
    code, complaints = stage.server.run(command)
    assert code == 0, complaints
