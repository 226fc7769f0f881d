"""Recorded decisions: when to condense, when to truncate, and when to do neither."""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import condense
from condense.testing import RecordingLog
from tests.condense.roo import Case, Deviation, assert_same, cases, each, messages
from tests.condense.roo_model import (
    ROOS_LADDER,
    RecordedCounter,
    RecordedModel,
    environment_of,
    share_tokens,
    tools_of,
)
from tests.condense.test_vectors_history import counted_by_roo, hidden_by_the_rule

CASES = cases("manageContext")


@dataclass(frozen=True)
class Run:
    """What the engine made of a case."""

    situation: condense.Situation
    calls: int
    log: RecordingLog
    reduction: condense.Reduction | None
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


def situation_of(case: Case, counter: condense.TokenCounter) -> condense.Situation:
    """Return a case as the engine sees it; its messages are as large as it says."""
    options, history = case["input"]["options"], messages(case["input"]["messages"])
    last = counter.count(history[-1].content) if history else 0
    total = options["totalTokens"] + last
    thresholds = options.get("profileThresholds", {})
    return condense.Situation(
        effective=share_tokens(condense.effective_history(history), total),
        history=history,
        tokens=condense.TokenCount(total),
        budget=condense.with_threshold(
            condense.Budget(
                window=options["contextWindow"],
                max_output=options.get("maxTokens"),
                threshold=options["autoCondenseContextPercent"],
            ),
            [condense.PerProfile(thresholds)],
            profile=options.get("currentProfileId", ""),
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
    policy = condense.Policy(small_window=0)
    condenser = condense.Condenser(model, counter, ROOS_LADDER, policy=policy, log=log)
    try:
        reduction, cannot_fit = await condenser.fit(situation), False
    except condense.CannotFit:
        reduction, cannot_fit = None, True
    return Run(situation, len(model.requests), log, reduction, cannot_fit)


def kept(case: Case) -> tuple[condense.Message, ...]:
    """Return what the model has not read."""
    effective = given(case).effective
    return effective[condense.unread_tail(effective) :]


def given(case: Case) -> condense.Situation:
    """Return a case as the engine sees it."""
    return situation_of(case, RecordedCounter())


# Where the engine writes no summary: the user wants none, all that would be hidden is a summary or
# a marker, or too little has come since the last summary to ask the model unasked.


def summarised(case: Case) -> tuple[condense.Message, ...]:
    """Return what a summary would hide: what was read, or all where the rest has no room."""
    situation, unread = given(case), kept(case)
    tokens = sum(message.tokens or 0 for message in unread)
    has_room = not situation.is_over or tokens <= situation.budget.allowed * 0.9
    return situation.effective[: len(situation.effective) - len(unread) * has_room]


def has_no_summary(case: Case) -> bool:
    """Whether nothing may be summarised here."""
    situation = given(case)
    effective = situation.effective
    last = max((n for n, one in enumerate(effective) if one.is_summary), default=None)
    new = effective[0 if last is None else last + 1 :]
    distance = sum(message.tokens or 0 for message in new)
    is_near = last is not None and (len(new) < 2 or distance < situation.budget.window / 20)
    is_known = all(message.is_summary or message.is_marker for message in summarised(case))
    return not situation.automatic or is_near or is_known


def truncated_here(case: Case) -> int:
    """Return how many messages a truncation hides: half, or as many as must go to be sent."""
    situation = given(case)
    if not situation.is_over:
        return 0
    effective, budget = situation.effective, situation.budget
    each = effective[0].tokens or 0
    left = {count: each * (len(effective) - count) + MARKER for count in planned(situation)}
    unread = [] if situation.fits else beyond_what_was_read(situation)
    if min(left.values(), default=math.inf) > budget.capacity:
        left |= {count: each * (len(effective) - count) + MARKER for count in unread}
    enough = (count for count, tokens in left.items() if tokens <= budget.allowed)
    return next(enough, max(left, default=0))


def planned(situation: condense.Situation) -> list[int]:
    """Return how many messages may go, of those that were read: half, or ever more."""
    effective = situation.effective
    half = len(hidden_by_the_rule(effective, 0.5))
    if situation.fits:
        return [half] if half else []
    read = effective[: condense.unread_tail(effective)]
    shares = [len(hidden_by_the_rule(read, share)) for share in (0.75, 0.875)]
    second = next((cut for cut in condense.safe_cuts(read) if cut), 0)
    return sorted({half, *shares, len(read) - second, len(read)} - {0})


def beyond_what_was_read(situation: condense.Situation) -> list[int]:
    """Return how many messages may go at last, but for a request that came last."""
    effective = situation.effective
    last = len(effective) - (not effective[-1].tool_results)
    return [
        cut
        for cut in condense.safe_cuts(effective)
        if condense.unread_tail(effective) < cut <= last
    ]


MARKER = 20  # tokens


def counts_what_is_not_seen(case: Case) -> bool:
    """Whether Roo truncates other messages than the model sees."""
    visible = [message.id for message in given(case).effective]
    return visible != counted_by_roo(messages(case["input"]["messages"]))


def would_split_a_pair(case: Case) -> bool:
    """Whether one of Roo's two cuts parts a tool call from its result."""
    removed = result_of(case).get("messagesRemoved", 0)
    return not {1, 1 + removed} <= set(condense.safe_cuts(given(case).effective))


TRUNCATED = [
    Deviation("Only what the model sees is hidden.", counts_what_is_not_seen, truncated_here),
    Deviation("A tool call stays with its result.", would_split_a_pair, truncated_here),
    Deviation(
        "No turn fails while anything can be hidden.",
        lambda case: not result_of(case).get("messagesRemoved"),
        truncated_here,
    ),
]


def without_summary(answer: Callable[[Case], Any]) -> list[Deviation]:
    """Return the rule that nothing may be summarised, with what that comes to."""
    return [
        Deviation("A summary would say nothing new, or nobody wants it.", has_no_summary, answer)
    ]


def goes_on(case: Case) -> bool:
    """Whether Roo hides nothing of a request that cannot be sent, where something could go."""
    must = not given(case).fits and bool(truncated_here(case))
    return must and roos_kind(case) == "nothing"


GOES_ON = Deviation("No turn fails while anything can be hidden.", goes_on, lambda _: "truncated")


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
def test_it_is_decided_asked_paid_hidden_and_explained_as_in_roo(case: Case) -> None:
    """Costs and reasons are on record; what is hidden is Roo's, and what is left smaller."""
    made, roo = run(case), result_of(case)
    ours = without_summary(lambda case: "truncated" if truncated_here(case) else "nothing")
    assert_same(case, made.kind, roos_kind(case), [*ours, GOES_ON])
    calls = case["output"]["nCreateMessageCalls"]
    assert_same(case, made.calls, calls, without_summary(lambda _: 0))
    assert_same(case, made.cost, roo.get("cost"), without_summary(lambda _: 0))
    assert_same(case, made.error, roo.get("error", ""), without_summary(lambda _: ""))
    made, roo = run(case).reduction, result_of(case)
    if run(case).cannot_fit:
        assert not run(case).situation.fits
    if made is None:
        return
    assert made.tokens_after.value < made.tokens_before.value
    if "threw" not in case["output"]:
        assert made.tokens_before.value == roo["prevContextTokens"]
    if made.kind == "truncated":
        assert_same(case, len(made.hidden), roo["messagesRemoved"], TRUNCATED)
    elif roos_kind(case) == "condensed":
        assert list(made.hidden) == [message.id for message in summarised(case)]
        assert case["output"]["effectiveAfter"] == 1
        assert made.summary == roo["summary"]
