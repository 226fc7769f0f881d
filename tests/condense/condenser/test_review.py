"""A person may look at what is proposed, and change it, before it is applied."""

import json
from decimal import Decimal

import pytest

import condense
from condense.condenser.hooks import Hooks
from condense.condenser.review import EDITED, UNSIGNED
from condense.testing import ScriptedReviewer, ScriptedSummarizer, WordCounter
from tests.condense.bench import COMPACTED, COMPACTION, PAID, WINDOW, Bench, talk
from tests.condense.dialogues import situation


async def test_what_is_accepted_is_applied_and_heard_while_it_is_written() -> None:
    """Without its analysis."""
    reviewer = ScriptedReviewer()
    bench = Bench("S", reviewer=reviewer)
    made = await bench.condense(talk(6))
    assert bench.log.of("succeeded") == [made]
    assert [one.reduction for one in reviewer.proposals] == [made]
    reviewer = ScriptedReviewer()
    pieces = ("<analysis>Well.", "</analysis><summary>What", " was said.</summary>")
    await Bench([*map(condense.TextChunk, pieces)], reviewer=reviewer).condense(talk(6))
    assert reviewer.read == ["", "What", "What was said."]


async def test_a_persons_words_take_the_summarys_place_and_the_rest_stays() -> None:
    """Sizes are those of what is applied, and the record says who wrote it."""
    reviewer = ScriptedReviewer(condense.Accept("Own words, and a few more of them."))
    hooks = Hooks(after=(condense.attach_ledger,))
    made = await Bench("Model's words.", reviewer=reviewer, hooks=hooks).condense(talk(6))
    (proposal,) = reviewer.proposals
    before, after = proposal.reduction.message, made.message
    assert after.text == before.text.replace("Model's words.", "Own words, and a few more of them.")
    assert made.summary == "Own words, and a few more of them."
    assert made.tokens_after.value == proposal.reduction.tokens_after.value + 6
    assert after.tokens == WordCounter().count(after.content)
    assert made.notes == (EDITED,)
    assert made.verdicts == ()


async def test_an_edit_makes_a_providers_signed_summary_one_of_our_own() -> None:
    """The block is gone, since it would say something else; any model can read what stands here."""
    reviewer = ScriptedReviewer(condense.Accept("Own words."))
    model = ScriptedSummarizer(COMPACTED, compacts=True)
    bench = Bench(reviewer=reviewer, summarizer=model, strategies=("provider",))
    made = await bench.condense(talk(6))
    (proposal,) = reviewer.proposals
    assert proposal.reduction.message.blocks[0].to_api() == COMPACTION
    assert [block.to_api()["type"] for block in made.message.blocks] == ["text"]
    assert made.message.text.endswith("\n\nOwn words.")
    assert made.notes[-2:] == (EDITED, UNSIGNED)


async def test_one_of_several_summaries_is_changed_and_the_others_are_not() -> None:
    """The layers before it keep their words."""
    reviewer = ScriptedReviewer(condense.Accept(), condense.Accept("The newest, changed."))
    bench = Bench("The first.", "The newest.", reviewer=reviewer, strategies=("layers",))
    first = await bench.condense(talk(6))
    made = await bench.condense([first.message, *talk(6)])
    assert "The first." in made.message.text
    assert made.message.text.endswith("The newest, changed.")


async def test_it_is_written_again_in_the_same_attempt_with_a_new_focus() -> None:
    """All drafts are on one bill."""
    reviewer = ScriptedReviewer(condense.WriteAgain("the port number"))
    bench = Bench(
        [condense.TextChunk("One."), PAID], [condense.TextChunk("Two."), PAID], reviewer=reviewer
    )
    made = await bench.condense(talk(6), focus="something else")
    assert bench.log.names == ["started", "succeeded"]
    assert [one.reduction.summary for one in reviewer.proposals] == ["One.", "Two."]
    assert "the port number" in bench.summarizer.requests[1].messages[-1].text
    assert "something else" not in bench.summarizer.requests[1].messages[-1].text
    assert made.cost == Decimal("0.5")


