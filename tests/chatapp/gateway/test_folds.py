"""Folds: summaries in requests of programs that have grown long, and their undo."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client as Browser

from chatapp.condensation import undo
from chatapp.gateway import naming
from chatapp.models import Condensation, Preferences, Turn
from tests.chatapp.gateway.agents import AGENTS, Agent, Claude, Codex, start, talk_of
from tests.standin.behaviours import OVERLOADED, Reply, ToolCall
from tests.standin.server import Standin

HEADING = "Conversation Summary"


def changes(requests: Sequence[Sequence[Any]]) -> list[int]:
    """Return the numbers of requests that do not begin as the one before."""
    pairs = enumerate(pairwise(requests), 1)
    return [number for number, (one, other) in pairs if other[: len(one)] != one]


def plain(items: Sequence[Any]) -> list[Any]:
    """Return items without thinking."""
    made = json.loads(json.dumps(items))
    for one in made:
        if isinstance(one.get("content"), list):
            one["content"] = [part for part in one["content"] if part.get("type") != "thinking"]
    return list(made)


def thoughts(items: Sequence[Any]) -> list[str]:
    """Return the thinking in items."""
    parts = [part for one in items for part in one["content"]]
    return [part["thinking"] for part in parts if part["type"] == "thinking"]


async def press(browser: Browser, agent: Agent, button: str) -> None:
    """Undo or redo the fold of an agent, as the page offers it."""
    talk, made = await talk_of(agent), await Condensation.objects.aget()
    address = f"/c/{talk.pk}/condensations/{made.pk}/{button}/"

    def do() -> None:
        assert address in browser.get(f"/c/{talk.pk}/").content.decode()
        assert browser.post(address).status_code < 400

    await sync_to_async(do)()


async def rows(agent: Agent) -> list[str]:
    """Return what the rows of an agent's conversation say."""
    talk = await talk_of(agent)
    return [one.error async for one in Turn.objects.filter(conversation=talk)]


@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.parametrize("seed", [1, *[pytest.param(n, marks=pytest.mark.soak) for n in range(20)]])
async def test_only_a_fold_changes_the_beginning_of_requests(
    standin: Standin, alice: User, kind: type[Agent], seed: int
) -> None:
    """It changes once for each; its provider, which binds thinking to it, refuses none."""
    agent = await start(kind, standin, alice, seed=seed)
    for _number in range(2):
        await agent.grow()
        await agent.turn()
        assert HEADING in str(agent.requests[-1])
    made = [one async for one in Condensation.objects.filter(status="succeeded")]
    assert len(made) - len(changes(agent.requests)) in {0, 1}
    assert all(one.tokens_after < one.tokens_before and one.total_cost for one in made)
    assert {one.trigger for one in made} == {"auto"}


@pytest.mark.parametrize("kind", AGENTS)
async def test_an_undone_fold_is_out_of_the_next_request_and_redone_the_same_again(
    standin: Standin, alice: User, kind: type[Agent], browser: Browser
) -> None:
    """Nothing else is folded meanwhile. The page offers both."""
    agent = await start(kind, standin, alice)
    await agent.grow()
    await agent.say("Short.", Reply("Yes.", thinking="Behind the fold."))
    before = agent.requests[-1]
    await press(browser, agent, "undo")
    await agent.say("Now all.", Reply("All.", thinking="With all."))
    undone = agent.requests[-1]
    assert plain(undone) == plain(agent.read(agent.history[: len(undone)]))
    await press(browser, agent, "redo")
    await agent.say("Short again.", Reply("Yes again."))
    assert agent.requests[-1][: len(before)] == before
    assert await Condensation.objects.acount() == 1
    if kind is Claude:
        assert "Behind the fold." not in thoughts(undone)
        assert thoughts(undone) == thoughts(agent.history[: len(undone)])[:-1]
        assert "Behind the fold." in thoughts(agent.requests[-1])
        assert "With all." not in thoughts(agent.requests[-1])
