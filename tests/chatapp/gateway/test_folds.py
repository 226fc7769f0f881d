"""Folds: summaries in requests of programs that have grown long, and their undo."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client as Browser

from chatapp.models import Condensation, Conversation, Message, ModelCall, Turn
from chatapp.operations import background_jobs
from chatapp.turns.crash_recovery import close_left
from tests.chatapp.gateway.agents import (
    AGENTS,
    HEADING,
    WINDOW,
    Agent,
    Claude,
    Codex,
    page_of,
    press,
    start,
    talk_of,
)
from tests.chatapp.gateway.programs import said_in
from tests.standin.auto import summarise
from tests.standin.behaviours import UNAUTHORIZED, Gate, Reply, ToolCall
from tests.standin.server import Standin


def changes(requests: Sequence[Sequence[Any]]) -> list[int]:
    """Return the numbers of requests that do not begin as the one before."""
    pairs = enumerate(pairwise(requests), 1)
    return [number for number, (one, other) in pairs if other[: len(one)] != one]


def summary_in(items: Sequence[Any]) -> str:
    """Return the summary that begins some items, "" without any."""
    parts = [part for one in items[:3] for part in one.get("content", ())]
    return next((one["text"] for one in parts if HEADING in one.get("text", "")), "")


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


@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.parametrize("seed", [1, *[pytest.param(n, marks=pytest.mark.soak) for n in range(20)]])
async def test_only_a_fold_changes_the_beginning_of_requests(
    standin: Standin, alice: User, kind: type[Agent], seed: int
) -> None:
    """It changes once for each; its provider, which binds thinking to it, refuses none."""
    agent = await start(kind, standin, alice, seed=seed, retries=4)
    for _number in range(2):
        await agent.grow()
        await agent.turn()
        assert HEADING in str(agent.requests[-1])
    made = [one async for one in Condensation.objects.filter(status="succeeded")]
    assert 1 <= len(changes(agent.requests)) <= len(made)
    for number in changes(agent.requests):
        assert len({summary_in(agent.requests[one]) for one in (number - 1, number)}) == 2
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
    await agent.say(agent.words(), Reply("All.", thinking="With all."))
    await agent.say(agent.words(), Reply("All.", thinking="With all."))
    undone = agent.requests[-1]
    assert plain(undone) == plain(agent.read(agent.history[: len(undone)]))
    await press(browser, agent, "redo")
    await agent.say("Short again.", Reply("Yes again."))
    assert agent.requests[-1][: len(before)] == before
    assert await Condensation.objects.acount() == 1
    if kind is Claude:
        assert "Behind the fold." not in thoughts(undone)
        assert thoughts(undone) == [
            one
            for one in thoughts(agent.read(agent.history[: len(undone)]))
            if one != "Behind the fold."
        ]
        assert "Behind the fold." in thoughts(agent.requests[-1])
        assert "With all." not in thoughts(agent.requests[-1])


@pytest.mark.parametrize("kind", AGENTS)
async def test_the_clients_own_compaction_goes_out_unfolded_and_begins_anew(
    standin: Standin, alice: User, kind: type[Agent]
) -> None:
    """Behind its own summary nothing of ours is left but what is recalled."""
    agent = await start(kind, standin, alice)
    await agent.grow()
    await agent.say("Short.", Reply("Yes.", thinking="Behind the fold."))
    whole = agent.history
    agent.history = [*whole, *agent.user("Your task is to create a detailed summary of the talk.")]
    await agent.go_on(Reply("All of it."))
    asked = agent.requests[-1]
    assert plain(asked) == plain(agent.read(agent.history[: len(asked)]))
    agent.history = []
    await agent.say("This session is being continued: all of it.", Reply("Go on."))
    assert HEADING not in str(agent.requests[-1])
    assert "The client replaced" in await page_of(agent, alice)
    # Rules, words and answer: the rules before are gone, too.
    assert len(await sync_to_async(said_in)(await talk_of(agent))) <= 3


async def test_words_that_a_program_keeps_before_its_summary_are_no_version(
    standin: Standin, alice: User
) -> None:
    """Each summary replaces the one before. A whole that is too long for the model goes folded."""
    agent = await start(Codex, standin, alice)
    agent.history = agent.user("The task.")
    kept = [*agent.history]
    for said, length in (("First summary.", 0), ("Second summary.", 11)):
        await agent.go_on(Reply("Right."))
        for _number in range(length):
            await agent.say(agent.words(1_000), Reply("Noted."))
        agent.history += agent.user("Your task is to create a detailed summary of the talk.")
        await agent.go_on(Reply(said))
        assert (HEADING in str(agent.requests[-1])) == (length > 0)
        agent.history = [*kept, *agent.user(f"A model began this. {said}")]
    await agent.go_on(Reply("Right."))
    talk = await talk_of(agent)
    causes = [one async for one in talk.rewinds.values_list("cause", flat=True)]
    assert causes == ["replaced", "replaced"]


async def test_a_session_that_begins_with_anothers_folded_history_is_refused_nothing(
    standin: Standin, alice: User
) -> None:
    """Programs fork sessions; thinking behind the fold is bound to it."""
    agent = await start(Claude, standin, alice)
    await agent.grow()
    await agent.say("Short.", Reply("Yes.", thinking="Behind the fold."))
    fork = replace(agent, session="another")
    await fork.say("Otherwise.", Reply("Well."))
    assert "Behind the fold." not in thoughts(fork.requests[-1])
    assert HEADING not in str(fork.requests[-1])


@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.parametrize("is_behind", [False, True])
async def test_a_fork_keeps_the_fold_if_it_was_made_before(
    standin: Standin, alice: User, kind: type[Agent], is_behind: bool
) -> None:
    """A version that the program goes back to has it again."""
    agent = await start(kind, standin, alice)
    await agent.say("First.", Reply("One."))
    early = [*agent.history]
    await agent.grow()
    await agent.say("Short.", Reply("Yes.", thinking="Behind the fold."))
    before, left = agent.requests[-1], [*agent.history]
    agent.history = left if is_behind else early
    await agent.say("Otherwise.", Reply("Well."))
    if is_behind:
        agent.history = [*left]
        await agent.say("Or so.", Reply("Better."))
    assert (agent.requests[-1][: len(before)] == before) == is_behind
    assert (HEADING in str(agent.requests[-1])) == is_behind
    agent.history = left
    await agent.say("Again.", Reply("Right."))
    assert agent.requests[-1][: len(before)] == before


async def test_tokens_are_counted_of_the_folded_request(standin: Standin, alice: User) -> None:
    """Nothing is stored for it."""
    agent = await start(Claude, standin, alice)
    await agent.grow()
    await agent.say("Short.", Reply("Yes."))
    agent.history += agent.user("How many?")
    talk = await talk_of(agent)
    answer = await agent.send("/v1/messages/count_tokens", max_tokens=None)
    assert json.loads(answer.body)["input_tokens"] < WINDOW / 2
    counted = agent.read(standin.counts[-1].body["messages"])
    assert counted[: len(agent.requests[-1])] == agent.requests[-1]
    agent.history = agent.history[:3]
    await agent.send("/v1/messages/count_tokens", max_tokens=None)
    assert agent.read(standin.counts[-1].body["messages"]) == agent.read(agent.history)
    assert (await talk_of(agent)).last_seq == talk.last_seq


async def test_a_fold_waits_where_the_provider_needs_the_thinking_before_results(
    standin: Standin, alice: User
) -> None:
    """Older models refuse results of tools behind an answer without its thinking."""
    about = {"max_tokens": 2_000, "thinking": {"type": "enabled", "budget_tokens": 1_024}}
    agent = await start(Claude, standin, alice, about=about)
    call = Reply("I read.", tools=[ToolCall("read")], thinking="Let me read.")
    await agent.say(agent.words(), call)
    while await Condensation.objects.acount() == 0:
        await agent.use_tool(call)
    for reply in (call, Reply("Done.")):
        await agent.use_tool(reply)
        assert agent.requests[-1] == agent.read(agent.history[:-1])
    await agent.say("Go on.", Reply("So I do."))
    assert HEADING in str(agent.requests[-1])


@pytest.mark.parametrize(
    ("limit", "answers", "said"),
    [(Decimal("0.02"), (), "budget of this conversation is"), (None, (UNAUTHORIZED,), "key")],
    ids=["budget", "summary"],
)
async def test_a_fold_that_fails_is_a_row_and_the_bytes_are_the_clients(
    standin: Standin, alice: User, limit: Any, answers: Sequence[Any], said: str
) -> None:
    """The program does not notice."""
    agent = await start(Claude, standin, alice)
    await agent.say("Hello.", Reply("Hello!"))
    await Conversation.objects.aupdate(budget=limit)
    await agent.say(agent.words(7_000), Reply("Much."), *answers)
    assert said in await page_of(agent, alice)
    await Conversation.objects.aupdate(budget=None)
    await agent.say("Go on.", Reply("So I do."), *answers)
    assert agent.raw == agent.written


@pytest.mark.parametrize("forks", [False, True])
async def test_the_program_goes_on_while_its_summary_is_written(
    standin: Standin, alice: User, forks: bool
) -> None:
    """What it says meanwhile stays behind the fold; where it goes back, there is none."""
    agent, gate = await start(Claude, standin, alice), Gate()
    await agent.say("Hello.", Reply("Hello!"))
    early = [*agent.history]
    written = Reply(summarise({"messages": [{"role": "user", "content": "All."}]}), hold=gate)
    said = Reply("Much.", tools=[ToolCall("read")], thinking="So much.")
    for _number in range(6):
        await agent.say(agent.words(1_000), Reply("Noted."))
    await agent.say(agent.words(1_000), said, written, waits=False)
    await asyncio.to_thread(gate.wait_until_reached)
    if forks:
        agent.history, agent.calls = early, []
        await agent.say("Or so?", Reply("Yes.", thinking="Hm."), waits=False)
    else:
        await agent.use_tool(Reply("I read.", thinking="Meanwhile."), waits=False)
    gate.open()
    await background_jobs.close()
    await agent.say("Go on.", Reply("So I do."))
    await agent.say("And on.", Reply("Yes."))
    assert (HEADING in str(agent.requests[-1])) != forks
    assert thoughts(agent.requests[-1]) == (["Hm."] if forks else [])
    assert changes(agent.requests[-2:]) == []
    made = await Condensation.objects.aget()
    assert (made.status, bool(made.error)) == (("failed", True) if forks else ("succeeded", False))


async def test_an_answer_that_was_under_way_while_a_fold_was_made_asks_for_no_other(
    standin: Standin, alice: User
) -> None:
    """Its request was as long as all that is folded by now."""
    agent, gate, held = await start(Claude, standin, alice), Gate(), Gate()
    written = Reply(summarise({"messages": [{"role": "user", "content": "All."}]}), hold=gate)
    for _number in range(6):
        await agent.say(agent.words(1_000), Reply("Noted."))
    await agent.say(agent.words(1_000), Reply("Much."), written, waits=False)
    await asyncio.to_thread(gate.wait_until_reached)
    agent.history += agent.user("On.")
    standin.reply("Late.", hold=held)
    under_way = asyncio.ensure_future(agent.send(stream=True))
    await asyncio.to_thread(held.wait_until_reached)
    gate.open()
    await background_jobs.close()
    held.open()
    await under_way
    await background_jobs.close()
    made = await Condensation.objects.aget()
    assert (made.status, (await talk_of(agent)).measured_tokens) == ("succeeded", None)


async def test_a_summary_that_a_crash_cut_off_is_closed_and_hides_nothing(
    standin: Standin, alice: User
) -> None:
    """Its call is its own, and no request of the program's."""
    agent, gate = await start(Claude, standin, alice), Gate()
    for _number in range(6):
        await agent.say(agent.words(1_000), Reply("Noted."))
    await agent.say(agent.words(1_000), Reply("Much."), Reply("Late.", hold=gate), waits=False)
    await asyncio.to_thread(gate.wait_until_reached)

    def crash() -> None:
        ModelCall.objects.filter(status="running").update(owner="gone")
        Condensation.objects.update(owner="gone")
        close_left()

    await sync_to_async(crash)()
    made, call = await Condensation.objects.aget(), await ModelCall.objects.aget(purpose="summary")
    assert (made.status, call.status) == ("unused", "interrupted")
    assert await Turn.objects.acount() == 0
    gate.open()
    await background_jobs.close(0)
    await agent.say("Go on.", Reply("So I do."))
    assert agent.raw == agent.written


async def test_a_damaged_record_changes_no_request(standin: Standin, alice: User) -> None:
    """It goes out as it came, and a row says so."""
    agent = await start(Claude, standin, alice)
    await agent.grow()
    await agent.say("Short.", Reply("Yes."))
    assert HEADING in str(agent.requests[-1])
    damaged = Message.objects.filter(seq=1)
    content = await damaged.values_list("content", flat=True).aget()
    await damaged.aupdate(content=5)
    await agent.say("Go on.", Reply("So I do."))
    assert agent.raw == agent.written
    assert "went out without it" in await page_of(agent, alice)
    await damaged.aupdate(content=content)
