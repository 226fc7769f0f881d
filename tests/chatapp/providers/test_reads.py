"""A reply is the same however its events come together in reads."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import condense
from chatapp.agent import events
from chatapp.providers.anthropic.reply import AnthropicReply
from chatapp.providers.openai.reply import OpenAIReply
from chatapp.providers.sdk_provider import StreamedReply

WORDS = st.sampled_from(["a", " b", "", "<think>", "</think>", "\n\n", "c<", "d"])


def of_messages(index: int, kind: str, words: str) -> dict[str, Any]:
    """Return an event of the Messages API."""
    name = {"text_delta": "text", "thinking_delta": "thinking"}.get(kind, "partial_json")
    piece = {"type": kind, name: words}
    return {"type": "content_block_delta", "index": index, "delta": piece}


def of_completions(index: int, kind: str, words: str) -> dict[str, Any]:
    """Return a chunk of a chat completion, which says with some text something else, too."""
    said: dict[str, Any] = {"content": words, "role": "assistant"}
    said |= {"reasoning": words} if kind == "thinking_delta" else {}
    beside = {"usage": {"completion_tokens": 1}} if kind == "input_json_delta" else {"usage": None}
    return {"id": "x", "choices": [{"index": index, "delta": said, "logprobs": None}], **beside}


def block(index: int, kind: str) -> dict[str, Any]:
    """Return the event that begins a block of the Messages API."""
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind}}


KINDS = st.sampled_from(["text_delta", "text_delta", "thinking_delta", "input_json_delta"])
PIECE = st.tuples(st.integers(0, 1), KINDS, WORDS)
BEGINS = st.builds(block, st.integers(0, 1), st.sampled_from(["text", "thinking"]))
MESSAGES = st.lists(st.one_of(PIECE.map(lambda one: of_messages(*one)), BEGINS), max_size=12)
COMPLETIONS = st.lists(PIECE.map(lambda one: of_completions(*one)), max_size=12)


def read(reply: StreamedReply, *reads: list[Any]) -> object:
    """Return what a reply tells and is, if its events come in these reads."""
    told = [event for one in copy.deepcopy(reads) for event in reply.take_all(one)]
    counted = [one for one in told if isinstance(one, events.UsageReported)]
    rest = [one for one in [*told, *reply.end()] if not isinstance(one, events.UsageReported)]
    return [*events.joined(rest)], counted, reply.completed()


@given(MESSAGES)
def test_pieces_of_a_message_come_alone_or_together(said: list[Any]) -> None:
    """What each read brings is taken as one piece of text where nothing else is in it."""
    alone = read(AnthropicReply(), *[[one] for one in said])
    assert read(AnthropicReply(), said) == alone


@given(COMPLETIONS)
def test_chunks_of_a_completion_come_alone_or_together(said: list[Any]) -> None:
    """Nothing that a chunk says beside its text is lost."""
    alone = read(OpenAIReply(), *[[one] for one in said])
    assert read(OpenAIReply(), said) == alone


def test_no_tags_are_looked_for_in_more_than_any_model_writes() -> None:
    """Each is read with all that stands before it: a hostile server would hold up all others."""
    said = "a" * 5_000_000 + "<think>b</think>"
    ended = {"index": 0, "delta": {"content": said}, "finish_reason": "stop"}
    reply = OpenAIReply()
    told = [*reply.take({"choices": [ended]}), *reply.end()]
    assert "".join([one.text for one in told if isinstance(one, events.TextStreamed)]) == said
    assert reply.completed().content == (condense.TextBlock(said),)