async def test_a_draft_is_not_lost() -> None:
    """Where writing it again fails, or a person's words are too many."""
    reviewer = ScriptedReviewer(condense.WriteAgain())
    made = await Bench("One.", OSError("No line."), reviewer=reviewer).condense(talk(6))
    assert made.summary == "One."
    assert "No line." in made.notes[-1]
    reviewer = ScriptedReviewer(condense.Accept("long " * 13_000), condense.Accept("short"))
    made = await Bench("S", reviewer=reviewer).condense(talk(6))
    assert made.summary == "short"
    again = reviewer.proposals[1].reduction
    assert again.summary == "long " * 13_000
    assert "would not get smaller" in again.notes[-1]


async def test_what_is_discarded_is_on_record_and_nothing_else_is_tried() -> None:
    """Neither another rung, nor is it a failure; a ledger can be refused so, and not be changed."""
    bench = Bench("S", reviewer=ScriptedReviewer(condense.Discarded("no")))
    with pytest.raises(condense.Discarded):
        await bench.fit(talk(12))
    assert bench.log.names == ["started", "cancelled"]
    reviewer = ScriptedReviewer()
    await Bench(reviewer=reviewer, strategies=("ledger",)).condense(talk(6))
    assert [one.can_be_edited for one in reviewer.proposals] == [False]


async def test_a_review_goes_on_in_another_process() -> None:
    """What is stored of a proposal is all that is needed; no model is asked again."""

    async def judge(*_: object) -> condense.Verdict:
        return condense.Verdict(issues=("It is short.",), score=0.5, name="judge")

    first = ScriptedReviewer(condense.Discarded("stopped"))
    bench = Bench("Model's words.", reviewer=first, hooks=Hooks(validators=(judge,)))
    with pytest.raises(condense.Discarded):
        await bench.condense(talk(6))
    stored = json.loads(json.dumps(first.proposals[0].to_json()))
    proposal = condense.Proposal.from_json(stored)
    assert proposal == first.proposals[0]
    second = ScriptedReviewer(condense.Accept("Own words."))
    later = Bench(reviewer=second)
    now = situation(talk(6), window=WINDOW, trigger=condense.Trigger.MANUAL)
    made = await later.condenser.resume(now, "the-attempt", proposal.reduction)
    assert later.log.names == ["succeeded"]
    assert later.calls == 0
    assert second.proposals == [proposal]
    assert made.summary == "Own words."


async def unless_good(_situation: condense.Situation, made: condense.Reduction) -> condense.Verdict:
    """Reject what does not say that it is good."""
    good = "good" in made.summary
    return condense.Verdict(name="good", issues=() if good else ("It is bad",), rejects=not good)


@pytest.mark.parametrize(
    ("answers", "strategy", "summary", "note"),
    [
        ((condense.Accept(),), "ledger", "## Ledger", ""),
        ((condense.Accept(uses_refused=True),), "fresh_start", "Bad.", "as you chose: It is bad"),
        ((condense.Accept("A person's."),), "fresh_start", "A person's.", EDITED),
        ((condense.WriteAgain("x"), condense.Accept()), "fresh_start", "Now good.", ""),
    ],
    ids=["instead", "used", "edited", "written again"],
)
@pytest.mark.parametrize("is_resumed", [False, True])
async def test_a_refused_summary_is_for_a_person_to_use_change_or_have_written_again(
    answers: tuple[condense.Accept | condense.WriteAgain, ...],
    strategy: str,
    summary: str,
    note: str,
    is_resumed: bool,
) -> None:
    """In the attempt that stands for it, also after a restart; by itself the ledger applies."""
    hooks, messages = Hooks(validators=(unless_good,)), talk(12)
    first = ScriptedReviewer(*([] if is_resumed else answers))
    bench = Bench("Bad.", "Bad.", "Now good.", "Now good.", hooks=hooks, reviewer=first)
    made = await bench.condense(messages)
    if is_resumed:
        stored = json.loads(json.dumps(first.proposals[0].to_json()))
        shown = condense.Proposal.from_json(stored)
        again = Bench("Now good.", hooks=hooks, reviewer=ScriptedReviewer(*answers))
        now = situation(messages, window=WINDOW, trigger=condense.Trigger.MANUAL)
        made = await again.condenser.resume(now, "attempt", shown.reduction, shown.refused)
    (proposal, *_) = first.proposals
    assert proposal.refused
    assert (proposal.reduction.strategy, proposal.refused.lacking) == ("ledger", ("It is bad",))
    assert (made.strategy, made.summary[: len(summary)]) == (strategy, summary)
    assert note in "\n".join(made.notes)
