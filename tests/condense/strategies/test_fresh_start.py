"""A fresh start hides what was read, and keeps or carries what the model still needs."""

import pytest

from condense import Message, NothingToCondense, Tags, TextBlock, Trigger
from condense.testing import ScriptedSummarizer
from tests.condense.dialogues import IMAGE, SUMMARY, call, chat, result, start_afresh, texts, user


async def test_what_was_read_is_hidden_and_what_was_not_stays() -> None:
    """A request, or a result with its call."""
    made = await start_afresh([*chat(10), user("and now?")])
    assert made.hidden == tuple(f"m{i}" for i in range(1, 11))
    assert made.message.position == 10
    made = await start_afresh([*chat(9), call(), result()])
    assert made.hidden == tuple(f"m{i}" for i in range(1, 10))


async def test_the_request_being_worked_on_is_carried_once() -> None:
    """Word for word, also on to a second summary; a marker is none."""
    made = await start_afresh([*chat(8), user("Fix  the\nbug!"), call(), result()])
    assert texts(made.message)[1] == "## Newest Request, Verbatim\nFix  the\nbug!"
    marker = Message("user", "[4 messages hidden]", tags=Tags(truncation_id="t"))
    made = await start_afresh([user("Fix it"), *chat(8)[1:], marker, call(), result()])
    assert "[4 messages hidden]" not in texts(made.message)[1]
    first = await start_afresh([*chat(8), user("Fix the bug!"), call(), result()])
    again = [first.message, call("t2"), result("t2"), call("t3"), result("t3")]
    made = await start_afresh(again)
    assert texts(made.message)[1] == "## Newest Request, Verbatim\nFix the bug!"
    made = await start_afresh([*chat(10), user("and now?")])
    assert len(texts(made.message)) == 1


async def test_the_carried_request_keeps_its_images_where_they_fit() -> None:
    """A picture cannot be summarised; what is missing is said, to the model and to people."""
    seen = Message("user", (TextBlock("What is this?"), IMAGE))
    made = await start_afresh([*chat(8), seen, call(), result()])
    assert made.message.blocks[2] == IMAGE
    again = await start_afresh([made.message, call("t2"), result("t2"), call("t3"), result("t3")])
    assert again.message.blocks[1:3] == (
        TextBlock("## Newest Request, Verbatim\nWhat is this?"),
        IMAGE,
    )
    seen = Message("user", (TextBlock("word " * 790), IMAGE))
    made = await start_afresh([*chat(2), seen, call(), result()], window=1_000)
    assert "The newest request's images (1) did not fit and are hidden." in made.notes
    assert IMAGE not in made.message.blocks


async def test_a_request_too_long_to_carry_loses_its_middle_and_says_so() -> None:
    """Beginning and end are where people say what they want."""
    long = user("First " + "word " * 900 + "last.")
    made = await start_afresh([*chat(2), long, call(), result()], window=1_000)
    carried = texts(made.message)[1]
    assert carried.startswith("## Newest Request, Verbatim\nFirst ")
    assert carried.endswith(" last.")
    assert "characters left out here; search the history" in carried
    assert "The newest request did not fit whole; its middle is hidden." in made.notes
    assert made.tokens_after.value <= 800


async def test_unread_messages_stay_only_with_room_for_a_summary() -> None:
    """Below the limit always; a refused request is taken to be as large as the window."""
    made = await start_afresh([*chat(2, words=20), user("word " * 750)], window=1_000)
    assert made.hidden == ("m1", "m2")
    rest = chat(4, words=50)
    made = await start_afresh([*rest, user("word " * 700)], window=1_000)
    assert len(made.hidden) == 4
    made = await start_afresh([*rest, user("word " * 760)], window=1_000)
    assert len(made.hidden) == 5
    made = await start_afresh([*chat(2), call(), result(text="word " * 900)], window=1_000)
    assert made.hidden == ("m1", "m2", "m3", "m4")
    said = "do not fit into the context and are hidden before they were read"
    assert said in texts(made.message)[-1]
    assert said in made.notes[0]
    messages = [*chat(2, words=40), user("word " * 420)]
    made = await start_afresh(messages, window=1_000, trigger=Trigger.FORCED)
    assert len(made.hidden) == 3
    messages = [*chat(2, words=120), user("word " * 260)]
    made = await start_afresh(messages, window=1_000, trigger=Trigger.FORCED)
    assert len(made.hidden) == 2


@pytest.mark.parametrize("rest", [[], [user("next")], [call(), result()]])
async def test_right_after_a_condensation_there_is_nothing_to_do(rest: list[Message]) -> None:
    """A summary of a summary says nothing new, and one message is not enough; in Roo's words."""
    for few in (chat(0), chat(1)):
        with pytest.raises(NothingToCondense, match=r"^Not enough messages to condense context$"):
            await start_afresh(few, ScriptedSummarizer())
    with pytest.raises(NothingToCondense, match=r"^Context was condensed recently; skipping"):
        await start_afresh([SUMMARY, *rest], ScriptedSummarizer())
