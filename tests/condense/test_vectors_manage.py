"""Recorded decisions: when to condense, when to truncate, and when to do neither."""

import asyncio
from dataclasses import dataclass
from typing import Any

import condense
from condense.testing import RecordingLog
from tests.condense.roo import Case, each, messages
from tests.condense.roo_model import (
    RecordedCounter,
    RecordedModel,
    budget_of,
    condenser_of,
    share_tokens,
    tools_of,
)


@dataclass(frozen=True)
class Run:
    """What the engine made of a case."""

    situation: condense.Situation
    calls: int
    log: RecordingLog
    reduction: condense.Reduction | None
    cannot_fit: bool

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


def situation_of(case: Case, counter: condense.TokenCounter) -> condense.Situation:
    """Return a case as the engine sees it; its messages are as large as it says."""
    options, history = case["input"]["options"], messages(case["input"]["messages"])

    async def gather() -> str:
        return str(options.get("environmentDetails", ""))

    last = counter.count(history[-1].content) if history else 0
    total = options["totalTokens"] + last
    return condense.Situation(
        effective=share_tokens(condense.effective_history(history), total),
        history=history,
        tokens=condense.TokenCount(total),
        budget=budget_of(
            options["contextWindow"],
            options.get("maxTokens"),
            options["autoCondenseContextPercent"],
            options.get("profileThresholds", {}),
            options.get("currentProfileId", ""),
        ),
        system=options["systemPrompt"],
        tools=tools_of(case),
        automatic=options["autoCondenseContext"],
        prompt=options.get("customCondensingPrompt", ""),
        environment=gather,
    )


async def manage(case: Case) -> Run:
    """Return what the engine makes of a case."""
    model, log = RecordedModel(case["input"]["handler"]), RecordingLog()
    situation = situation_of(case, RecordedCounter())
    try:
        reduction, cannot_fit = await condenser_of(model, log).fit(situation), False
    except condense.CannotFit:
        reduction, cannot_fit = None, True
    return Run(situation, len(model.requests), log, reduction, cannot_fit)


def roos_answer(case: Case) -> dict[str, Any]:
    """Return what Roo did, and ours where it differs; to hide no message is to do nothing."""
    output, result = case["output"], case["output"].get("result", {})
    kind, hidden = "nothing", 0
    if result.get("summary"):
        kind, hidden = "condensed", output["effectiveBefore"]
    elif result.get("messagesRemoved"):
        kind, hidden = "truncated", result["messagesRemoved"]
    roos = {"kind": kind, "hidden": hidden, "calls": output["nCreateMessageCalls"]}
    spoken = {"cost": result.get("cost"), "error": result.get("error", "")}
    return {**roos, **spoken, **output.get("ours", {})}


@each("manageContext")
def test_it_is_decided_asked_paid_hidden_and_explained_as_in_roo(case: Case) -> None:
    """Costs and reasons are on record; what is hidden is Roo's, and what is left smaller."""
    run = asyncio.run(manage(case))
    made, roo = run.reduction, case["output"].get("result", {})
    assert {
        "kind": made.kind if made else "nothing",
        "hidden": len(made.hidden) if made else 0,
        "calls": run.calls,
        "cost": run.cost,
        "error": run.error,
    } == roos_answer(case)
    assert not (run.cannot_fit and run.situation.fits)
    if made is None:
        return
    assert made.tokens_after.value < made.tokens_before.value
    if "threw" not in case["output"]:
        assert made.tokens_before.value == roo["prevContextTokens"]
    if made.kind == "condensed" and roo.get("summary"):
        read = run.situation.effective[: len(made.hidden)]
        assert list(made.hidden) == [message.id for message in read]
        assert made.summary == roo["summary"]
