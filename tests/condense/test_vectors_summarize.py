"""Recorded summaries: the same input, answer and errors as in Roo, where Roo is right."""

import asyncio
import itertools
from dataclasses import dataclass
from functools import cache

from condense import (
    Budget,
    CondenseError,
    Kit,
    Message,
    Reduction,
    Situation,
    SummaryRequest,
    TokenCount,
    Trigger,
    command_blocks,
    condense_instruction,
    effective_history,
    extract_command_blocks,
    load_strategy,
    shape_request,
    summary_system,
    unread_tail,
)
from tests.condense.roo import Case, Deviation, assert_same, cases, each, hides_some, messages, said
from tests.condense.roo_model import (
    RecordedCounter,
    RecordedModel,
    environment_of,
    said_by,
    tools_of,
)
from tests.condense.test_vectors_history import VAGUE_SUMMARY


@dataclass(frozen=True)
class Run:
    """What the engine made of a case."""

    effective: tuple[Message, ...]
    requests: list[SummaryRequest]
    reduction: Reduction | None = None
    error: CondenseError | None = None


@cache
def _run(name: str) -> Run:
    return asyncio.run(_summarize(next(c for c in CASES if c["name"] == name)))


CASES = cases("summarizeConversation")


def run(case: Case) -> Run:
    """Return what the engine makes of a case, worked out once."""
    return _run(case["name"])


def situation_of(case: Case) -> Situation:
    """Return a case as the engine sees it, with all the room it may want."""
    options, history = case["input"]["options"], messages(case["input"]["messages"])
    return Situation(
        effective=effective_history(history),
        history=history,
        tokens=TokenCount(0),
        budget=Budget(window=1_000_000),
        trigger=Trigger.AUTO if options.get("isAutomaticTrigger") else Trigger.MANUAL,
        system=options["systemPrompt"],
        tools=tools_of(case),
        prompt=options.get("customCondensingPrompt", ""),
        environment=environment_of(case),
    )


async def _summarize(case: Case) -> Run:
    async def on_text(text: str) -> None:
        """Ignore progress."""

    model, numbers, situation = (
        RecordedModel(case["input"]["handler"]),
        itertools.count(1),
        situation_of(case),
    )
    kit = Kit(
        summarizer=model,
        counter=RecordedCounter(),
        new_id=lambda: f"id-{next(numbers)}",
        on_text=on_text,
    )
    try:
        reduction = await load_strategy("fresh_start").reduce(situation, kit)
    except CondenseError as error:
        return Run(situation.effective, model.requests, error=error)
    return Run(situation.effective, model.requests, reduction)


# Rules by which the engine answers otherwise.


def kept(case: Case) -> tuple[Message, ...]:
    """Return what stays because the model has not read it."""
    effective = run(case).effective
    return effective[unread_tail(effective) :]


def has_nothing_new(case: Case) -> bool:
    """Whether all that was read is a summary or a marker."""
    effective = run(case).effective
    read = effective[: unread_tail(effective)]
    return all(message.is_summary or message.is_marker for message in read)


def answered_in_tags(case: Case) -> bool:
    """Whether the recorded answer has the form that the prompts ask for."""
    chunks = (case["input"]["handler"] or {}).get("stream", [])
    text = "".join(chunk.get("text", "") for chunk in chunks if chunk["type"] == "text")
    return "<analysis>" in text or "<summary>" in text


def no_model(case: Case) -> bool:
    """Whether the recorded handler is none."""
    handler = case["input"]["handler"]
    return handler is None or bool(handler.get("noCreateMessage"))


def raised_no_error(case: Case) -> bool:
    """Whether the recorded model threw a value that is no Error."""
    handler = case["input"]["handler"] or {}
    thrown = [handler.get("throwSync"), *(c.get("error") for c in handler.get("stream", []))]
    return any(error and error["kind"] != "Error" for error in thrown)


def has_later_commands(case: Case) -> bool:
    """Whether other directives are hidden than those of the very first message."""
    history = messages(case["input"]["messages"])
    ids = {message.id for message in kept(case)}
    hidden = [message for message in history if message.id not in ids]
    return "\n".join(command_blocks(hidden)) != extract_command_blocks(history[0])


def hides_open_calls(case: Case) -> bool:
    """Whether a call is summarised whose result is not: Roo answers all such calls at the end."""
    effective = run(case).effective
    read = effective[: unread_tail(effective)]
    calls = {use.id for message in read for use in message.tool_uses}
    return not calls <= {result.tool_use_id for message in read for result in message.tool_results}


def has_thinking(case: Case) -> bool:
    """Whether a reply holds the model's thinking."""
    contents = [data.get("content") for data in case["input"]["messages"]]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return any(block.get("type") in {"thinking", "redacted_thinking"} for block in blocks)


NOTHING_NEW = Deviation(
    "What the model has not read stays; a summary of the rest would say nothing.", has_nothing_new
)
EFFECTIVE = Deviation("Only what the model sees is summarised.", hides_some)
TAGS = Deviation("Analysis is taken out and tags are unwrapped.", answered_in_tags)
NO_MODEL = Deviation("The type checker sees to it that there is a model.", no_model)
NO_ERROR = Deviation("Python raises exceptions only.", raised_no_error)
COMMANDS = Deviation("The directives of every hidden user message survive.", has_later_commands)
OPEN_CALLS = Deviation("An open call is answered where the request ends.", hides_open_calls)
THINKING = Deviation("Signed thinking is for the model and settings that wrote it.", has_thinking)
CRASH = Deviation("A message without a role is no crash.", lambda case: "threw" in case["output"])
OUTCOME = [NOTHING_NEW, EFFECTIVE, TAGS, NO_MODEL, CRASH, VAGUE_SUMMARY]


