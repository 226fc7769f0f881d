"""A fresh start: what is asked of the model, what it reads afterwards, and what stays."""

import itertools
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from condense import (
    Condensation,
    DidNotShrink,
    ImageBlock,
    Kit,
    Message,
    NothingToCondense,
    OpaqueBlock,
    Reduction,
    Summarizer,
    SummaryFailed,
    Tags,
    TextBlock,
    TextChunk,
    ToolResultBlock,
    Trigger,
    Usage,
    UsageChunk,
    condense,
    condense_instruction,
    effective_history,
    load_strategy,
    shape_request,
    summary_preface,
    summary_system,
    truncate,
    undo,
)
from condense.testing import EchoSummarizer, ScriptedSummarizer, WordCounter
from tests.condense.api_rules import assert_valid_request
from tests.condense.dialogues import WORDS, call, chat, numbered, result, situation, user

IMAGE = ImageBlock({"type": "base64", "media_type": "image/png", "data": "AAAA"})


async def reduce(
    messages: Sequence[Message], summarizer: Summarizer | None = None, **rest: Any
) -> Reduction:
    """Return what the strategy makes of a conversation; "S" is the summary if nobody says more."""

    async def on_text(text: str) -> None:
        """Ignore progress."""

    ids = itertools.count(1)
    kit = Kit(
        summarizer=summarizer or ScriptedSummarizer("S"),
        counter=WordCounter(),
        new_id=lambda: f"new{next(ids)}",
        on_text=on_text,
    )
    return await load_strategy("fresh_start").reduce(situation(messages, **rest), kit)


def texts(message: Message) -> list[str]:
    """Return a message's texts, block by block."""
    return [block.text for block in message.blocks if isinstance(block, TextBlock)]


# What is hidden, and what stays.


async def test_all_that_was_read_is_hidden_and_the_unread_request_stays() -> None:
    """The newest user message is not condensed away before the model sees it."""
    made = await reduce([*chat(10), user("and now?")])
    assert made.hidden == tuple(f"m{i}" for i in range(1, 11))
    assert made.message.position == 10


async def test_after_a_reply_everything_is_hidden() -> None:
    """Nothing is unread, so nothing needs to stay."""
    made = await reduce(chat(10))
    assert len(made.hidden) == 10


async def test_an_unread_result_stays_with_its_call() -> None:
    """The model reads the result next."""
    made = await reduce([*chat(9), call(), result()])
    assert made.hidden == tuple(f"m{i}" for i in range(1, 10))


async def test_the_request_being_worked_on_is_carried_word_for_word() -> None:
    """Its message is hidden, but the turn is not over."""
    made = await reduce([*chat(8), user("Fix  the\nbug!"), call(), result()])
    assert texts(made.message)[1] == "## Newest Request, Verbatim\nFix  the\nbug!"


async def test_a_second_condensation_in_one_turn_carries_the_request_on() -> None:
    """It is in no message any more, only in the earlier summary."""
    first = await reduce([*chat(8), user("Fix the bug!"), call(), result()])
    again = [first.message, call("t2"), result("t2"), call("t3"), result("t3")]
    made = await reduce(again)
    assert texts(made.message)[1] == "## Newest Request, Verbatim\nFix the bug!"


async def test_an_answered_request_is_not_carried() -> None:
    """The summary says what became of it."""
    made = await reduce(chat(10))
    assert len(texts(made.message)) == 1


async def test_a_request_that_stays_visible_is_not_repeated() -> None:
    """It follows the summary as its own message."""
    made = await reduce([*chat(10), user("and now?")])
    assert len(texts(made.message)) == 1


async def test_the_carried_request_keeps_its_images() -> None:
    """A picture cannot be summarised."""
    seen = Message("user", (TextBlock("What is this?"), IMAGE))
    made = await reduce([*chat(8), seen, call(), result()])
    assert made.message.blocks[2] == IMAGE
    again = await reduce([made.message, call("t2"), result("t2"), call("t3"), result("t3")])
    assert again.message.blocks[1:3] == (
        TextBlock("## Newest Request, Verbatim\nWhat is this?"),
        IMAGE,
    )


