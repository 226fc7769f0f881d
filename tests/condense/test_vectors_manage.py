"""Recorded decisions: when to condense, when to truncate, and when to do neither."""

import asyncio
from dataclasses import dataclass
from functools import cache
from typing import Any

from condense import (
    Budget,
    CannotFit,
    Condenser,
    Message,
    Policy,
    Reduction,
    Situation,
    TokenCount,
    TokenCounter,
    effective_history,
    safe_cuts,
    unread_tail,
)
from condense.testing import RecordingLog
from tests.condense.roo import Case, Deviation, assert_same, cases, each, hides_some, messages
from tests.condense.roo_model import (
    ROOS_LADDER,
    RecordedCounter,
    RecordedModel,
    environment_of,
    share_tokens,
    tools_of,
)
from tests.condense.test_vectors_history import VAGUE_SUMMARY, counted_by_roo

CASES = cases("manageContext")
NOTHING_TO_DO = ("Not enough messages to condense context", "Context was condensed recently")


@dataclass(frozen=True)
class Run:
    """What the engine made of a case."""

    situation: Situation
    calls: int
    log: RecordingLog
    reduction: Reduction | None
    cannot_fit: bool

    @property
    def kind(self) -> str:
        """Whether something was condensed, truncated, or nothing."""
        return self.reduction.kind if self.reduction else "nothing"

    @property
    def error(self) -> str:
        """Why there is no summary, empty where none was tried or it succeeded."""
        failed = [error for error, _ in self.log.of("failed")]
        names = [attempt.strategy for attempt in self.log.of("started")]
        return str(failed[0]) if failed and names[0] == "fresh_start" else ""

    @property
    def cost(self) -> float:
        """All that was spent, failures included."""
        spent = [error.cost for error, _ in self.log.of("failed")]
        return float(sum(spent) + (self.reduction.cost if self.reduction else 0))


def run(case: Case) -> Run:
    """Return what the engine makes of a case, worked out once."""
    return _run(case["name"])


@cache
def _run(name: str) -> Run:
    return asyncio.run(_manage(next(case for case in CASES if case["name"] == name)))


def situation_of(case: Case, counter: TokenCounter) -> Situation:
    """Return a case as the engine sees it; its messages are as large as it says."""
    options, history = case["input"]["options"], messages(case["input"]["messages"])
    last = counter.count(history[-1].content) if history else 0
    total = options["totalTokens"] + last
    thresholds = options.get("profileThresholds", {})
    return Situation(
        effective=share_tokens(effective_history(history), total),
        history=history,
        tokens=TokenCount(total),
        budget=Budget(
            window=options["contextWindow"],
            max_output=options.get("maxTokens"),
            threshold=options["autoCondenseContextPercent"],
            profile_threshold=thresholds.get(options.get("currentProfileId"), -1),
        ),
        system=options["systemPrompt"],
        tools=tools_of(case),
        automatic=options["autoCondenseContext"],
        prompt=options.get("customCondensingPrompt", ""),
        environment=environment_of(case),
    )


async def _manage(case: Case) -> Run:
    counter, log = RecordedCounter(), RecordingLog()
    model, situation = RecordedModel(case["input"]["handler"]), situation_of(case, counter)
    # The recorded windows are smaller than any real one.
    policy = Policy(small_window=0)
    condenser = Condenser(model, counter, ROOS_LADDER, policy=policy, log=log)
    try:
        reduction, cannot_fit = await condenser.fit(situation), False
    except CannotFit:
        reduction, cannot_fit = None, True
    return Run(situation, len(model.requests), log, reduction, cannot_fit)


# Rules by which the engine decides otherwise.


def kept(case: Case) -> tuple[Message, ...]:
    """Return what the model has not read."""
    effective = run(case).situation.effective
    return effective[unread_tail(effective) :]


def has_nothing_new(case: Case) -> bool:
    """Whether all that was read is a summary or a marker."""
    effective = run(case).situation.effective
    read = effective[: unread_tail(effective)]
    return all(message.is_summary or message.is_marker for message in read)


def is_below_the_limit(case: Case) -> bool:
    """Whether the request may be sent as it is."""
    return not run(case).situation.is_over


def asks_in_vain(case: Case) -> bool:
    """Whether Roo reports on every request below the limit that there is nothing to summarise."""
    error = case["output"].get("result", {}).get("error", "")
    return is_below_the_limit(case) and (error.startswith(NOTHING_TO_DO) or has_nothing_new(case))


def counts_what_is_not_seen(case: Case) -> bool:
    """Whether Roo truncates other messages than the model sees."""
    effective = run(case).situation.effective
    return [m.id for m in effective] != counted_by_roo(messages(case["input"]["messages"]))


def would_split_a_pair(case: Case) -> bool:
    """Whether one of Roo's two cuts parts a tool call from its result."""
    removed = case["output"].get("result", {}).get("messagesRemoved", 0)
    return not {1, 1 + removed} <= set(safe_cuts(run(case).situation.effective))


