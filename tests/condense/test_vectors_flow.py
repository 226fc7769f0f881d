"""Recorded requests from start to end: under an agent that tries again after an overflow."""

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import condense
from condense.history.effective_history import replace_hidden
from condense.testing import RecordingLog
from tests.condense.roo import Case, each, messages
from tests.condense.roo_model import (
    RecordedCounter,
    RecordedModel,
    budget_of,
    condenser_of,
    share_tokens,
)

ROWS = {
    "condense_context": "condensed",
    "condense_context_error": "failed",
    "sliding_window_truncation": "truncated",
}
SUMMARY = [{"type": "text", "text": "SUM"}, {"type": "usage", "totalCost": 0.25}]
RETRIES = 3


@dataclass
class Played:
    """What happened, request by request: rows before each one, and its size in tokens."""

    rows: list[list[str]] = field(default_factory=lambda: [[]])
    sizes: list[int] = field(default_factory=list)
    gathered: int = 0
    used: int = 0
    prompts: list[str] = field(default_factory=list)
    ended: str = "reply"


def situation_of(case: Case) -> condense.Situation:
    """Return a recorded conversation before its next request."""
    given, state = case["input"], case["input"].get("state", {})
    manual = case["function"] == "Task.condenseContext"
    history = messages(given["api"])
    effective = condense.effective_history(history)
    last = RecordedCounter().count(effective[-1].content) if effective and not manual else 0
    total = given["contextTokens"] + last
    thresholds = state.get("profileThresholds", {})
    return condense.Situation(
        effective=share_tokens(effective, total),
        history=history,
        tokens=condense.TokenCount(total),
        budget=budget_of(
            given.get("contextWindow", 1000),
            100,
            state.get("autoCondenseContextPercent", 100),
            thresholds,
            "p1" if "p1" in thresholds else "default",
        ),
        trigger=condense.Trigger.MANUAL if manual else condense.Trigger.AUTO,
        automatic=state.get("autoCondenseContext", True),
        prompt=state.get("customSupportPrompts", {}).get("CONDENSE", ""),
    )


class Agent:
    """Sends a request, after a reduction where one is due, and again after an overflow."""

    def __init__(self, case: Case) -> None:
        """Set the recorded conversation up."""
        streams = case["input"].get("summaries") or [SUMMARY]
        self.model = RecordedModel({"stream": streams[0], "supportsImages": True}, *streams[1:])
        self.results = iter(case["input"].get("main", ["ok"]))
        self.situation = replace(situation_of(case), environment=self.gather)
        self.log, self.played = RecordingLog(), Played()
        self.condenser = condenser_of(self.model, self.log)

    async def gather(self) -> str:
        """Gather the environment and count how often."""
        self.played.gathered += 1
        return "<environment_details>ENV</environment_details>"

    async def fit(self, trigger: condense.Trigger) -> None:
        """Reduce the context where that is due."""
        self.situation = replace(self.situation, trigger=trigger)
        try:
            reduction = await self.condenser.fit(self.situation)
        finally:
            self.played.rows[-1] += rows_in(self.log)
            self.log.events.clear()
        if reduction:
            self.apply(reduction)

    def apply(self, reduction: condense.Reduction) -> None:
        """Go on with the reduced history."""
        effective = replace_hidden(self.situation.effective, reduction.hidden, reduction.message)
        self.situation = replace(self.situation, effective=effective, tokens=reduction.tokens_after)
        self.played.used += "ENV" in reduction.message.text

    async def run(self) -> Played:
        """Play the case to its end."""
        try:
            if self.situation.trigger is condense.Trigger.MANUAL:
                await self.fit(condense.Trigger.MANUAL)
            else:
                await self.send()
        except condense.CannotFit:
            self.played.ended = "gave up"
        except condense.CondenseError:
            assert self.situation.trigger is condense.Trigger.MANUAL, (
                "only a manual run reports the reason"
            )
        self.played.prompts = [r.messages[-1].text for r in self.model.requests]
        return self.played

    async def send(self) -> None:
        """Send the request until it is answered, refused too often, or cannot get smaller."""
        for attempt in itertools.count():
            await self.fit(condense.Trigger.AUTO)
            self.played.sizes.append(self.situation.tokens.value)
            self.played.rows.append([])
            result = next(self.results, "ok")
            if result != "overflow" or attempt == RETRIES:
                self.played.ended = "reply" if result == "ok" else "gave up"
                return
            await self.fit(condense.Trigger.FORCED)


def rows_in(log: RecordingLog) -> Iterator[str]:
    """Yield the rows that a chat shows for what was logged; a fallback hides no failure."""
    names = {attempt.strategy: attempt.kind for attempt in log.of("started")}
    for name, subject in log.events:
        if name == "succeeded":
            yield subject.kind
        elif name == "failed" and "fresh_start" in names:
            yield "failed"


def roos(case: Case) -> list[list[str]]:
    """Return Roo's rows before each of its requests; a truncation of nothing is none."""
    rows: list[list[str]] = [[]]
    for event in case["output"]["events"]:
        empty = event.get("contextTruncation", {}).get("messagesRemoved") == 0
        if event["event"] == "mainRequest":
            rows.append([])
        elif event.get("say") in ROWS and not empty:
            rows[-1].append(ROWS[event["say"]])
    return rows


@each("taskFlow")
def test_a_task_goes_on_as_in_roo(case: Case) -> None:
    """Its rows, its prompts and its end; no request is repeated as it was refused."""
    played, roo = asyncio.run(Agent(case).run()), case["output"]
    assert played.rows == roo.get("rows", roos(case))
    own = case["input"].get("state", {}).get("customSupportPrompts", {}).get("CONDENSE")
    events = [e for e in roo["events"] if e["event"] == "condenseRequest"]
    sent = [own if own and prompt.endswith(own) else None for prompt in played.prompts]
    assert sent == roo.get("prompts", [event["customPrompt"] for event in events])
    assert played.ended == ("gave up" if roo.get("threw") else "reply")
    assert played.sizes == sorted(set(played.sizes), reverse=True)
    if "failed" not in itertools.chain(*played.rows):
        assert played.gathered == played.used
    assert played.gathered <= len(played.prompts)
