"""What an application hangs around a condensation, and that none of it can break one."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from condense import (
    Addition,
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    CondenseError,
    Event,
    FellBack,
    Folded,
    Hooks,
    Message,
    Plan,
    Situation,
    SummaryFailed,
    TextBlock,
    Trigger,
    Veto,
    Vetoed,
    attach_ledger,
)
from tests.condense.bench import Bench, talk, veto
from tests.condense.dialogues import situation, texts

EXTRA = TextBlock("Remember the house rules.")
FLOOD = TextBlock("word " * 24_000)

type Hook = Callable[..., Awaitable[Any]]


def answering(answer: Any) -> Hook:
    """Return a hook that always says the same."""

    async def hook(*_: Any) -> Any:
        return answer

    return hook


def planning(**changes: Any) -> Hook:
    """Return a hook that changes the plan."""

    async def hook(plan: Plan) -> Plan:
        return replace(plan, **changes)

    return hook


async def raises(*_: Any) -> Any:
    """Fail as hooks do."""
    raise RuntimeError("hook is broken")


def raises_at_once(_event: Event) -> None:
    """Fail as listeners do."""
    raise RuntimeError("listener is broken")


def test_hooks_add_up_in_their_order_and_each_counts_once() -> None:
    """Of every kind."""
    told: list[Event] = []
    always, be_brief, add, flood = (answering(one) for one in range(4))
    one = Hooks(before=(veto,), after=(add,), validators=(veto,), should_condense=(always,))
    two = Hooks(before=(be_brief, veto), after=(flood, add), listeners=(told.append,))
    assert one + two == Hooks(
        should_condense=(always,),
        before=(veto, be_brief),
        after=(add, flood),
        validators=(veto,),
        listeners=(told.append,),
    )


@pytest.mark.parametrize("trigger", [Trigger.FORCED, Trigger.MANUAL])
async def test_a_veto_or_a_plan_of_nothing_stops_a_run_with_its_reason(trigger: Trigger) -> None:
    """It cannot make a request fit; it is on record as an attempt that asks no model."""
    bench = Bench("S", hooks=Hooks(before=(veto,)))
    with pytest.raises(Vetoed, match="Not now, with 4 messages"):
        await bench.fit(talk(4), trigger=trigger)
    assert (bench.calls, bench.failures) == (0, [(Vetoed, None)])
    assert [(one.strategy, one.prompt) for one in bench.log.of("started")] == [("fresh_start", "")]
    nothing = planning(strategies=("os.path.join", "nowhere"), prompt=None, focus=None)
    with pytest.raises(Vetoed, match="planned nothing") as caught:
        await Bench("S", hooks=Hooks(before=(nothing,))).fit(talk(12), trigger=trigger)
    assert "os.path.join" in caught.value.details


async def test_the_plan_can_be_changed() -> None:
    """Other rungs, another prompt, another focus; the model is not asked twice in a turn."""
    other = planning(strategies=("slidng", "sliding_window"))
    made = await Bench("S", hooks=Hooks(before=(other,))).fit(talk(12))
    assert made.strategy == "sliding_window"
    assert "'slidng'" in made.notes[-1]
    bench = Bench("S", hooks=Hooks(before=(planning(prompt="Be brief.", focus="names"),)))
    made = await bench.fit(talk(12), focus="the numbers")
    (attempt,) = bench.log.of("started")
    assert (attempt.focus, attempt.prompt) == ("names", made.prompt)
    assert made.prompt.startswith("Be brief.")
    assert "names" in made.prompt
    bench = Bench("S", hooks=Hooks(before=(planning(strategies=("fresh_start", "ledger")),)))
    made = await bench.fit(talk(12), may_ask=False)
    assert (made.strategy, bench.calls) == ("ledger", 0)


async def test_blocks_are_added_after_the_summary_and_counted() -> None:
    """The model reads them with it; notes stay on record, and what is left out is told."""
    plain = await Bench("S").fit(talk(12))
    made = await Bench("S", hooks=Hooks(after=(answering([EXTRA]),))).fit(talk(12))
    assert texts(made.message)[-1] == EXTRA.text
    assert made.tokens_after.value == plain.tokens_after.value + 4
    assert made.message.tokens == (plain.message.tokens or 0) + 4
    fold = answering(Addition(folded=Folded(7), notes=("Seven characters.",)))
    made = await Bench("S", hooks=Hooks(after=(fold, answering([EXTRA])))).fit(talk(12))
    assert (made.folded, made.notes) == (Folded(7), ("Seven characters.",))
    flood = answering(Addition(blocks=(FLOOD,), notes=("I added a lot.",), what="the facts"))
    made = await Bench("S", hooks=Hooks(after=(flood,))).fit(talk(12))
    assert made.notes == ("For lack of room this was left out: the facts.",)
    facts = await attach_ledger(situation(talk(12)), await Bench("S").fit(talk(12)))
    assert facts.what == "the facts of the hidden messages, copied by rule"


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


ALWAYS, NEVER, AS_IT_SAYS = answering(True), answering(False), answering(None)


@pytest.mark.parametrize(
    ("hooks", "count", "rest", "condenses"),
    [
        ((AS_IT_SAYS, ALWAYS, NEVER), 4, {"threshold": 100}, True),
        ((NEVER, ALWAYS), 11, {}, False),
        ((AS_IT_SAYS,), 2, {}, False),
        # It is not asked by hand, when refused, and above what a request may hold,
        ((NEVER,), 12, {"trigger": Trigger.FORCED}, True),
        ((NEVER,), 12, {"threshold": 100}, True),
        # nor where the user wants nothing automatic, twice in a turn, or of what is a summary.
        ((ALWAYS,), 11, {"automatic": False}, False),
        ((ALWAYS,), 11, {"may_ask": False}, False),
        ((ALWAYS,), 1, {}, False),
    ],
)
async def test_a_hook_answers_before_the_threshold_decides(
    hooks: tuple[Hook, ...], count: int, rest: dict[str, Any], condenses: bool
) -> None:
    """In both directions; the first one that has an answer counts."""
    bench = Bench("S", hooks=Hooks(should_condense=hooks))
    assert (await bench.fit(talk(count), **rest) is not None) is condenses
    assert bool(bench.log.names) is condenses


async def test_a_hook_hears_of_each_failure_and_may_stop_the_ladder() -> None:
    """Then the record names nothing that is tried next, and the cost is not forgotten."""
    heard: list[tuple[str, int]] = []

    async def note(_situation: Situation, error: CondenseError) -> None:
        heard.append((type(error).__name__, error.calls))

    made = await Bench(OSError("no"), hooks=Hooks(on_error=(note,))).fit(talk(12))
    assert made.strategy == "ledger"
    assert heard == [("SummaryFailed", 1)]
    enough = answering(Veto("No summary, no answer."))
    bench = Bench(OSError("no"), hooks=Hooks(on_error=(raises, enough)))
    with pytest.raises(Vetoed, match="No summary, no answer") as caught:
        await bench.fit(talk(12), trigger=Trigger.FORCED)
    assert caught.value.calls == 1
    assert bench.failures == [(SummaryFailed, None)]
    assert bench.log.names == ["started", "failed"]
    assert "No summary, no answer." in bench.log.of("failed")[0][0].details


async def test_each_decision_and_attempt_is_a_line_in_the_log_without_content(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Sizes, names and costs; never what was said, summarised or raised."""
    caplog.set_level(logging.DEBUG, logger="condense")
    bench = Bench(OSError("secret one"), "secret two")
    await bench.fit([*talk(11), Message("user", "secret three " * 1_000)], prompt="secret four")
    await bench.fit(talk(2))
    assert "fresh_start, auto, 24000 tokens" in caplog.text
    assert "SummaryFailed after 1 calls, cost 0; next: ledger" in caplog.text
    assert [record.levelname for record in caplog.records] == ["INFO"] * 5 + ["DEBUG"]
    assert "secret" not in caplog.text


@pytest.mark.parametrize("kind", ["before", "after", "validators", "should_condense"])
async def test_a_hook_that_raises_is_noted_and_breaks_nothing(kind: str) -> None:
    """The chat goes on as if it were not there; a failed attempt has it in its details."""
    made = await Bench("S", hooks=Hooks(**{kind: (raises,)})).fit(talk(11))
    assert made.summary == "S"
    assert "The hook raises failed: hook is broken" in made.notes
    bench = Bench(OSError("no"), hooks=Hooks(before=(raises,), listeners=(raises_at_once,)))
    assert await bench.fit(talk(12)) is not None
    assert "The hook raises failed" in bench.log.of("failed")[0][0].details


async def test_a_hook_that_misunderstands_or_whose_work_was_cancelled_is_noted() -> None:
    """Only whoever runs the run can cancel it."""

    async def impatient(*_: Any) -> Any:
        raise asyncio.CancelledError

    hooks = Hooks(after=(answering("Remember"), impatient))
    no_block, cancelled = (await Bench("S", hooks=hooks).fit(talk(12))).notes
    assert "no content block" in no_block
    assert "impatient failed" in cancelled
