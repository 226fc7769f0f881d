"""Refusals, in the words of many servers: each is about one thing, or about nothing."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import condense
from chatapp.agent.events import ReplyCompleted
from chatapp.agent.ports import Model
from chatapp.providers.anthropic.request import AnthropicRequestWriter as MessagesWriter
from chatapp.providers.openai.request import OpenAIRequestWriter as ChatWriter
from chatapp.providers.reasoning import as_fields, stamped
from chatapp.providers.refusals import origin_of, shown, table

# All that a request may have; what it has not, it was not refused for.
HAD = {"max_output": 128_000, "images": 30, "most_images": 30, "most_tools": 200}
HAD |= {"temperature": 1, "effort": 1}

# By door: what is said, and what is learnt of it.
SAID = json.loads((Path(__file__).parent / "refusals.json").read_text("utf-8"))
WRITERS = {"chat": ChatWriter, "messages": MessagesWriter}
CASES = [(WRITERS[door], *one) for door, found in SAID.items() for one in found]

OTHERS = [
    "Incorrect API key provided",
    "Your credit balance is too low",
    "The response was filtered due to the prompt triggering a content management policy.",
    "seed: Too small.",
    "model m not found",
]


@pytest.mark.parametrize(("writer", "said", "trait", "value"), CASES, ids=[one[1] for one in CASES])
def test_a_refusal_is_about_one_thing(writer: Any, said: str, trait: str, value: Any) -> None:
    """It is left out of the next request, and refused for it again it is given up on."""
    learning = writer(Model("m", 200_000, 128_000))
    if trait in {"late_system", "completion_limit"}:
        learning.use(replace(learning.traits, **{trait: not value}))
    learning.had = {**HAD}
    tried: set[str] = set()
    assert learning.adapt(said, tried)
    assert {trait: getattr(learning.traits, trait)} == {trait: value}
    once = any(
        rule.get("once") and rule["trait"] == trait for rule in table("refusals.toml")["rule"]
    )
    assert once or learning.refused == {trait: value}
    assert once or shown(learning.refused)


@pytest.mark.parametrize("said", OTHERS)
def test_a_refusal_of_something_else_changes_nothing(said: str) -> None:
    """A request without it would be refused as well."""
    for writer in (ChatWriter(Model("m", 9, 9)), MessagesWriter(Model("m", 9, 9))):
        writer.had = {**HAD}
        assert not writer.adapt(said, set())


def test_rules_end_and_ask_for_nothing_that_a_request_has_not() -> None:
    """However often a server says the same, and whatever it refuses of an empty request."""
    writer = ChatWriter(Model("m", 200_000, 128_000))
    writer.had, tried = {**HAD}, set()
    turns = 0
    while writer.adapt("max_tokens is too large. roles must alternate. temperature", tried):
        turns += 1
    assert 2 < turns < 20
    bare = ChatWriter(Model("m", 9, 9))
    bare.had = dict.fromkeys(HAD, 0)
    assert not bare.adapt("temperature: too many images", set())


def test_details_go_back_once_whatever_stands_between_thoughts() -> None:
    """Also where none of them can be read; a slash at the end is the same address."""
    details, origin = [{"type": "reasoning.encrypted", "data": "x"}], origin_of("p", "u/", "m")
    assert origin == origin_of("p", "u", "m")
    thought = condense.OpaqueBlock({"type": "thinking", "thinking": "Hm."})
    for content in ((thought, condense.TextBlock("So."), thought), (condense.TextBlock("So."),)):
        whole = stamped(ReplyCompleted(content, "stop", condense.Usage(), details), origin, "m")
        assert condense.is_thinking(whole.content[0])
        said = condense.Message("assistant", whole.content)
        assert as_fields(said, origin, "") == {"reasoning_details": details}