async def test_a_request_too_long_to_carry_loses_its_middle_and_says_so() -> None:
    """Beginning and end are where people say what they want."""
    long = user("First " + "word " * 900 + "last.")
    made = await reduce([*chat(2), long, call(), result()], window=1_000)
    carried = texts(made.message)[1]
    assert carried.startswith("## Newest Request, Verbatim\nFirst ")
    assert carried.endswith(" last.")
    assert "characters left out here; search the history" in carried
    assert "The newest request did not fit whole; its middle is hidden." in made.notes
    assert made.tokens_after.value <= 800


async def test_images_of_a_request_that_do_not_fit_are_named() -> None:
    """What is missing is said, to the model and to people."""
    seen = Message("user", (TextBlock("word " * 790), IMAGE))
    made = await reduce([*chat(2), seen, call(), result()], window=1_000)
    assert "The newest request's images (1) did not fit and are hidden." in made.notes
    assert IMAGE not in made.message.blocks


async def test_unread_messages_that_do_not_fit_are_hidden_and_that_is_said() -> None:
    """A tool that answers with more than the window leaves no other way."""
    made = await reduce([*chat(2), call(), result(text="word " * 900)], window=1_000)
    assert made.hidden == ("m1", "m2", "m3", "m4")
    said = "do not fit into the context and are hidden before they were read"
    assert said in texts(made.message)[-1]
    assert said in made.notes[0]


async def test_below_the_limit_nothing_unread_is_hidden() -> None:
    """It fits, or the request would be over the limit."""
    made = await reduce([*chat(4, words=20), user("word " * 700)], window=1_000)
    assert made.hidden == ("m1", "m2", "m3", "m4")


async def test_a_truncated_message_is_neither_summarised_nor_hidden_again() -> None:
    """The input is what the model sees, so a summary costs no more than a request."""
    before = truncate(numbered([*chat(12), user("go on")]))
    summarizer = ScriptedSummarizer("S")
    made = await reduce(
        chat(1), summarizer, effective=effective_history(before.messages), history=before.messages
    )
    assert not set(made.hidden) & set(before.hidden)
    sent = "".join(message.text for message in summarizer.requests[0].messages)
    assert "message1 " in sent
    assert "message2 " not in sent


# Too little to condense.


@pytest.mark.parametrize("count", [0, 1])
async def test_fewer_than_two_messages_are_not_enough(count: int) -> None:
    """The sentence is Roo's; no model is called."""
    with pytest.raises(NothingToCondense, match=r"^Not enough messages to condense context$"):
        await reduce(chat(count), ScriptedSummarizer())


async def test_two_messages_are_enough() -> None:
    """A request and its reply."""
    assert len((await reduce(chat(2))).hidden) == 2


SUMMARY = Message("user", "## Conversation Summary\nS", tags=Tags(condense_id="c1"))


@pytest.mark.parametrize(
    "rest", [[], [user("next")], [user("next"), user("and")], [call(), result()]]
)
async def test_right_after_a_condensation_there_is_nothing_to_do(rest: list[Message]) -> None:
    """A summary of a summary says nothing new."""
    with pytest.raises(NothingToCondense, match=r"^Context was condensed recently; skipping"):
        await reduce([SUMMARY, *rest], ScriptedSummarizer())


async def test_two_messages_after_a_condensation_are_enough() -> None:
    """The earlier summary is part of the input."""
    summarizer = ScriptedSummarizer("S2")
    made = await reduce([SUMMARY, *chat(2)], summarizer)
    assert made.hidden == ("m1", "m2", "m3")
    assert "## Conversation Summary\nS" in summarizer.requests[0].messages[0].text


# The request.


async def test_the_request_is_valid_without_tools_and_ends_with_the_instruction() -> None:
    """Calls, results and open calls are plain text."""
    summarizer = ScriptedSummarizer("S")
    messages = [user("go"), call("t1"), result("t1", "file a"), call("t2"), *chat(2)]
    await reduce(messages, summarizer)
    request = summarizer.requests[0]
    assert_valid_request([m.to_api() for m in request.messages], tools_present=False)
    assert texts(request.messages[-1])[-1] == condense_instruction()
    assert request.system == summary_system()
    sent = "\n".join(message.text for message in request.messages)
    assert "[Tool Use: read_file]\npath: a.py" in sent
    assert "[Tool Result]\nfile a" in sent
    assert "Context condensation triggered. Tool execution deferred." in sent


