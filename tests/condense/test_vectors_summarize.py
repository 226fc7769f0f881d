"""Recorded summaries: the same input, answer and errors as in Roo, where Roo is right."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import condense
from condense.history.boundaries import NOT_ENOUGH, RECENTLY
from condense.history.signed_blocks import is_thinking, without_thinking
from condense.prompts import framed
from condense.requests.request import INTERRUPTED
from condense.summaries.writer import without_old_images
from tests.condense.roo import Case, Deviation, assert_same, cases, each, hides_some, messages, said
from tests.condense.roo_model import RecordedCounter, RecordedModel, said_by, tools_of


@dataclass(frozen=True)
class Run:
    """What the engine made of a case."""

    effective: tuple[condense.Message, ...]
    requests: list[condense.SummaryRequest]
    reduction: condense.Reduction | None = None
    error: condense.CondenseError | None = None


@cache
def _run(name: str) -> Run:
    return asyncio.run(_summarize(next(c for c in CASES if c["name"] == name)))


CASES = cases("summarizeConversation")


def run(case: Case) -> Run:
    """Return what the engine makes of a case, worked out once."""
    return _run(case["name"])


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


def has_nothing_new(case: Case) -> bool:
    """Whether all that was read is a summary or a marker: what was not read stays."""
    return all(message.is_summary or message.is_marker for message in read(case))


def refused(case: Case) -> dict[str, Any]:
    """Return what becomes of a case where a summary would say nothing."""
    condensed = any(message.is_summary for message in run(case).effective)
    said_why = RECENTLY if condensed else NOT_ENOUGH
    return {"outcome": said_why, "calls": 0, "cost": 0, "details": ""}


def has_no_model(case: Case) -> bool:
    """Whether the recorded handler is none: here the type checker sees to it that there is one."""
    handler = case["input"]["handler"]
    return handler is not None and bool(handler.get("noCreateMessage"))


def without_model(_case: Case) -> dict[str, Any]:
    """Return what becomes of a call to something that is no model."""
    said_why = "Condensing API call failed: createMessage"
    return {"outcome": said_why, "calls": 0, "cost": 0, "details": "Error: createMessage"}


def has_crashed(case: Case) -> bool:
    """Whether Roo cannot read a message without a role."""
    return "threw" in case["output"]


def summarised(case: Case) -> dict[str, Any]:
    """Return what becomes of a case that is one like any other here."""
    paid = [chunk for chunk in case["input"]["handler"]["stream"] if chunk["type"] == "usage"]
    return {"outcome": "summary", "calls": 1, "cost": paid[-1]["totalCost"], "details": ""}


def raised_no_error(case: Case) -> bool:
    """Whether the recorded model threw a value that is no Error; Python raises exceptions only."""
    handler = case["input"]["handler"] or {}
    thrown = [handler.get("throwSync"), *(c.get("error") for c in handler.get("stream", []))]
    return any(error and error["kind"] != "Error" for error in thrown)


def as_an_error(case: Case) -> dict[str, Any]:
    """Return what becomes of it: the details begin like those of any error."""
    result = case["output"]["result"]
    details = f"Error: {result['errorDetails']}"
    calls, said_why = len(case["output"]["requests"]), result["error"]
    return {"outcome": said_why, "calls": calls, "cost": result["cost"], "details": details}


RULES = [
    ("What was not read stays; a summary of the rest would say nothing.", has_nothing_new, refused),
    ("There is a model.", has_no_model, without_model),
    ("A message without a role is no crash.", has_crashed, summarised),
    ("Whatever a model raises is an exception.", raised_no_error, as_an_error),
]


def deviations(what: str) -> list[Deviation]:
    """Return the rules with what they say of one thing."""

    def of(answer: Callable[[Case], dict[str, Any]]) -> Callable[[Case], Any]:
        return lambda case: answer(case)[what]

    return [Deviation(reason, applies, of(answer)) for reason, applies, answer in RULES]


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


REQUEST = [
    Deviation("Only what the model sees is summarised.", hides_some, sent_here),
    Deviation(
        "An open call was interrupted, not deferred.",
        lambda case: bool(open_calls(case)),
        sent_here,
    ),
    Deviation("Thinking is for the model that wrote it.", has_thinking, sent_here),
]


def outcome(case: Case) -> str:
    """Return Roo's error sentence, or that there is a summary."""
    result = case["output"].get("result", {"error": "crash"})
    return str(result.get("error", "summary"))


@each("summarizeConversation")
def test_a_summary_is_asked_for_made_paid_or_refused_as_in_roo(case: Case) -> None:
    """In Roo's words, asked between guard and instruction; a blank prompt is none."""
    made, error, result = run(case), run(case).error, case["output"].get("result", {})
    ours = "summary" if error is None else str(error)
    assert_same(case, ours, outcome(case), deviations("outcome"))
    calls = len(case["output"]["requests"])
    assert_same(case, len(made.requests), calls, deviations("calls"))
    spent = error.cost if error else made.reduction.cost if made.reduction else None
    ours = None if spent is None else float(spent)
    assert_same(case, ours, result.get("cost"), deviations("cost"))
    details = result.get("errorDetails", "")
    assert_same(case, error.details if error else "", details, deviations("details"))
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
        assert_same(case, said(request.messages), said(condense.shape_request(sent)), REQUEST)


@each("summarizeConversation")
def test_the_summary_hides_and_says_what_roos_does(case: Case) -> None:
    """Unread messages follow it; its size and the record are Roo's as well."""
    made = run(case).reduction
    if made is None:
        return
    ids = [message.id for message in run(case).effective]
    assert list(made.hidden) == ids[: len(ids) - len(kept(case))]
    if outcome(case) != "summary":
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
