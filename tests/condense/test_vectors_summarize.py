"""Recorded summaries: the same input, answer and errors as in Roo, where Roo is right."""

import asyncio
from dataclasses import dataclass
from functools import cache
from typing import Any

import condense
from condense.history.signed_blocks import is_thinking, without_thinking
from condense.prompts import framed
from condense.requests.request import INTERRUPTED
from condense.summaries.writer import without_old_images
from tests.condense.roo import Case, cases, each, hides_some, messages, said
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


def open_calls(case: Case) -> list[str]:
    """Return the calls that are summarised without a result."""
    calls = {use.id: None for message in read(case) for use in message.tool_uses}
    answered = {result.tool_use_id for message in read(case) for result in message.tool_results}
    return [id_ for id_ in calls if id_ not in answered]


def has_thinking(case: Case) -> bool:
    """Whether a reply holds the model's thinking, signed for the model that wrote it."""
    return any(is_thinking(block) for message in read(case) for block in message.blocks)


def sent_here(case: Case) -> list[Any]:
    """Return what is sent: all that the model sees of what was read, as text, and an instruction.

    Roo sends what is hidden too, and thinking; it says of open calls that the condensation was why.
    """
    effective = run(case).effective
    sees = bool(case["input"]["handler"].get("supportsImages"))
    shown = (
        without_old_images(read(case), effective) if sees else condense.replace_images(read(case))
    )
    results = tuple(condense.ToolResultBlock(id_, INTERRUPTED) for id_ in open_calls(case))
    answered = (*shown, *([condense.Message("user", results)] if results else ()))
    flat = [condense.tools_to_text(without_thinking(message)) for message in answered]
    last = run(case).requests[0].messages[-1].blocks[-1].to_api()["text"]
    return said(condense.shape_request((*flat, condense.Message("user", last))))


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
        sent = messages([*before, {"role": "user", "content": instruction}])
        if hides_some(case) or open_calls(case) or has_thinking(case):
            assert said(request.messages) == sent_here(case)
        else:
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
