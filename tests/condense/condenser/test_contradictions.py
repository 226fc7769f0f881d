"""A summary that says other than the facts is not applied, where somebody wants that checked."""

import json
import math
from decimal import Decimal
from typing import Any

import pytest

from condense import (
    CutChunk,
    Hooks,
    Message,
    Policy,
    TextChunk,
    ToolCallChunk,
    Trigger,
    Usage,
    UsageChunk,
    Vetoed,
    condense,
)
from condense.condenser.hooks import is_no_refusal
from condense.testing import ScriptedSummarizer
from tests.condense.bench import Bench
from tests.condense.dialogues import chat, user

RIGHT, WRONG = "The shop listens on port 8080.", "The shop listens on port 9090."
NONE = '{"contradictions": []}'
CHECKED = Policy(finds_contradictions=True)
USED = UsageChunk(Usage(input=90, output=9), Decimal("0.125"))


def found(*pairs: tuple[str, str]) -> str:
    """Return the answer that names these words of the summary and of the facts."""
    return json.dumps({"contradictions": [{"summary": a, "fact": b} for a, b in pairs]})


def work() -> list[Message]:
    """Return a conversation that sets a port."""
    return [user("The shop must listen on port 8080."), *chat(5, 400)[1:], user("What next?")]


def checked(*replies: Any, **rest: Any) -> Bench:
    """Return a bench with the check."""
    return Bench(*replies, strategies=("fresh_start", "ledger"), policy=CHECKED, **rest)


async def test_a_contradiction_is_a_reason_to_write_the_summary_again() -> None:
    """The second try is told both sides, and is checked itself; all calls are paid for."""
    said = found(("port 9090", "port 8080"))
    bench = checked([TextChunk(WRONG), USED], [TextChunk(said), USED], [TextChunk(RIGHT), USED], [
        TextChunk(f"```json\n{NONE}\n```"), USED,
    ])  # fmt: skip
    made = await bench.condense(work())
    assert (made.summary, bench.calls) == (RIGHT, 4)
    assert (made.cost, made.usage.total) == (Decimal("0.5"), 4 * 99)
    assert [(one.name, one.issues) for one in made.verdicts] == [("contradictions", ())]
    # What a check answers is no part of a summary that grows.
    assert max(bench.log.of("progressed")) == math.ceil(len(WRONG + RIGHT) / 4)
    issue = "The summary says “port 9090”, the facts say “port 8080”"
    assert issue in bench.summarizer.requests[2].messages[-1].text
    assert issue in made.notes[0]
    summaries, checks = bench.summarizer.requests[::2], bench.summarizer.requests[1::2]
    assert [one.is_check for one in (*summaries, *checks)] == [False, False, True, True]
    assert not any("port 8080" in one.system or one.tools for one in checks)
    [asked] = checks[0].messages
    assert "must listen on port 8080" in asked.text
    assert WRONG in asked.text


async def test_a_summary_that_contradicts_the_facts_twice_is_replaced_by_them() -> None:
    """The failed try has the reason, its rule and the cost of the checks."""
    said = [TextChunk(found(("port 9090", "port 8080"))), USED]
    bench = checked(WRONG, said, WRONG, said)
    made = await bench.condense(work(), trigger=Trigger.FORCED)
    assert made.strategy == "ledger"
    [(error, following)] = bench.log.of("failed")
    assert str(error).startswith("The summary was refused: The summary says “port 9090”, the facts")
    assert (error.rules, error.calls, error.cost) == (("contradictions",), 4, Decimal("0.25"))
    assert following == "ledger"


UNREAD = "The check's answer could not be read"


@pytest.mark.parametrize(
    ("answer", "issue"),
    [
        ("There are no contradictions.", UNREAD),
        ("", UNREAD),
        (f"{NONE} {NONE}", UNREAD),
        (f"I see: {NONE}", UNREAD),
        ("[]", UNREAD),
        ('{"contradictions": null}', UNREAD),
        ('{"contradictions": ""}', UNREAD),
        ('{"contradictions": ["port 9090"]}', UNREAD),
        ('{"contradictions": [{"summary": 9090, "fact": "port 8080"}]}', UNREAD),
        ('{"contradictions": [{"summary": "port 9090"}]}', UNREAD),
        ('{"a":' * 9_000 + "}", UNREAD),
        (found(("port 7070", "port 8080")), UNREAD),
        (found(("port 9090", "port 6060")), UNREAD),
        (found(("", "")), UNREAD),
        (found(("The shop", "the  SHOP")), UNREAD),
        ([TextChunk(NONE), CutChunk()], UNREAD),
        ([TextChunk(NONE), ToolCallChunk("read_file")], UNREAD),
        ([UsageChunk(Usage(input=3), Decimal("0.5")), OSError("gone")], "gone"),
        (Vetoed("The budget is spent."), "The budget is spent."),
    ],
)
async def test_a_check_that_says_nothing_is_noted_and_blocks_nothing(
    answer: Any, issue: str
) -> None:
    """A failed call, an answer in another form, and words that stand nowhere."""
    bench = checked(WRONG, answer)
    made = await bench.condense(work())
    assert (made.summary, bench.calls) == (WRONG, 2)
    [verdict] = made.verdicts
    assert (verdict.name, verdict.rejects) == ("contradictions", False)
    assert issue in verdict.issues[0]
    assert made.cost == (Decimal("0.5") if issue == "gone" else 0)


@pytest.mark.parametrize(
    ("said", "issue"),
    [
        (found(("port 7070", "port 8080"), ("port 9090", "port 8080")), "“port 9090”, the facts"),
        (found(("**Port 9090**", "port 8080")), "“**Port 9090**”, the facts"),
        (found(*[("port 9090", "port 8080")] * 30), "“port 9090”, the facts"),
    ],
)
async def test_what_stands_on_both_sides_counts(said: str, issue: str) -> None:
    """Whatever else the answer says, in whatever spelling, and each once."""
    bench = checked(WRONG, said, RIGHT, NONE)
    made = await bench.condense(work())
    assert made.summary == RIGHT
    assert made.notes[0].count(issue) == 1


async def test_what_no_model_wrote_or_a_rule_refused_is_not_checked() -> None:
    """It would cost a call for nothing; and so it is by default."""
    bench = Bench("I'm sorry.", NONE, strategies=("ledger",), policy=CHECKED)
    await bench.condense(work())
    assert bench.calls == 0
    hooks = Hooks(validators=(is_no_refusal,))
    bench = checked("I'm sorry, I can't.", "I'm sorry, I can't.", hooks=hooks)
    await bench.condense(work(), trigger=Trigger.FORCED)
    assert bench.calls == 2
    model = ScriptedSummarizer(WRONG, found(("port 9090", "port 8080")), RIGHT, NONE)
    assert (await condense(work(), summarizer=model)).reduction.summary == WRONG  # type: ignore[union-attr]
    model = ScriptedSummarizer(WRONG, found(("port 9090", "port 8080")), RIGHT, NONE)
    made = await condense(work(), summarizer=model, find_contradictions=True)
    assert made.reduction is not None
    assert made.reduction.summary == RIGHT
