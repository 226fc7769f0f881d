"""The ledger that stands beside a summary."""

from decimal import Decimal

import condense
from condense.testing import ScriptedSummarizer

BUDGET = condense.Budget(window=200_000, max_output=8_000)
SUMMARY = "<summary>They edited a file.</summary>"


def worked(number: int) -> tuple[condense.Message, ...]:
    """Return a step of work: a request, a command, its result, and an answer."""
    call = condense.ToolUseBlock(f"c{number}", "bash", {"command": f"make part-{number}"})
    return (
        condense.Message(role="user", content=f"Please build part {number}. {'It matters. ' * 40}"),
        condense.Message(role="assistant", content=(call,)),
        condense.Message(
            role="user", content=(condense.ToolResultBlock(f"c{number}", "built " * 200),)
        ),
        condense.Message(role="assistant", content=f"Part {number} is built."),
    )


def situation(messages: tuple[condense.Message, ...]) -> condense.Situation:
    """Return the moment in which somebody asks for a condensation."""
    counter = condense.CharacterCounter()
    size = sum(counter.count(message.content) for message in messages)
    return condense.Situation(
        effective=messages,
        tokens=condense.TokenCount(size, measured=False),
        budget=BUDGET,
        trigger=condense.Trigger.MANUAL,
    )


def condenser() -> condense.Condenser:
    """Return a condenser whose summaries carry the ledger."""
    hooks = condense.Hooks(after=(condense.attach_ledger,))
    return condense.Condenser(ScriptedSummarizer(SUMMARY), condense.CharacterCounter(), hooks=hooks)


async def test_a_ledger_that_is_the_summary_is_not_attached_once_more() -> None:
    """It would say the same twice, at the cost of what was gained."""
    hooks, model = condense.Hooks(after=(condense.attach_ledger,)), ScriptedSummarizer()
    alone = condense.Condenser(model, condense.CharacterCounter(), ["ledger"], hooks=hooks)
    reduction = await alone.fit(situation((*worked(1), *worked(2))))
    texts = [
        block.text for block in reduction.message.blocks if isinstance(block, condense.TextBlock)
    ]
    assert len([text for text in texts if condense.parse_ledger(text)]) == 1


async def test_a_summary_carries_the_facts_of_what_it_hides() -> None:
    """Word for word, although the model left them out."""
    reduction = await condenser().fit(situation((*worked(1), *worked(2))))
    text = reduction.message.text
    assert "They edited a file." in text
    assert "make part-1" in text
    facts = reduction.message.blocks[-1]
    assert isinstance(facts, condense.TextBlock)
    assert condense.parse_ledger(facts.text)


async def test_the_record_keeps_the_models_own_summary_apart() -> None:
    """What the model wrote, and what was copied by rule, are two things."""
    reduction = await condenser().fit(situation((*worked(1), *worked(2))))
    assert reduction.summary == "They edited a file."
    assert reduction.usage == condense.Usage()
    assert reduction.cost == Decimal(0)