def would_not_shrink(case: Case) -> bool:
    """Whether a summary was written and thrown away, since it makes nothing smaller."""
    reasons = [str(error) for error, _ in run(case).log.of("failed")]
    return any(reason.startswith("The context would not get smaller") for reason in reasons)


def comes_too_soon(case: Case) -> bool:
    """Whether too little has come since the last summary to ask the model for another one."""
    made = run(case)
    seen = any(message.is_summary for message in made.situation.effective)
    return seen and "fresh_start" not in [one.strategy for one in made.log.of("started")]


NOTHING_NEW = Deviation(
    "What the model has not read stays; a summary of the rest would say nothing.", has_nothing_new
)
EFFECTIVE = Deviation("Only what the model sees is summarised.", hides_some)
QUIET = Deviation("Below the limit, nothing to summarise is no failure.", asks_in_vain)
COUNTS = Deviation("Only what the model sees is counted and hidden.", counts_what_is_not_seen)
PAIRS = Deviation("A tool call stays with its result.", would_split_a_pair)
GREW = Deviation("What makes nothing smaller is not applied.", would_not_shrink)
CRASH = Deviation("A message without a role is no crash.", lambda case: "threw" in case["output"])
SOON = Deviation("Unasked, the model is asked again after 5 % of the window.", comes_too_soon)
RUNGS = [NOTHING_NEW, EFFECTIVE, GREW, CRASH, VAGUE_SUMMARY, SOON]


def roos_kind(case: Case) -> str:
    """Return what Roo did; a truncation of no messages is nothing."""
    result = case["output"].get("result", {})
    if result.get("summary"):
        return "condensed"
    return "truncated" if result.get("messagesRemoved") else "nothing"


def result_of(case: Case) -> dict[str, Any]:
    """Return what Roo returned, empty where it crashed."""
    return case["output"].get("result", {})


@each("manageContext")
def test_the_decision_is_roos(case: Case) -> None:
    """Condense, truncate, or leave the context alone."""
    assert_same(case, run(case).kind, roos_kind(case), [*RUNGS, COUNTS, PAIRS])


@each("manageContext")
def test_the_model_is_called_as_often_as_in_roo(case: Case) -> None:
    """Once where a summary is due, else never."""
    assert_same(case, run(case).calls, case["output"]["nCreateMessageCalls"], RUNGS)


@each("manageContext")
def test_the_cost_is_roos(case: Case) -> None:
    """What a failed summary cost is not forgotten when messages are truncated after it."""
    assert_same(case, run(case).cost, result_of(case).get("cost"), RUNGS)


@each("manageContext")
def test_the_reason_why_there_is_no_summary_is_roos(case: Case) -> None:
    """The same sentence, whatever was done after it."""
    assert_same(case, run(case).error, result_of(case).get("error", ""), [*RUNGS, QUIET])


@each("manageContext")
def test_the_size_before_is_roos(case: Case) -> None:
    """The context and its last message, as the caller counted them."""
    made = run(case)
    if made.reduction and "threw" not in case["output"]:
        assert made.reduction.tokens_before.value == result_of(case)["prevContextTokens"]


@each("manageContext")
def test_a_truncation_hides_as_many_messages_as_in_roo(case: Case) -> None:
    """The oldest half of what the model sees, its first message kept."""
    made = run(case).reduction
    if made and made.kind == roos_kind(case) == "truncated":
        removed = result_of(case)["messagesRemoved"]
        assert_same(case, len(made.hidden), removed, [COUNTS, PAIRS])


@each("manageContext")
def test_a_condensation_leaves_the_summary_and_what_was_not_read(case: Case) -> None:
    """All else is hidden, as in Roo; unread messages too where they do not fit."""
    made = run(case).reduction
    if made and made.kind == roos_kind(case) == "condensed":
        effective = [message.id for message in run(case).situation.effective]
        unread = [message.id for message in kept(case)]
        assert list(made.hidden) in (effective, effective[: len(effective) - len(unread)])
        assert case["output"]["effectiveAfter"] == 1
        assert made.summary == result_of(case)["summary"]


@each("manageContext")
def test_every_reduction_makes_the_context_smaller(case: Case) -> None:
    """Whatever was decided, the number on record went down."""
    made = run(case).reduction
    if made:
        assert made.tokens_after.value < made.tokens_before.value


@each("manageContext")
def test_only_what_exceeds_the_window_is_refused(case: Case) -> None:
    """A request over the limit, in the tenth that is kept for errors of estimation, is sent."""
    made = run(case)
    if made.cannot_fit:
        budget = made.situation.budget
        assert made.situation.tokens.value > budget.window - budget.reserved


def test_most_recorded_decisions_agree() -> None:
    """The deviations are rules, not excuses."""
    same = [run(case).kind == roos_kind(case) for case in CASES]
    assert sum(same) / len(same) > 0.8
