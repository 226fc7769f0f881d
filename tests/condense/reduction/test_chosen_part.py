"""A person chooses what is condensed: messages in a row, or what one tool returned."""

import json
from typing import Any

import pytest

import condense
from condense.condenser.review import EDITED
from condense.testing import ScriptedReviewer, ScriptedSummarizer
from tests.condense.api_rules import assert_valid_request
from tests.condense.bench import Bench
from tests.condense.dialogues import SUMMARY, call, chat, numbered, result, user

WINDOW = 100_000


async def choose(
    messages: list[condense.Message],
    *ids: str,
    tool: str = "",
    bench: Bench | None = None,
    **rest: Any,
) -> condense.Reduction:
    """Return what becomes of a conversation of which some messages are chosen."""
    bench, chosen = bench or Bench("What was done."), condense.Chosen(ids, tool)
    return await bench.condense(messages, chosen=chosen, window=WINDOW, **rest)


async def test_a_summary_stands_where_the_last_chosen_message_stood() -> None:
    """What stands around it stays, a pin is carried, and the model reads what was chosen alone."""
    bench, talk = Bench("What was done."), chat(8)
    talk[2] = condense.Message("user", "message3 Never push.").with_tags(pinned=True)
    made = await choose(talk, "m3", "m4", bench=bench)
    assert (made.kind, made.hidden, made.strategy) == ("condensed", ("m3", "m4"), "chosen_messages")
    left = condense.replace_hidden(numbered(talk), made.hidden, made.message)
    assert [one.id for one in left if one is not made.message] == [
        "m1", "m2", "m5", "m6", "m7", "m8",
    ]  # fmt: skip
    assert left[2] is made.message
    assert "What was done." in made.message.text
    assert "Never push." in made.message.text
    (request,) = bench.summarizer.requests
    said = "\n".join(one.text for one in request.messages)
    assert [f"message{number}" in said for number in range(2, 6)] == [False, True, True, False]
    assert "part from the midst" in made.prompt


async def test_a_chosen_part_is_condensed_as_it_is_or_not_at_all() -> None:
    """It need not take a tenth, no other rung follows, and what stood before it is not sent."""
    made = await choose(chat(6), "m1", "m2")
    assert made.message.is_summary
    assert (await choose(chat(40), "m3", "m4")).tokens_after.value > 0
    bench = Bench(RuntimeError("down"))
    with pytest.raises(condense.SummaryFailed):
        await choose(chat(8), "m3", "m4", bench=bench)
    assert [following for _error, following in bench.failures] == [None]
    summarizer = ScriptedSummarizer("A.", "B.", caches_prompts=True)
    await choose(chat(8), "m3", "m4", bench=Bench(summarizer=summarizer))
    await choose(chat(8), "m1", "m2", bench=Bench(summarizer=summarizer))
    assert [one.aligned for one in summarizer.requests] == [False, True]


PARTS = [("m3",), ("m4",), ("m3", "m5"), ("m9",), (), ("m6",), ("m3", "m4", "m5", "m6")]
OUTPUTS = [(("m3",), "t9"), (("m1",), "t1"), (("m9",), "t1")]


@pytest.mark.parametrize(("ids", "tool"), [*[(ids, "") for ids in PARTS], *OUTPUTS])
async def test_what_cannot_be_hidden_is_refused_before_any_call(
    ids: tuple[str, ...], tool: str
) -> None:
    """A call without its result, a gap, what is hidden already or unread, an output elsewhere."""
    talk = [user("Look."), *chat(2)[1:], call(), result(), *chat(2)[1:], user("And now?")]
    bench = Bench("What was done.")
    with pytest.raises(condense.NothingToCondense):
        await choose(LOOKED if tool else talk, *ids, tool=tool, bench=bench)
    with pytest.raises(condense.NothingToCondense, match="not read this output"):
        await choose(LOOKED[:3], "m3", tool="t1", bench=bench)
    assert bench.calls == 0


LONG = "line of the file " * 400
LOOKED = [
    user("Look."),
    call(),
    result(text=LONG),
    condense.Message("assistant", "Seen."),
    user("And?"),
]


def shown_of(made: condense.Reduction) -> str:
    """Return what stands in place of the output, in a request that can be sent."""
    seen = condense.replace_hidden(numbered(LOOKED), made.hidden, made.message)
    assert_valid_request([one.to_api() for one in condense.shape_request(seen)])
    (shown,) = seen[2].tool_results
    return str(shown.content)


async def test_a_summary_stands_in_place_of_one_tool_s_output() -> None:
    """The message and the other output in it stay; the model reads the output and no more."""
    bench = Bench("<summary>400 lines, all alike.</summary>")
    made = await choose(LOOKED, "m3", tool="t1", bench=bench)
    assert shown_of(made) == (
        f"[Output of read_file, {len(LONG):,} characters, condensed. What it said:]\n"
        "400 lines, all alike."
    )
    assert (made.kind, made.summary) == ("cleared", "400 lines, all alike.")
    (request,) = bench.summarizer.requests
    assert "line of the file" in request.messages[0].text
    assert "Look." not in "".join(one.text for one in request.messages)


async def test_a_person_changes_what_stands_for_an_output_before_it_applies() -> None:
    """As any other summary; the line still says what it stands for."""
    reviewer = ScriptedReviewer(condense.Accept("Own words, not many."))
    bench = Bench("<summary>All alike.</summary>", reviewer=reviewer)
    made = await choose(LOOKED, "m3", tool="t1", bench=bench)
    (proposal,) = reviewer.proposals
    assert condense.Proposal.from_json(json.loads(json.dumps(proposal.to_json()))) == proposal
    assert shown_of(made).startswith("[Output of read_file")
    assert shown_of(made).endswith("\nOwn words, not many.")
    assert (made.summary, made.notes[-1]) == ("Own words, not many.", EDITED)
    assert made.tokens_after.value == proposal.reduction.tokens_after.value + 2


@pytest.mark.parametrize("before", [0, 2])
async def test_a_summary_is_written_again_from_all_its_originals(before: int) -> None:
    """It stands where that one stood, may be longer, and is taken back like any other."""
    originals = numbered(chat(4))
    first = SUMMARY if before == 0 else user("The summary of a part.")
    talk = [*chat(2)[:before], first, *chat(4)[2:]]
    place = f"m{before + 1}"
    bench = Bench("What was done. " * 20)
    chosen = condense.Chosen((place,), originals=originals)
    made = await bench.condense(talk, chosen=chosen, window=WINDOW)
    assert (made.hidden, made.strategy) == ((place,), "from_originals")
    assert ("part from the midst" in made.prompt) is (before > 0)
    assert made.tokens_after.value > made.tokens_before.value
    assert made.message.is_summary == (before == 0)
    (request,) = bench.summarizer.requests
    said = "\n".join(one.text for one in request.messages)
    assert all(f"message{number}" in said for number in range(1, 5))
    assert "earlier summary of yours" not in made.prompt
    history = numbered(talk)
    after = condense.hide_behind(history, made.hidden, made.message)
    assert [one.id for one in condense.effective_history(after)] == [
        one.id if one.id != place else made.message.id for one in history
    ]


async def test_a_summary_that_would_not_fit_is_not_put_in_another_s_place() -> None:
    """It may be longer, but a request has to go through."""
    bench = Bench(" ".join(f"word{number}" for number in range(9_000)))
    talk = [SUMMARY, *chat(3)]
    chosen = condense.Chosen(("m1",), originals=numbered(chat(4)))
    with pytest.raises(condense.DidNotShrink):
        await bench.condense(talk, chosen=chosen, window=9_000)
