"""The agent loop, on ports that need neither a model nor a database."""

from collections.abc import Sequence
from typing import override

import pytest

import condense
from chatapp.agent import events
from chatapp.agent.errors import AgentError, ContextOverflow, ProviderError, StepLimitReached
from tests.chatapp.agent.fakes import RecordingController, Stage, call, reply, say


async def test_tool_results_go_back_to_the_model_until_it_calls_no_more() -> None:
    """Call and result are two messages; an input that is no object is answered with an error."""
    stage = Stage(call("echo", path="a"), say("Done."))
    await stage.loop.run()
    roles = [message.role for message in stage.journal.messages]
    assert roles == ["user", "assistant", "user", "assistant"]
    result = stage.provider.requests[1].messages[-1].tool_results[0]
    assert (result.tool_use_id, result.content) == ("call_1", "echo {'path': 'a'}")
    block = condense.ToolUseBlock("call_1", "echo", "not an object")
    ask = events.ReplyCompleted((block,), "tool_use", condense.Usage())
    stage = Stage([ask], say("Sorry."))
    await stage.loop.run()
    assert stage.journal.messages[2].tool_results[0].is_error


async def test_the_step_limit_ends_a_turn_that_would_go_on_for_ever() -> None:
    """Everything up to then is kept."""
    stage = Stage(*(call("echo", id_=f"call_{n}") for n in range(3)), step_limit=3)
    with pytest.raises(StepLimitReached, match="3 steps"):
        await stage.loop.run()
    assert len(stage.journal.messages) == 7


async def test_after_three_forced_reductions_the_overflow_ends_the_turn() -> None:
    """A provider that always claims an overflow does not keep the loop busy."""
    stage = Stage(*[[ContextOverflow("prompt is too long")]] * 4)
    with pytest.raises(ContextOverflow):
        await stage.loop.run()
    assert stage.controller.triggers.count(condense.Trigger.FORCED) == 3
    assert len(stage.journal.calls) == 4, "every failed call is accounted for"


@pytest.mark.parametrize(("limit", "told"), [(9, ContextOverflow), (3, condense.CannotFit)])
async def test_an_overflow_of_what_should_fit_is_told_in_the_provider_s_words(
    limit: int, told: type[Exception]
) -> None:
    """Only the provider knows why it does not; of what is too large the parts are told."""

    class Full(RecordingController):
        """Can make nothing smaller."""

        @override
        async def fit(
            self, history: Sequence[condense.Message], trigger: condense.Trigger
        ) -> Sequence[condense.Message]:
            if trigger is condense.Trigger.FORCED:
                error = condense.CannotFit("Nothing more can be hidden.")
                error.floor = condense.Floor(1, 1, 1, 1, limit)
                raise error
            return history

    stage = Stage([ContextOverflow("prompt is too long")])
    stage.loop.controller = Full()
    with pytest.raises(told):
        await stage.loop.run()


async def test_a_call_that_fails_at_once_leaves_no_message_but_a_record() -> None:
    """An empty reply would be refused by the API later."""
    stage = Stage([ProviderError("Wrong key.")])
    with pytest.raises(ProviderError):
        await stage.loop.run()
    assert len(stage.journal.messages) == 1
    assert [record.error for record in stage.journal.calls] == ["Wrong key."]
    assert stage.audience.of(events.StreamDiscarded)


def failing(raw: str) -> list[events.StreamEvent]:
    """Return the stream of a call whose arguments could not be read."""
    return call("echo", _unparsed=raw)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ('{"path": "a", "content": "half of', "were cut"),
        ('{"path": tru', "were cut"),
        ("", "were cut"),
        ('{"content": "function() {}', "were cut"),
        ('{"path": "a"}{"path": "b"}', "no JSON object: Extra data: line 1 column 14"),
        ('{"path": "a" x}', "no JSON object"),
        ("[1]", "no JSON object"),
    ],
)
async def test_the_model_reads_what_is_wrong_with_its_arguments(raw: str, words: str) -> None:
    """The tool does not run with what could not be read; nothing is made up."""
    stage = Stage(failing(raw), say("Sorry."))
    await stage.loop.run()
    result = stage.journal.messages[2].tool_results[0]
    assert result.is_error
    assert words in str(result.content)


async def test_three_equal_failures_in_a_row_end_the_turn() -> None:
    """Results are kept; another failure, or a success, in between begins to count anew."""
    scripts = [failing(f'{{"path": "{text}') for text in ("a", "bc", "d")]
    stage = Stage(*scripts, say("Never said."))
    with pytest.raises(AgentError, match="echo failed three times in a row"):
        await stage.loop.run()
    assert len(stage.journal.messages) == 7
    stage = Stage(*scripts[:2], call("echo", path="a"), *scripts[:2], failing("[1]"), say("Done."))
    await stage.loop.run()
    assert stage.journal.messages[-1].text == "Done."
    stage = Stage(*[call("echo", path="a")] * 4, say("Done."))
    await stage.loop.run()


async def test_text_that_was_thinking_is_shown_anew_as_such() -> None:
    """Pages and the draft forget it as text."""
    thought = condense.OpaqueBlock({"type": "thinking", "thinking": "Hm."})
    last = reply(thought, condense.TextBlock("So."))
    again = [events.StreamDiscarded(), events.ThinkingStarted(), events.ThinkingStreamed("Hm.")]
    stage = Stage([events.TextStreamed("Hm."), *again, events.TextStreamed("So."), last])
    await stage.loop.run()
    assert [*map(type, stage.audience.events[2:5])] == [events.TextStreamed, *map(type, again[:2])]
    assert [one["type"] for one in stage.journal.drafts[-1].blocks] == ["thinking", "text"]