async def test_the_summary_may_take_what_is_reserved_for_a_reply() -> None:
    """The window has that much room by definition."""
    summarizer = ScriptedSummarizer("S")
    await reduce(chat(10), summarizer)
    assert summarizer.requests[0].max_output == 100


@pytest.mark.parametrize("supports_images", [True, False])
async def test_images_are_sent_only_to_a_model_that_sees(supports_images: bool) -> None:
    """Others get a placeholder; images in tool results are text either way."""
    summarizer = ScriptedSummarizer("S", supports_images=supports_images)
    shown = Message("user", (TextBlock("look"), IMAGE))
    nested = Message("user", (ToolResultBlock("t1", (IMAGE,)),))
    await reduce([shown, call(), nested, *chat(2)], summarizer)
    blocks = [block for m in summarizer.requests[0].messages for block in m.blocks]
    assert (IMAGE in blocks) is supports_images
    said = "\n".join(block.text for block in blocks if isinstance(block, TextBlock))
    assert ("[Referenced image in conversation]" in said) is not supports_images
    assert "[Tool Result]\n[Image]" in said


async def test_thinking_is_not_sent() -> None:
    """Its signature holds for the model and the settings that wrote it."""
    summarizer = ScriptedSummarizer("S")
    thought = OpaqueBlock({"type": "thinking", "thinking": "hm", "signature": "s"})
    await reduce([user("go"), Message("assistant", (thought, TextBlock("done")))], summarizer)
    assert thought not in summarizer.requests[0].messages[1].blocks


async def test_own_prompt_and_focus_reach_the_model_and_the_record() -> None:
    """What was asked can be read afterwards."""
    summarizer = ScriptedSummarizer("S")
    made = await reduce(chat(10), summarizer, prompt=" Be brief. ", focus="names")
    assert made.prompt == condense_instruction("Be brief.", "names")
    assert texts(summarizer.requests[0].messages[-1])[-1] == made.prompt


# What the model reads afterwards.


async def test_the_summary_stands_under_its_heading_and_preface() -> None:
    """It says that this is history, and that nothing has to be done again."""
    made = await reduce(chat(10))
    assert texts(made.message) == [f"## Conversation Summary\n{summary_preface()}\n\nS"]
    assert made.message.role == "user"
    assert made.message.tags.condense_id
    assert made.message.seq == 0


async def test_analysis_is_on_record_but_not_in_the_context() -> None:
    """A quarter of a summary would be scratch text."""
    made = await reduce(chat(10), ScriptedSummarizer("<analysis>A</analysis><summary>S</summary>"))
    assert (made.summary, made.analysis) == ("S", "A")
    assert "<" not in made.message.text


async def test_directives_of_all_hidden_messages_survive_the_newest_of_each_name() -> None:
    """Also those that a truncation hid before, and those of rewound messages not."""
    history = numbered(
        [
            user('<command name="a">old</command>'),
            user('<command name="b">b</command>').with_tags(truncation_parent="t"),
            user('<command name="a">new</command>'),
            user('<command name="x">gone</command>').with_tags(rewind_parent="r"),
            *chat(4),
            user('<command name="c">stays</command>'),
        ]
    )
    effective = tuple(m for m in history if m.tags == Tags())
    made = await reduce(chat(1), effective=effective, history=history)
    assert texts(made.message)[1] == (
        "<system-reminder>\n## Active Workflows\n"
        "The following directives must be maintained across all future condensings:\n"
        '<command name="a">new</command>\n<command name="b">b</command>\n</system-reminder>'
    )


async def test_directives_survive_a_second_condensation() -> None:
    """They are found in the reminder of the first."""
    first = await reduce([user('<command name="a">A</command>'), *chat(4)])
    made = await reduce([first.message, *chat(4)])
    assert texts(made.message)[1].count('<command name="a">A</command>') == 1


@pytest.mark.parametrize(
    ("trigger", "gathered"), [(Trigger.AUTO, 1), (Trigger.FORCED, 1), (Trigger.MANUAL, 0)]
)
async def test_the_environment_is_gathered_only_where_it_is_used(
    trigger: Trigger, gathered: int
) -> None:
    """Gathering has effects, and a manual run is followed by a new message anyway."""
    calls: list[str] = []

    async def gather() -> str:
        calls.append("")
        return " env "

    made = await reduce(chat(10), trigger=trigger, environment=gather)
    assert len(calls) == gathered
    assert (" env " in texts(made.message)) is bool(gathered)


