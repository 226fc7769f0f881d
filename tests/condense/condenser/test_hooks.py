"""What an application hangs around a condensation, and that none of it can break one."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from condense import (
    Addition,
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    Block,
    CondenseError,
    Event,
    FellBack,
    Folded,
    Hooks,
    Message,
    Plan,
    Reduction,
    Situation,
    SummaryFailed,
    TextBlock,
    Trigger,
    Verdict,
    Veto,
    Vetoed,
)
from tests.condense.bench import Bench, talk
from tests.condense.dialogues import texts

EXTRA = TextBlock("Remember the house rules.")


def test_hooks_add_up_in_their_order_and_each_counts_once() -> None:
    """Of every kind."""
    told: list[Event] = []
    one = Hooks(before=(veto,), after=(add,), validators=(judge,), should_condense=(always,))
    two = Hooks(before=(be_brief, veto), after=(flood, add), listeners=(told.append,))
    assert one + two == Hooks(
        should_condense=(always,),
        before=(veto, be_brief),
        after=(add, flood),
        validators=(judge,),
        listeners=(told.append,),
    )


async def veto(plan: Plan) -> Veto:
    """Stop every run."""
    return Veto(f"Not now, with {len(plan.situation.effective)} messages.")


async def truncate_instead(plan: Plan) -> Plan:
    """Use another strategy."""
    return replace(plan, strategies=("sliding_window",))


async def be_brief(plan: Plan) -> Plan:
    """Ask for something else."""
    return replace(plan, prompt="Be brief.", focus="names")


async def add(_situation: Situation, _reduction: Reduction) -> Sequence[Block]:
    """Give the model something more."""
    return (EXTRA,)


async def flood(_situation: Situation, _reduction: Reduction) -> Sequence[Block]:
    """Give the model far too much."""
    return (TextBlock("word " * 24_000),)


async def judge(_situation: Situation, reduction: Reduction) -> Verdict:
    """Count the words of the summary."""
    issues = ("too short",) if len(reduction.summary.split()) < 3 else ()
    return Verdict(issues=issues, score=0.25)


async def raises(*_: Any) -> Any:
    """Fail as hooks do."""
    raise RuntimeError("hook is broken")


def raises_at_once(_event: Event) -> None:
    """Fail as listeners do."""
    raise RuntimeError("listener is broken")


async def test_a_veto_stops_a_run_with_its_reason() -> None:
    """It cannot make a request fit."""
    for trigger in (Trigger.MANUAL, Trigger.FORCED):
        bench = Bench("S", hooks=Hooks(before=(veto,)))
        with pytest.raises(Vetoed, match="Not now, with 4 messages"):
            await bench.fit(talk(4), trigger=trigger)
        assert (bench.calls, bench.log.events) == (0, [])


async def plan_nothing(plan: Plan) -> Plan:
    """Leave no rung that could be tried, and forget the texts."""
    texts: dict[str, Any] = {"prompt": None, "focus": None}
    return replace(plan, strategies=("os.path.join", "nowhere"), **texts)


@pytest.mark.parametrize("trigger", [Trigger.FORCED, Trigger.MANUAL])
async def test_a_plan_of_nothing_says_so(trigger: Trigger) -> None:
    """With what was wrong about it."""
    bench = Bench("S", hooks=Hooks(before=(plan_nothing,)))
    with pytest.raises(Vetoed, match="planned nothing") as caught:
        await bench.fit(talk(12), trigger=trigger)
    assert "os.path.join" in caught.value.details


async def test_a_plan_cannot_have_the_model_asked_twice_in_a_turn() -> None:
    """One failed call is enough."""

    async def ask_again(plan: Plan) -> Plan:
        return replace(plan, strategies=("fresh_start", "ledger"))

    bench = Bench("S", hooks=Hooks(before=(ask_again,)))
    made = await bench.fit(talk(12), may_ask=False)
    assert (made.strategy, bench.calls) == ("ledger", 0)


async def test_a_hook_whose_own_work_was_cancelled_does_not_cancel_the_run() -> None:
    """Only whoever runs the run can."""

    async def impatient(situation: Situation, reduction: Reduction) -> list[Block]:
        raise asyncio.CancelledError

    bench = Bench("S", hooks=Hooks(after=(impatient,)))
    made = await bench.fit(talk(12))
    assert any("impatient failed" in note for note in made.notes)


async def test_the_plan_can_be_changed() -> None:
    """Other rungs, another prompt, another focus."""
    bench = Bench("S", hooks=Hooks(before=(truncate_instead,)))
    made = await bench.fit(talk(12))
    assert made.strategy == "sliding_window"
    bench = Bench("S", hooks=Hooks(before=(be_brief,)))
    made = await bench.fit(talk(12), focus="the numbers")
    assert made.prompt.startswith("Be brief.")
    (attempt,) = bench.log.of("started")
    assert (attempt.focus, attempt.prompt) == ("names", made.prompt)
    assert "names" in made.prompt


async def test_a_strategy_that_does_not_exist_is_left_out_and_noted() -> None:
    """A typo in a hook is no reason to lose the turn."""

    async def misspelt(plan: Plan) -> Plan:
        return replace(plan, strategies=("slidng", "sliding_window"))

    made = await Bench(hooks=Hooks(before=(misspelt,))).fit(talk(12))
    assert "'slidng'" in made.notes[-1]


async def test_blocks_are_added_after_the_summary_and_counted() -> None:
    """The model reads them with it."""
    plain = await Bench("S").fit(talk(12))
    made = await Bench("S", hooks=Hooks(after=(add,))).fit(talk(12))
    assert texts(made.message)[-1] == EXTRA.text
    assert made.tokens_after.value == plain.tokens_after.value + 4
    assert made.message.tokens == (plain.message.tokens or 0) + 4


async def test_what_is_left_out_is_told_in_the_words_of_who_adds_it() -> None:
    """Whoever reads the record need not know a hook; its notes speak of blocks nobody gets."""

    async def flood_with_facts(situation: Situation, reduction: Reduction) -> Addition:
        blocks = tuple(await flood(situation, reduction))
        return Addition(blocks=blocks, notes=("I added a lot.",), what="the facts")

    made = await Bench("S", hooks=Hooks(after=(flood_with_facts,))).fit(talk(12))
    assert made.notes == ("For lack of room this was left out: the facts.",)


async def test_an_addition_says_something_on_record() -> None:
    """Of several hooks, what one folded stays there."""

    async def report(_situation: Situation, reduction: Reduction) -> Addition:
        return Addition(notes=(f"Blocks so far: {len(reduction.message.blocks)}.",))

    made = await Bench("S", hooks=Hooks(after=(report, add, report))).fit(talk(12))
    few, more = made.notes
    assert few != more
    folded = Folded(7)

    async def fold(_situation: Situation, _reduction: Reduction) -> Addition:
        return Addition(folded=folded)

    for after in ((fold, add), (add, fold)):
        made = await Bench("S", hooks=Hooks(after=after)).fit(talk(12))
        assert made.folded == folded


async def test_verdicts_are_on_the_reduction_under_the_validators_name() -> None:
    """With issues and a score."""
    made = await Bench("S", hooks=Hooks(validators=(judge,))).fit(talk(12))
    assert made.verdicts == (Verdict(issues=("too short",), score=0.25, name="judge"),)


async def test_listeners_hear_each_event_with_its_data_once_it_is_on_record() -> None:
    """Started, failed, fell back, succeeded."""
    heard: list[Event] = []
    known: list[list[str]] = []
    bench = Bench(OSError("no"), hooks=Hooks(listeners=(heard.append,)))
    bench.condenser.hooks += Hooks(listeners=(lambda _event: known.append(bench.log.names),))
    made = await bench.fit(talk(12))
    started, failed, fell_back, again, succeeded = heard
    assert [type(started), type(again)] == [AttemptStarted] * 2
    assert isinstance(failed, AttemptFailed)
    assert (failed.attempt.strategy, failed.error.calls) == ("fresh_start", 1)
    assert fell_back == FellBack(failed.attempt, "ledger")
    assert isinstance(succeeded, AttemptSucceeded)
    assert succeeded.reduction is made
    assert [names[-1] for names in known] == ["started", "failed", "failed", "started", "succeeded"]


async def always(_situation: Situation) -> bool:
    """Condense whatever the threshold says."""
    return True


async def never(_situation: Situation) -> bool:
    """Condense nothing that still fits."""
    return False


async def as_it_says(_situation: Situation) -> None:
    """Leave it to the threshold."""


async def test_a_hook_answers_before_the_threshold_decides() -> None:
    """In both directions; the first one that has an answer counts."""
    early = Bench("S", hooks=Hooks(should_condense=(as_it_says, always, never)))
    assert await early.fit(talk(4), threshold=100) is not None
    late = Bench("S", hooks=Hooks(should_condense=(never, always)))
    assert await late.fit(talk(11), threshold=50) is None
    usual = Bench("S", hooks=Hooks(should_condense=(as_it_says,)))
    assert await usual.fit(talk(11), threshold=50) is not None
    assert await usual.fit(talk(2), threshold=50) is None


@pytest.mark.parametrize(
    "rest", [{"trigger": Trigger.FORCED}, {"trigger": Trigger.MANUAL}, {"threshold": 100}]
)
async def test_a_hook_is_not_asked_where_the_threshold_does_not_decide(rest: Any) -> None:
    """By hand, when refused, and above what a request may hold."""
    bench = Bench("S", hooks=Hooks(should_condense=(never,)))
    assert await bench.fit(talk(12), **rest) is not None


async def test_a_hook_condenses_nothing_where_the_user_wants_nothing_automatic() -> None:
    """Nor twice in a turn, nor what is a summary already."""
    bench = Bench("S", hooks=Hooks(should_condense=(always,)))
    assert await bench.fit(talk(11), automatic=False) is None
    assert await bench.fit(talk(11), may_ask=False) is None
    assert await bench.fit(talk(1)) is None
    assert bench.log.names == []


async def test_a_hook_hears_of_each_failure_before_the_next_rung() -> None:
    """And whoever says nothing lets it go on."""
    heard: list[tuple[str, int]] = []

    async def note(_situation: Situation, error: CondenseError) -> None:
        heard.append((type(error).__name__, error.calls))

    made = await Bench(OSError("no"), hooks=Hooks(on_error=(note,))).fit(talk(12))
    assert made.strategy == "ledger"
    assert heard == [("SummaryFailed", 1)]


async def test_a_hook_may_stop_the_ladder_after_a_failure() -> None:
    """Then the record names nothing that is tried next, and the cost is not forgotten."""

    async def enough(_situation: Situation, error: CondenseError) -> Veto:
        return Veto("No summary, no answer.")

    bench = Bench(OSError("no"), hooks=Hooks(on_error=(raises, enough)))
    with pytest.raises(Vetoed, match="No summary, no answer") as caught:
        await bench.fit(talk(12), trigger=Trigger.FORCED)
    assert caught.value.calls == 1
    assert bench.failures == [(SummaryFailed, None)]
    assert bench.log.names == ["started", "failed"]


async def test_each_decision_and_attempt_is_a_line_in_the_log_without_content(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Sizes, names and costs; never what was said, summarised or raised."""
    caplog.set_level(logging.DEBUG, logger="condense")
    bench = Bench(OSError("secret one"), "secret two")
    await bench.fit([*talk(11), Message("user", "secret three " * 1_000)], prompt="secret four")
    await bench.fit(talk(2))
    lines = [record.getMessage() for record in caplog.records]
    first = [line.split(":")[0] for line in lines]
    attempts = [one.id for one in bench.log.of("started")]
    assert first == ["auto", *[f"attempt {id_}" for id_ in attempts for _ in range(2)], "auto"]
    assert "fresh_start, auto, 24000 tokens" in lines[1]
    assert lines[2].endswith("SummaryFailed after 1 calls, cost 0; next: ledger")
    assert [record.levelname for record in caplog.records] == ["INFO"] * 5 + ["DEBUG"]
    assert "secret" not in caplog.text


@pytest.mark.parametrize("kind", ["before", "after", "validators", "should_condense"])
async def test_a_hook_that_raises_is_noted_and_breaks_nothing(kind: str) -> None:
    """The chat goes on as if it were not there."""
    made = await Bench("S", hooks=Hooks(**{kind: (raises,)})).fit(talk(11))
    assert made.summary == "S"
    assert "The hook raises failed: hook is broken" in made.notes


async def test_a_hook_that_fails_is_noted_and_breaks_nothing() -> None:
    """A listener, or one that returns no blocks; a failed attempt has it in its details."""

    async def misunderstood(_situation: Situation, _reduction: Reduction) -> Any:
        return "Remember"

    made = await Bench("S", hooks=Hooks(after=(misunderstood,))).fit(talk(12))
    assert "no content block" in made.notes[-1]
    bench = Bench(OSError("no"), hooks=Hooks(before=(raises,), listeners=(raises_at_once,)))
    assert await bench.fit(talk(12)) is not None
    assert "The hook raises failed" in bench.log.of("failed")[0][0].details
