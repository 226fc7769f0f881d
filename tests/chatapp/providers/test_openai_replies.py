"""What servers of chat completions say beside their words: usage, and signatures of calls."""

from decimal import Decimal
from typing import Any

import condense
from chatapp.agent import events
from chatapp.providers import request_bytes
from chatapp.providers.openai.reply import OpenAIReply

ENDED = {"delta": {"content": "Hi"}, "finish_reason": "stop"}


def heard(*chunks: Any) -> tuple[list[events.StreamEvent], events.ReplyCompleted]:
    """Return what a stream of these chunks tells, and the whole reply."""
    said = OpenAIReply()
    told = [event for chunk in chunks for event in said.take(chunk)]
    return [*told, *said.end()], said.completed()


def test_what_a_server_signs_a_call_with_goes_back_to_it() -> None:
    """It is kept beside the call, of which pages hear at the end if not before."""
    signed = {"google": {"thought_signature": "abc"}}
    call = {"index": 0, "id": "a", "extra_content": signed, "function": {"name": "x"}}
    told, whole = heard({"choices": [{"delta": {"tool_calls": [call]}}]})
    assert events.ToolUseStarted("a", "x") in told
    assert whole.content[0] == condense.ToolUseBlock("a", "x", {}, {"extra_content": signed})


TOKENS = {"prompt_tokens": 9, "completion_tokens": 2}
CACHED = {"cached_tokens": 5, "cache_write_tokens": 3}
UPSTREAM = {"upstream_inference_cost": 2}


def charged(usd: str) -> condense.Usage:
    """Return the usage of a call for which so much was charged."""
    return condense.Usage(9, 2, charged=Decimal(usd))


USAGES: list[tuple[dict[str, Any], condense.Usage]] = [
    ({"usage": TOKENS}, condense.Usage(9, 2)),
    ({"usage": {**TOKENS, "prompt_tokens_details": CACHED}}, condense.Usage(1, 2, 5, 3)),
    ({"x_groq": {"usage": TOKENS}}, condense.Usage(9, 2)),
    ({"choices": [{"usage": TOKENS}]}, condense.Usage(9, 2)),
    ({"usage": {"input_tokens": 9, "output_tokens": 2}}, condense.Usage(9, 2)),
    # Thoughts are in the total alone.
    ({"usage": {**TOKENS, "total_tokens": 20}}, condense.Usage(9, 11)),
    ({"usage": {**TOKENS, "total_tokens": 5}}, condense.Usage(9, 2)),
    # Without the prompt nobody knows which part of it is output.
    ({"usage": {"total_tokens": 20}}, condense.Usage()),
    # As Anthropic counts, tokens of the cache stand beside those of the prompt.
    ({"usage": {**TOKENS, "total_tokens": 61, "cached_tokens": 50}}, condense.Usage(9, 2, 50)),
    (
        {"usage": {**TOKENS, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 30}},
        condense.Usage(9, 2, 5, 30),
    ),
    ({"usage": {**TOKENS, "cached_tokens": 5}}, condense.Usage(4, 2, 5)),
    ({"usage": {**TOKENS, "prompt_cache_hit_tokens": 5}}, condense.Usage(4, 2, 5)),
    (
        {"usage": {**TOKENS, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3}},
        condense.Usage(1, 2, 5, 3),
    ),
    ({"usage": {"prompt_tokens": -1, "completion_tokens": True}}, condense.Usage()),
    ({"usage": {"prompt_tokens": 2**40, "completion_tokens": "many"}}, condense.Usage()),
    ({"usage": {"prompt_tokens": "9", "completion_tokens": 2.0}}, condense.Usage(9, 2)),
    ({"usage": {"prompt_tokens": 0.5, "completion_tokens": "1e9"}}, condense.Usage()),
    ({"usage": {**TOKENS, "cost": 0.0125}}, charged("0.0125")),
    ({"usage": {**TOKENS, "cost": 9, "cost_in_usd_ticks": 37_756_000}}, charged("0.0037756")),
    ({"usage": {**TOKENS, "cost": {"total_cost": "0.006", "request_cost": 1}}}, charged("0.006")),
    ({"usage": {**TOKENS, "estimated_cost": 2.5e-06}}, charged("0.0000025")),
    # Of a user's own key at the vendor behind it, the server says what that charges beside its fee.
    ({"usage": {**TOKENS, "cost": 0.1, "cost_details": UPSTREAM}}, charged("0.1")),
    ({"usage": {**TOKENS, "cost": 0.1, "cost_details": UPSTREAM, "is_byok": True}}, charged("2.1")),
    # What can't be is not told, and neither is nothing: a server that doesn't know may say so.
    *(
        ({"usage": {**TOKENS, "cost": odd}}, condense.Usage(9, 2))
        for odd in (0, -1, True, "free", 1e300, "NaN", "1" * 40, [1], {"total_cost": None})
    ),
    ({"usage": "much"}, condense.Usage()),
    ({"usage": None}, condense.Usage()),
]


def test_the_usage_is_read_where_it_is_and_as_far_as_it_can_be_true() -> None:
    """With the last piece, after it, in a field of the vendor's own, or not at all."""
    for given_, expected in USAGES:
        told, whole = heard({"choices": [ENDED]}, {"choices": [], **given_}, request_bytes.DONE)
        assert whole.usage == expected
        reports = [one for one in told if isinstance(one, events.UsageReported)]
        assert len(reports) == (expected != condense.Usage())


def test_the_prompt_is_known_where_it_is_reported_apart_from_the_output() -> None:
    """At the beginning, as servers do that translate from another API."""
    first = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 0}}
    last = {"choices": [ENDED], "usage": {"prompt_tokens": 0, "completion_tokens": 2}}
    assert heard(first, last, request_bytes.DONE)[1].usage == condense.Usage(9, 2)
