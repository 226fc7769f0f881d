"""What is kept of a call besides its reply: the bytes that were sent, and what was said of them."""

from dataclasses import replace
from typing import Any

import condense
from chatapp.agent.ports import Model, ModelRequest
from chatapp.providers.anthropic.provider import AnthropicProvider
from chatapp.providers.anthropic.reply import AnthropicReply as Accumulated
from chatapp.providers.anthropic.request import AnthropicRequestWriter
from tests.chatapp.providers.requests import TOOLS, assistant, record, reply, request, user
from tests.standin.behaviours import Failure
from tests.standin.server import Standin

MODEL = Model("claude-opus-5-5", 200_000, 1_000)


def test_a_message_that_comes_twice_is_sent_twice() -> None:
    """Two rows may be one value in memory; they are known by their numbers."""
    same = user("Again")
    written = AnthropicRequestWriter(MODEL).write(
        request(same, assistant("Yes"), same, assistant("No"))
    )
    assert len(written.fragments) == 4
    stored = replace(user("Hi"), seq=7)
    written = AnthropicRequestWriter(MODEL).write(
        ModelRequest("", (stored, condense.Message("user", "!")))
    )
    assert written.seqs == (7, 0)


async def test_a_refused_request_has_a_name_too(
    claude: AnthropicProvider, standin: Standin
) -> None:
    """That is when support asks for it."""
    standin.then(Failure(500, "api_error", "Internal"))
    _, facts = await record(claude, request("Hi"))
    assert facts["request_id"].startswith("req_")


async def test_why_the_cache_was_of_no_use_is_kept(claude: AnthropicProvider) -> None:
    """The next call names the reply before it, and is told what changed since."""
    for change, reason in (
        ({}, None),
        ({"system": "You are terse."}, "system_changed"),
        ({"tools": TOOLS}, "tools_changed"),
        ({"messages": (user("Other"), assistant("Yes."), user("And?"))}, "messages_changed"),
        ({"previous_reply": "msg_unknown"}, "previous_message_not_found"),
    ):
        _, first = await record(claude, request("Hi"))
        asked = request("Hi", assistant("Yes."), "And?")
        asked = replace(asked, previous_reply=first["reply_id"])
        _, facts = await record(claude, replace(asked, **change))
        assert facts.get("cache_miss") == reason
        assert ("missed_tokens" in facts) is (reason is not None and "changed" in reason)


async def test_dropped_thinking_is_kept_on_record(
    claude: AnthropicProvider, standin: Standin
) -> None:
    """The vendor says which block it left out, and why."""
    standin.reply("Let me see.", thinking="Hm.")
    said = await reply(claude, request("A long story."))
    changed = request("Its summary.", assistant(*said.content), "Go on")
    _, facts = await record(claude, changed)
    assert facts["transformations"] == (
        {
            "type": "thinking_dropped",
            "path": "messages.1.content.0",
            "reason": "prefix_binding_mismatch",
        },
    )


async def test_a_server_that_knows_no_diagnostics_is_not_asked_again(
    claude: AnthropicProvider, standin: Standin
) -> None:
    """The call is made without, and so are the next ones."""
    words = "diagnostics: Extra inputs are not permitted"
    standin.then(Failure(400, "invalid_request_error", words))
    await reply(claude, request("Hi"))
    await reply(claude, request("Hi"))
    asked = ["diagnostics" in one.body for one in standin.requests]
    assert asked == [True, False, False]


HOSTILE: list[dict[str, Any]] = [
    {"id": 7, "diagnostics": "none", "input_transformations": "all"},
    {
        "diagnostics": {"cache_miss_reason": ["x"]},
        "input_transformations": [5, "x", {"a": "b" * 2_000}],
    },
    {"diagnostics": {"cache_miss_reason": {"type": 5}}},
    {"id": "m" * 10_000, "diagnostics": {"cache_miss_reason": {"type": "t" * 10_000}}},
    {"diagnostics": {"cache_miss_reason": {"type": "x", "cache_missed_input_tokens": -1}}},
    {"diagnostics": {"cache_miss_reason": {"type": "x", "cache_missed_input_tokens": 2**40}}},
    {"input_transformations": [{"type": "x"}] * 10_000},
]


def test_what_is_not_as_documented_is_no_fact() -> None:
    """Of whatever a server says, only what has its shape and size is kept."""
    for message in HOSTILE:
        accumulated = Accumulated()
        told = [*accumulated.take({"type": "message_start", "message": message})]
        assert accumulated.started
        facts: dict[str, Any] = {}
        for one in told:
            facts |= one.facts
        assert "missed_tokens" not in facts
        assert len(facts.get("transformations", ())) <= 100
        assert all(len(facts.get(name, "")) <= 100 for name in ("reply_id", "cache_miss"))
        assert all(
            isinstance(one, dict) and len(str(one)) < 1_100
            for one in facts.get("transformations", ())
        )
