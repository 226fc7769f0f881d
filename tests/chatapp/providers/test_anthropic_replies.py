import pytest

import condense
from chatapp.agent import events
from chatapp.providers.anthropic.provider import AnthropicProvider
from chatapp.providers.anthropic.reply import AnthropicReply
from tests.chatapp.providers.requests import listen, request, text_of
from tests.standin.behaviours import Raw
from tests.standin.server import Standin


def test_unknown_events_blocks_and_deltas_do_no_harm() -> None:
    """What is not understood is passed over or kept as it is; citations stay with their text."""
    reply_ = AnthropicReply()
    told = [
        event
        for data in (
            {"type": "message_start", "message": {}},
            {"type": "news", "x": 1},
            block("new", 0, a=1),
            delta("new_delta"),
            delta("text_delta", 1, text="!"),
            block("text", 2, text=""),
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        )
        for event in reply_.take(data)
    ]
    assert events.TextStreamed("!") in told
    assert reply_.completed().content == (
        condense.OpaqueBlock({"type": "new", "a": 1}),
        condense.TextBlock("!"),
    )
    assert [*AnthropicReply().take(block("redacted_thinking", data="x"))] == [
        events.ThinkingStarted()
    ]
    reply_ = AnthropicReply()
    assert [*reply_.take(block("text", 0, text="a"))] == [events.TextStreamed("a")]
    assert [*reply_.take(delta("citations_delta", citation={"cited_text": "x"}))] == []
    assert reply_.completed().content == (
        condense.TextBlock("a", {"citations": [{"cited_text": "x"}]}),
    )


def block(kind: object, index: object = 5, **more: object) -> dict[str, object]:
    """Return the event that begins a block."""
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **more}}


def delta(kind: str, index: object = 0, **more: object) -> dict[str, object]:
    """Return the event that adds to a block."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


HOSTILE: list[object] = [
    *([], None, "text", 5, {}, {"type": None}, {"type": ["content_block_delta"]}),
    {"type": "message_start", "message": {"usage": {"input_tokens": 0}}},
    {"type": "message_start"},
    {"type": "content_block_start"},
    {"type": "content_block_start", "index": 5, "content_block": {}},
    *(block(7), block("tool_use", id=1), block("text", 0, text=""), block("text", [], text="x")),
    *({"type": "content_block_delta"}, {"type": "content_block_delta", "index": 0, "delta": []}),
    *(delta("text_delta", None, text="x"), delta("text_delta", text=5), delta("thinking_delta")),
    *(delta("thinking_delta", thinking=""), delta("signature_delta", 9), delta("citations_delta")),
    delta("input_json_delta", partial_json="{}"),
    {"type": "content_block_stop"},
    {"type": "message_delta", "delta": []},
    {"type": "message_delta", "delta": {"stop_reason": 5, "stop_details": []}},
    {"type": "message_delta", "usage": []},
    {"type": "message_delta", "usage": {"output_tokens": -1, "input_tokens": [7]}},
    {"type": "message_delta", "usage": {"output_tokens": 10**30, "input_tokens": "7"}},
    {"type": "message_delta", "usage": {"output_tokens": True, "input_tokens": 1.5}},
    {"type": "message_delta", "usage": {"iterations": [{"type": ["message"]}]}},
    *(block("text", 6, text="", citations=5), delta("citations_delta", 6, citation={})),
]


def test_zeros_at_the_end_do_not_replace_the_prompt_of_the_start() -> None:
    """Some servers count the prompt at the start alone."""
    reply_ = AnthropicReply()
    start = {"input_tokens": 70, "cache_read_input_tokens": 30, "output_tokens": 1}
    end = dict.fromkeys(start, 0) | {"output_tokens": 9}
    for told in (
        {"type": "message_start", "message": {"usage": start}},
        {"type": "message_delta", "usage": end},
    ):
        assert [*reply_.take(told)]
    assert reply_.usage == condense.Usage(input=70, cache_read=30, output=9)


async def test_an_event_that_is_not_as_documented_is_passed_over(
    claude: AnthropicProvider, standin: Standin
) -> None:
    """What was said stays, what comes after it too, and usage is what was plausible of it."""
    odd = tuple(map(Raw.event, HOSTILE))
    standin.reply("One two three four five six.", extra=odd)
    told = await listen(claude, request("Count"))
    whole = told[-1]
    shown = "".join([one.text for one in told if isinstance(one, events.TextStreamed)])
    assert text_of(whole.content) == shown == "One two three four five six."
    assert whole.stop_reason == "end_turn"
    assert 0 < whole.usage.input < 1_000
    assert 0 < whole.usage.output < 1_000


def test_what_was_passed_over_is_logged_once_without_what_it_says(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A note for the operator, not a copy of the conversation."""
    reply_ = AnthropicReply()
    for _ in range(3):
        assert not [*reply_.take({"type": "SECRET", "text": "SECRET"})]
        assert not [*reply_.take({"type": "content_block_delta", "delta": "SECRET"})]
    assert len(caplog.records) == 2
    assert "SECRET" not in caplog.text
    assert "content_block_delta, not as documented" in caplog.text
