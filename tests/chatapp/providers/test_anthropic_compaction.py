"""The vendor's own compaction: asked for, sent again unchanged, or as text."""

from dataclasses import replace

import pytest
from anthropic.types.beta import (
    BetaCompactionBlockParam,
    BetaCompactionConfigParam,
    BetaCompactionContentBlockDelta,
)

import condense
from chatapp.agent.errors import ProviderError
from chatapp.agent.model_call import ProviderSummarizer
from chatapp.providers.anthropic.blocks import COMPACTION
from chatapp.providers.anthropic.provider import AnthropicProvider
from chatapp.providers.anthropic.request import COMPACTION_BETA
from chatapp.providers.openai.provider import OpenAIProvider
from tests.chatapp.agent.fakes import ListJournal, RecordingAudience
from tests.chatapp.providers.doors import claude_of
from tests.chatapp.providers.requests import TOOLS, assistant, reply, request, user
from tests.standin.behaviours import Failure
from tests.standin.server import Standin

HISTORY = (user("Bake bread"), assistant("With rye?"), user("Yes"), assistant("Done."))
ASKED = condense.SummaryRequest(
    "You are kind.",
    HISTORY,
    tools=tuple(spec.to_api() for spec in TOOLS),
    aligned=True,
    compaction="Say what was baked.",
)


def able(standin: Standin, model: str = "claude-opus-5-5") -> AnthropicProvider:
    """Return a provider whose model compacts."""
    return claude_of(standin, model, compacts=True)


async def compact(standin: Standin) -> condense.OpaqueBlock:
    """Return what the vendor makes of the history, asked for by a parameter and a header.

    System prompt and tools are the conversation's, and so are all messages.
    """
    standin.reply("They baked rye bread.")
    summarizer = ProviderSummarizer(able(standin), ListJournal(), RecordingAudience())
    assert summarizer.compacts
    chunks = [chunk async for chunk in summarizer.stream(ASKED)]
    text = "".join(chunk.text for chunk in chunks if isinstance(chunk, condense.TextChunk))
    assert text == "They baked rye bread."
    (asked,) = standin.requests
    told = {"type": "summarize", "instructions": "Say what was baked."}
    assert asked.body["compaction"] == told
    assert COMPACTION_BETA in asked.headers["anthropic-beta"]
    assert (len(asked.body["tools"]), len(asked.body["messages"])) == (len(TOOLS), len(HISTORY))
    assert not standin.problems
    (block,) = [chunk.block for chunk in chunks if isinstance(chunk, condense.CompactionChunk)]
    return condense.OpaqueBlock(block)


def sent(standin: Standin) -> list[tuple[str, str]]:
    """Return role and kind of each block of the last request."""
    messages = standin.requests[-1].body["messages"]
    return [(one["role"], block["type"]) for one in messages for block in one["content"]]


async def test_it_is_sent_first_and_unchanged(standin: Standin) -> None:
    """In a reply of its own, as it came; what stands beside it follows as the user's."""
    block = await compact(standin)
    provider = able(standin)
    asked = request(user(block, "The ledger."), assistant("I see."), "Go on", tools=TOOLS)
    await reply(provider, asked)
    assert not standin.problems
    assert sent(standin)[:2] == [("assistant", "compaction"), ("user", "text")]
    given = standin.requests[-1].body["messages"][0]["content"][0]
    assert given == {key: value for key, value in block.data.items() if key != "model"}
    assert COMPACTION_BETA in standin.requests[-1].headers["anthropic-beta"]
    assert await provider.count_tokens(asked)
    assert not standin.counts[-1].problems


@pytest.mark.parametrize("changed", ["words", "tools", "system"])
async def test_where_it_is_refused_its_text_is_sent(standin: Standin, changed: str) -> None:
    """It was signed for its words, and the stand-in has it bound to what stood before it."""
    block = await compact(standin)
    if changed == "words":
        block = condense.OpaqueBlock({**block.data, "content": "They baked cake."})
    tools = TOOLS[1:] if changed == "tools" else TOOLS
    system = "You are strict." if changed == "system" else "You are kind."
    await reply(able(standin), request(user(block, "Go on"), tools=tools, system=system))
    *_, refused, taken = standin.requests
    assert "compaction" in refused.problems[0]
    assert not taken.problems
    assert block.data["content"] in str(taken.body["messages"])
    assert "signature" not in str(taken.body["messages"])


async def test_a_refusal_is_remembered_for_what_it_was_bound_to(standin: Standin) -> None:
    """Its text goes at once from then on; with the tools it was signed for, the block does."""
    block = await compact(standin)
    provider, said = able(standin), user(block, "Go on")
    for _ in range(3):
        await reply(provider, request(said, tools=TOOLS[1:]))
    assert await provider.count_tokens(request(said, tools=TOOLS[1:]))
    assert [bool(one.problems) for one in standin.requests] == [0, 1, 0, 0, 0]
    assert not standin.counts[-1].problems
    await reply(provider, request(said, tools=TOOLS))
    assert not standin.requests[-1].problems
    assert sent(standin)[0] == ("assistant", "compaction")


async def test_another_model_or_vendor_is_sent_its_text_at_once(
    standin: Standin, gpt: OpenAIProvider
) -> None:
    """No call is refused for it; another vendor is sent it too, and nothing of its signature."""
    block = await compact(standin)
    other = able(standin, "claude-sonnet-5-5")
    await reply(other, request(user(block, "Go on"), tools=TOOLS))
    assert not standin.problems
    assert sent(standin) == [("user", "text"), ("user", "text")]
    assert "They baked rye bread." in str(standin.requests[-1].body["messages"])
    await reply(gpt, request(user(block, "Go on"), tools=TOOLS))
    said = str(standin.requests[-1].body["messages"])
    assert "They baked rye bread." in said
    assert str(block.data["signature"]) not in said


async def test_a_refusal_to_compact_is_told(standin: Standin) -> None:
    """There is nothing the request could do without, so it is made once."""
    refusal = "compaction: Extra inputs are not permitted"
    standin.then(Failure(400, "invalid_request_error", refusal))
    with pytest.raises(ProviderError, match="compaction"):
        await reply(able(standin), replace(request("Hello"), compaction="Say it."))
    assert len(standin.requests) == 1


def test_its_names_are_those_of_the_sdk() -> None:
    """A newer SDK with other fields is noticed here."""
    assert {*COMPACTION, "cache_control"} == {*BetaCompactionBlockParam.__annotations__}
    assert BetaCompactionConfigParam.__annotations__.keys() == {"type", "instructions"}
    delta = {"content", "encrypted_content", "type"}
    assert BetaCompactionContentBlockDelta.model_fields.keys() == delta
