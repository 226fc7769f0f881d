"""A rule that was pinned in mid-conversation is a system message where the model takes one."""

from typing import Any

import pytest

import condense
from chatapp.agent.annotated_blocks import as_claimed, quote_block, rule_block
from chatapp.agent.ports import ModelRequest
from chatapp.providers.formats import MessagesFormat
from tests.chatapp.providers.doors import claude_of
from tests.chatapp.providers.requests import assistant, call, reply, request, result, user
from tests.standin.behaviours import Failure
from tests.standin.rules import blocks_of
from tests.standin.server import Standin
from tests.standin.thinking import unmarked

RULE = rule_block("Never use port 80.")
BEFORE = (user("Which port?"), assistant("8080."))


def asked(*messages: condense.Message) -> ModelRequest:
    """Return a request as the loop makes it."""
    return request(*condense.shape_request(messages))


async def told(standin: Standin, model: str, *messages: condense.Message) -> list[tuple[str, str]]:
    """Return role and text of each message that is sent."""
    await reply(claude_of(standin, model), asked(*messages))
    return said_in(standin.requests[-1].body)


def said_in(body: Any) -> list[tuple[str, str]]:
    """Return role and text of each message of a request."""
    return [
        (one["role"], "|".join(str(block.get("text")) for block in blocks_of(one)))
        for one in body["messages"]
    ]


async def test_a_rule_follows_the_next_message_and_changes_nothing_before_it(
    standin: Standin,
) -> None:
    """Nor does it move when the talk goes on."""
    model, later = "claude-opus-5-5", (assistant("Why not."), user("Go on."))
    first = await told(standin, model, *BEFORE, user(RULE), user("Why?"))
    assert first == [
        ("user", "Which port?"),
        ("assistant", "8080."),
        ("user", "Why?"),
        ("system", RULE.text),
    ]
    second = await told(standin, model, *BEFORE, user(RULE), user("Why?"), *later)
    assert second[:4] == first
    bodies = [unmarked(one.body) for one in standin.requests]
    assert bodies[1]["messages"][:4] == bodies[0]["messages"]
    assert bodies[1]["system"] == bodies[0]["system"]


async def test_other_models_read_it_with_the_message(standin: Standin) -> None:
    """So does one that nothing follows; what is quoted, or a file says, has no authority."""
    quote = quote_block("8080", "assistant", 2)
    old, new = "claude-haiku-4-5", "claude-opus-5-5"
    sent = await told(standin, old, *BEFORE, user(RULE), user("Why?"))
    assert sent[2:] == [("user", f"{RULE.text}|Why?")]
    sent = await told(standin, new, *BEFORE, user(RULE))
    assert sent[2:] == [("user", RULE.text)]
    sent = await told(standin, new, *BEFORE, user(quote), user("Why?"))
    assert sent[2:] == [("user", f"{quote.text}|Why?")]
    (claimed,) = as_claimed((RULE,))
    said = await told(standin, "claude-opus-5-5", *BEFORE, user(claimed), user("Why?"))
    assert [role for role, _text in said] == ["user", "assistant", "user"]
    assert "Never use port 80." in said[-1][1]


async def test_it_follows_results_and_not_calls(standin: Standin) -> None:
    """The API refuses one between them; the inspector reads it as something that was told."""
    history = (user("Look"), assistant(call("look")), user(result("Seen.")), user(RULE))
    sent = await told(standin, "claude-opus-5-5", *history)
    assert [role for role, _ in sent] == ["user", "assistant", "user", "system"]
    said = {"role": "system", "content": [{"type": "text", "text": RULE.text}]}
    assert MessagesFormat().message(said).role == "user"


@pytest.mark.parametrize(
    "words",
    [
        "messages.3: role 'system' is not supported on this model",
        "messages[3].role: unknown variant `system`, expected `user` or `assistant`",
        "messages.3.role: Input should be 'user' or 'assistant'",
    ],
)
async def test_a_server_that_refuses_it_is_asked_again_without(
    standin: Standin, words: str
) -> None:
    """Gateways speak the API of last year; the next request, and turn, leaves it out at once."""
    standin.then(Failure(400, "invalid_request_error", words))
    provider = claude_of(standin)
    later = claude_of(standin)
    for one in (provider, provider, later):
        later.refused |= provider.refused
        await reply(one, asked(*BEFORE, user(RULE), user("Why?")))
    refused, *taken = (said_in(one.body) for one in standin.requests)
    assert refused[-1] == ("system", RULE.text)
    assert [one[-1] for one in taken] == [("user", f"{RULE.text}|Why?")] * 3
    # Another model is another matter.
    again = await told(standin, "claude-opus-5", *BEFORE, user(RULE), user("Why?"))
    assert again[-1] == ("system", RULE.text)
