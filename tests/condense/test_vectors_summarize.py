"""Recorded summaries: the same input, answer and errors as in Roo, where Roo is right."""

import asyncio
from dataclasses import dataclass
from functools import cache
from typing import Any

import condense
from condense.prompts import framed
from tests.condense.roo import Case, cases, each, messages, said
from tests.condense.roo_model import RecordedCounter, RecordedModel, said_by, tools_of


@dataclass(frozen=True)
class Run:
    """What the engine made of a case."""

    effective: tuple[condense.Message, ...]
    requests: list[condense.SummaryRequest]
    reduction: condense.Reduction | None = None
    error: condense.CondenseError | None = None


@cache
def _runs() -> dict[str, Run]:
    return {case["name"]: asyncio.run(_summarize(case)) for case in cases("summarizeConversation")}


def run(case: Case) -> Run:
    """Return what the engine makes of a case, worked out once."""
    return _runs()[case["name"]]


def situation_of(case: Case) -> condense.Situation:
    """Return a case as the engine sees it, with all the room it may want."""
    options, history = case["input"]["options"], messages(case["input"]["messages"])
    return condense.Situation(
        effective=condense.effective_history(history),
        history=history,
        tokens=condense.TokenCount(0),
        budget=condense.Budget(window=1_000_000),
        trigger=condense.Trigger.AUTO
        if options.get("isAutomaticTrigger")
        else condense.Trigger.MANUAL,
        system=options["systemPrompt"],
        tools=tools_of(case),
        prompt=options.get("customCondensingPrompt", ""),
    )


async def _summarize(case: Case) -> Run:
    model, situation = RecordedModel(case["input"]["handler"]), situation_of(case)
    kit = condense.Kit(summarizer=model, counter=RecordedCounter())
    try:
        reduction = await condense.load_strategy("fresh_start").reduce(situation, kit)
    except condense.CondenseError as error:
        return Run(situation.effective, model.requests, error=error)
    return Run(situation.effective, model.requests, reduction)


def kept(case: Case) -> tuple[condense.Message, ...]:
    """Return what stays because the model has not read it."""
    effective = run(case).effective
    return effective[condense.unread_tail(effective) :]


def read(case: Case) -> tuple[condense.Message, ...]:
    """Return what a summary hides."""
    effective = run(case).effective
    return effective[: condense.unread_tail(effective)]


def roos_answer(case: Case) -> dict[str, Any]:
    """Return Roo's error sentence or "summary", with calls and cost; ours where they differ."""
    result = case["output"].get("result", {"error": "crash"})
    return {
        "outcome": str(result.get("error", "summary")),
        "calls": len(case["output"]["requests"]),
        "cost": result.get("cost"),
        "details": result.get("errorDetails", ""),
        **case["output"].get("ours", {}),
    }


@each("summarizeConversation")
def test_a_summary_is_asked_for_made_paid_or_refused_as_in_roo(case: Case) -> None:
    """In Roo's words, asked between guard and instruction; a blank prompt is none."""
    made, error = run(case), run(case).error
    spent = error.cost if error else made.reduction.cost if made.reduction else None
    assert {
        "outcome": "summary" if error is None else str(error),
        "calls": len(made.requests),
        "cost": None if spent is None else float(spent),
        "details": error.details if error else "",
    } == roos_answer(case)
    for request, roos in zip(run(case).requests, case["output"]["requests"], strict=False):
        instruction = roos["messages"][-1]["content"]
        if instruction == "<CONDENSE_PROMPT>":
            instruction = condense.condense_instruction()
        # Roo summarises a summary like any other message; here it is named, and updated.
        if any(message.is_summary for message in read(case)):
            instruction = framed("update", instruction)
        assert request.messages[-1].blocks[-1].to_api()["text"] == instruction
        assert request.system == condense.load_prompt("summary_system")
        count = len(run(case).effective) - len(kept(case))
        before = roos["messages"][:count] if kept(case) else roos["messages"][:-1]
        asked = {"role": "user", "content": instruction}
        sent = messages([*case["output"].get("sent", before), asked])
        assert said(request.messages) == said(condense.shape_request(sent))


@each("summarizeConversation")
def test_the_summary_hides_and_says_what_roos_does(case: Case) -> None:
    """Unread messages follow it; its size and the record are Roo's as well."""
    made = run(case).reduction
    if made is None:
        return
    ids = [message.id for message in run(case).effective]
    assert list(made.hidden) == ids[: len(ids) - len(kept(case))]
    if "error" in case["output"].get("result", {"error": "crash"}):
        return
    result, counter = case["output"]["result"], RecordedCounter()
    assert case["output"]["effectiveLengthAfter"] == 1
    roos = result["messages"][-1]
    assert made.message.role == roos["role"]
    # The environment comes when the summary is applied.
    details = case["input"]["options"].get("environmentDetails")
    texts = [block["text"] for block in roos["content"]]
    later = [text for text in texts if text == details]
    assert said_by(made.message) == [text for text in texts if text not in later]
    carried = [b for b in made.message.blocks if "## Newest Request" in str(b)]
    stays = sum(counter.count(message.content) for message in kept(case))
    ours = made.tokens_after.value - stays - counter.count(tuple(carried))
    ours += counter.count(tuple(map(condense.TextBlock, later)))
    assert (ours, made.summary) == (result["newContextTokens"], result["summary"])
