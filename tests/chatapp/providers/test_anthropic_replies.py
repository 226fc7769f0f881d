import pytest

import condense
from chatapp.agent import events
from chatapp.providers.anthropic.provider import AnthropicProvider
from chatapp.providers.anthropic.reply import Reply
from tests.chatapp.providers.requests import TOOLS, listen, reply, request
from tests.standin.behaviours import (
    ToolCall,
)
from tests.standin.server import Standin


async def test_text_and_usage_are_told_as_they_come(
    claude: AnthropicProvider, anthropic_standin: Standin
) -> None:
    """Usage comes before the first word, the whole reply last."""
    anthropic_standin.reply("One two three four five six.")
    told = await listen(claude, request("Count"))
    assert [type(event).__name__ for event in told] == [
        "UsageReported",
        "TextStreamed",
        "TextStreamed",
        "UsageReported",
        "ReplyCompleted",
    ]
    whole = told[-1]
    assert isinstance(whole, events.ReplyCompleted)
    assert whole.content == (condense.TextBlock("One two three four five six."),)
    assert whole.stop_reason == "end_turn"
    assert told[-2] == events.UsageReported(whole.usage)
    assert whole.usage.output > 0


async def test_tool_calls_are_announced_and_then_whole(
    claude: AnthropicProvider, anthropic_standin: Standin
) -> None:
    """The input arrives in pieces; the block has it as an object."""
    calls = (ToolCall("read_file", {"path": "ä b.md"}, "one"), ToolCall("list_files", id="two"))
    anthropic_standin.reply("I look.", tools=calls)
    told = await listen(claude, request("Read", tools=TOOLS))
    assert events.ToolUseStarted("one", "read_file") in told
    whole = told[-1]
    assert isinstance(whole, events.ReplyCompleted)
    assert whole.stop_reason == "tool_use"
    assert whole.content[1:] == (
        condense.ToolUseBlock("one", "read_file", {"path": "ä b.md"}),
        condense.ToolUseBlock("two", "list_files", {}),
    )


@pytest.mark.parametrize("raw", ['{"path": "RE', "[1]", '"text"', "{oops}"])
async def test_a_malformed_input_is_kept_as_text(
    claude: AnthropicProvider, anthropic_standin: Standin, raw: str
) -> None:
    """The call stays valid for the API, and the tool can say what is wrong with it."""
    anthropic_standin.reply(tools=(ToolCall("read_file", id="x", raw=raw),))
    whole = await reply(claude, request("Read", tools=TOOLS))
    assert whole.content == (condense.ToolUseBlock("x", "read_file", {"_unparsed": raw}),)


def test_unknown_events_blocks_and_deltas_do_no_harm() -> None:
    """Vendors add kinds of events; what is not understood is passed over or kept as it is."""
    reply_ = Reply()
    told = [
        event
        for data in (
            {"type": "message_start", "message": {}},
            {"type": "news", "x": 1},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "new", "a": 1}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta"}},
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "text_delta", "text": "!"},
            },
            {
                "type": "content_block_start",
                "index": 2,
                "content_block": {"type": "text", "text": ""},
            },
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        )
        for event in reply_.take(data)
    ]
    assert events.TextStreamed("!") in told
    assert reply_.content == (
        condense.OpaqueBlock({"type": "new", "a": 1}),
        condense.TextBlock("!"),
    )


def test_citations_are_kept_with_their_text() -> None:
    """They are part of what the API takes back."""
    reply_ = Reply()
    cited = {"type": "citations_delta", "citation": {"cited_text": "x"}}
    for data in (
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}},
        {"type": "content_block_delta", "index": 0, "delta": cited},
    ):
        assert all(isinstance(event, events.TextStreamed) for event in reply_.take(data))
    assert reply_.content == (condense.TextBlock("a", {"citations": [{"cited_text": "x"}]}),)