async def test_a_failed_summary_gathers_no_environment() -> None:
    """What was gathered would be thrown away."""

    async def gather() -> str:
        raise AssertionError("gathered in vain")

    with pytest.raises(SummaryFailed):
        await reduce(chat(10), ScriptedSummarizer(ValueError("no")), environment=gather)


async def test_an_environment_that_cannot_be_gathered_costs_no_summary() -> None:
    """It is missing, and that is noted."""

    async def gather() -> str:
        raise OSError("no terminal")

    made = await reduce(chat(10), environment=gather)
    assert made.notes == ("The environment's details are missing: no terminal",)


async def test_blank_environment_details_add_no_block() -> None:
    """The API refuses blank text."""

    async def gather() -> str:
        return " \n"

    assert len(texts((await reduce(chat(10), environment=gather)).message)) == 1


async def test_sizes_are_of_the_whole_request() -> None:
    """System prompt and tools stay, so they count before and after."""
    made = await reduce(chat(10), system="be kind", tools=({"name": "a b c"},))
    assert made.tokens_before.value == 10 * WORDS + 2
    assert made.message.tokens == WordCounter().count(made.message.content)
    assert made.tokens_after.value == pytest.approx(made.message.tokens + 2 + 3, abs=1)


# Models that fail.


async def test_usage_and_cost_are_those_reported_last() -> None:
    """A later report replaces an earlier one."""
    chunks = [
        UsageChunk(Usage(input=10), Decimal(1)),
        TextChunk("S"),
        UsageChunk(Usage(input=10, output=2), Decimal(2)),
    ]
    made = await reduce(chat(10), ScriptedSummarizer(chunks))
    assert (made.cost, made.usage) == (Decimal(2), Usage(input=10, output=2))


async def test_an_error_in_the_stream_keeps_the_cost_so_far() -> None:
    """A failed attempt is not free."""
    chunks = [UsageChunk(Usage(), Decimal("0.5")), TextChunk("half"), OSError("cut off")]
    with pytest.raises(SummaryFailed, match=r"^Condensing API call failed: cut off$") as caught:
        await reduce(chat(10), ScriptedSummarizer(chunks))
    assert caught.value.cost == Decimal("0.5")
    assert caught.value.details == "Error: cut off"


@pytest.mark.parametrize("answer", ["", "  \n\t", "<analysis>only this</analysis>"])
async def test_an_answer_without_a_summary_is_a_failure(answer: str) -> None:
    """The sentence is Roo's; what was answered is in the details."""
    chunks = [TextChunk(answer), UsageChunk(Usage(), Decimal(1))]
    with pytest.raises(SummaryFailed, match=r"^Failed to condense context$") as caught:
        await reduce(chat(10), ScriptedSummarizer(chunks))
    assert caught.value.cost == 1
    assert answer.strip() in caught.value.details


# The convenience over a whole history.


async def made_of(history: Sequence[Message], *replies: str, **rest: Any) -> Condensation:
    """Return a whole history after a condensation."""
    return await condense(
        history, summarizer=ScriptedSummarizer(*replies), counter=WordCounter(), **rest
    )


async def test_a_whole_history_is_condensed_without_losing_a_message() -> None:
    """Everything is still there, the model sees the summary, and undo brings it back."""
    history = numbered([*chat(10), user("and now?")])
    made = await made_of(history, "S")
    assert made.reduction is not None
    seen = effective_history(made.messages)
    assert [m.is_summary for m in seen] == [True, False]
    assert {m.id for m in history} < {m.id for m in made.messages}
    assert_valid_request([m.to_api() for m in shape_request(seen)])
    back = undo(made.messages, made.reduction.message.tags.condense_id or "")
    assert [m.id for m in effective_history(back)] == [m.id for m in history]


async def test_a_run_that_is_not_due_gives_the_same_history() -> None:
    """The very object, so that a caller knows there is nothing to store."""
    history = numbered(chat(4))
    made = await made_of(history, trigger=Trigger.AUTO)
    assert made.messages is history
    assert made.reduction is None


async def test_a_summary_that_repeats_its_input_is_refused() -> None:
    """The history stays as it was."""
    with pytest.raises(DidNotShrink):
        await condense(numbered(chat(6)), summarizer=EchoSummarizer(), counter=WordCounter())