def outcome(case: Case) -> str:
    """Return Roo's error sentence, or that there is a summary."""
    result = case["output"].get("result", {"error": "crash"})
    return str(result.get("error", "summary"))


def succeeds_in_both(case: Case) -> bool:
    """Whether there are two summaries to compare."""
    return outcome(case) == "summary" and run(case).reduction is not None


@each("summarizeConversation")
def test_a_summary_is_made_or_refused_as_in_roo(case: Case) -> None:
    """The sentence that tells why not is Roo's."""
    error = run(case).error
    ours = "summary" if error is None else str(error)
    assert_same(case, ours, outcome(case), OUTCOME)


@each("summarizeConversation")
def test_the_model_is_called_as_often_as_in_roo(case: Case) -> None:
    """Never, where nothing may be summarised."""
    assert_same(case, len(run(case).requests), len(case["output"]["requests"]), OUTCOME)


@each("summarizeConversation")
def test_the_cost_is_roos_also_of_a_failed_call(case: Case) -> None:
    """The last usage that was reported counts."""
    made = run(case)
    spent = made.error.cost if made.error else made.reduction.cost if made.reduction else None
    roos = case["output"].get("result", {}).get("cost")
    assert_same(case, None if spent is None else float(spent), roos, OUTCOME)


@each("summarizeConversation")
def test_the_details_of_a_failure_are_roos(case: Case) -> None:
    """Message, status, code and response, in this order."""
    error = run(case).error
    roos = case["output"].get("result", {}).get("errorDetails", "")
    assert_same(case, error.details if error else "", roos, [*OUTCOME, NO_ERROR])


@each("summarizeConversation")
def test_all_that_was_read_is_hidden(case: Case) -> None:
    """Roo hides everything; here the unread messages follow the summary."""
    made = run(case).reduction
    if made:
        ids = [message.id for message in run(case).effective]
        assert list(made.hidden) == ids[: len(ids) - len(kept(case))]
    if succeeds_in_both(case):
        assert case["output"]["effectiveLengthAfter"] == 1


@each("summarizeConversation")
def test_the_request_ends_with_the_instruction_and_starts_with_the_guard(case: Case) -> None:
    """The user's own prompt is trimmed; a blank one is none."""
    for request, roos in zip(run(case).requests, case["output"]["requests"], strict=False):
        instruction = roos["messages"][-1]["content"]
        if instruction == "<CONDENSE_PROMPT>":
            instruction = condense_instruction()
        assert request.messages[-1].blocks[-1].to_api()["text"] == instruction
        assert request.system == summary_system()


@each("summarizeConversation")
def test_the_request_says_what_roos_says(case: Case) -> None:
    """The same text up to what stays, in messages that alternate."""
    for request, roos in zip(run(case).requests, case["output"]["requests"], strict=False):
        instruction = request.messages[-1].blocks[-1].to_api()["text"]
        stays = kept(case)
        count = len(run(case).effective) - len(stays)
        before = roos["messages"][:count] if stays else roos["messages"][:-1]
        sent = messages([*before, {"role": "user", "content": instruction}])
        assert_same(
            case,
            said(request.messages),
            said(shape_request(sent)),
            [EFFECTIVE, OPEN_CALLS, THINKING, VAGUE_SUMMARY],
        )


@each("summarizeConversation")
def test_the_summary_message_says_what_roos_says(case: Case) -> None:
    """Summary, directives, and the environment after an automatic run only."""
    made = run(case).reduction
    if made and succeeds_in_both(case):
        roos = case["output"]["result"]["messages"][-1]
        texts = [block["text"] for block in roos["content"]]
        assert made.message.role == roos["role"]
        assert_same(case, said_by(made.message), texts, [COMMANDS, TAGS])


@each("summarizeConversation")
def test_the_size_afterwards_is_roos(case: Case) -> None:
    """System prompt, tools and summary, apart from what stays and is carried here."""
    made = run(case).reduction
    if made and succeeds_in_both(case):
        counter = RecordedCounter()
        carried = [b for b in made.message.blocks if "## Newest Request" in str(b)]
        stays = sum(counter.count(message.content) for message in kept(case))
        ours = made.tokens_after.value - stays - counter.count(tuple(carried))
        roos = case["output"]["result"]["newContextTokens"]
        assert_same(case, ours, roos, [COMMANDS, TAGS])


@each("summarizeConversation")
def test_the_summary_on_record_is_roos(case: Case) -> None:
    """Trimmed, and without the analysis."""
    made = run(case).reduction
    if made and succeeds_in_both(case):
        assert_same(case, made.summary, case["output"]["result"]["summary"], [TAGS])


def test_most_recorded_outcomes_agree() -> None:
    """The deviations are rules, not excuses."""
    same = [
        outcome(case) == ("summary" if run(case).error is None else str(run(case).error))
        for case in CASES
    ]
    assert sum(same) / len(same) > 0.75
