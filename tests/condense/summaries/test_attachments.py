"""The ledger that stands beside a summary."""

import condense
from tests.condense.bench import Bench
from tests.condense.dialogues import texts
from tests.condense.sessions import Session


async def condensed(*replies: str, **rest: object) -> condense.Reduction:
    """Return what becomes of a session, with the facts of what is hidden."""
    session = Session()
    for number in (1, 2):
        session.says(f"Please build part {number}. {'It matters. ' * 40}")
        session.runs(f"make part-{number}", "built").replies("It works. " * 400)
    bench = Bench(*replies, hooks=condense.Hooks(after=(condense.attach_ledger,)), **rest)
    return await bench.condense(session.messages, window=200_000)


async def test_a_summary_carries_the_facts_of_what_it_hides() -> None:
    """Word for word, although the model left them out; a ledger that is the summary, once."""
    made = await condensed("<summary>They edited a file.</summary>")
    summary, facts = texts(made.message)
    assert "They edited a file." in summary
    assert condense.parse_ledger(facts)
    assert "make part-1" in facts
    assert made.summary == "They edited a file."
    made = await condensed(strategies=("ledger",))
    assert len([text for text in texts(made.message) if condense.parse_ledger(text)]) == 1
