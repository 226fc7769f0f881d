"""Strategies compute apart from the loop that their condenser was called on."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

import condense
from condense import Kit, Reduction, Situation
from condense.loops import run_apart, run_on
from condense.strategies.fresh_start import FreshStart
from condense.testing import WordCounter
from tests.condense.dialogues import chat, situation
from tests.panics import PanicException


class Model:
    """Notes the thread in which it is called."""

    supports_images = caches_prompts = False

    def __init__(self) -> None:
        self.thread = 0

    async def stream(self, _: condense.SummaryRequest) -> AsyncIterator[condense.Chunk]:
        """Answer with a summary."""
        self.thread = threading.get_ident()
        await asyncio.sleep(0)
        yield condense.TextChunk("<summary>S</summary>")


class Computing(FreshStart):
    """A fresh start that notes its thread, or gives up as a native library does."""

    def __init__(self, *, panics: bool = False) -> None:
        self.thread, self.panics = 0, panics

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Do so."""
        self.thread = threading.get_ident()
        if self.panics:
            raise PanicException
        return await super().reduce(situation, kit)


async def test_a_strategy_computes_in_a_thread_and_its_model_is_called_on_the_loop() -> None:
    """The loop goes on meanwhile, and whatever the model works with belongs to it."""
    model, strategy = Model(), Computing()
    condenser = condense.Condenser(model, WordCounter(), [strategy])
    made = await condenser.fit(situation(chat(4), trigger=condense.Trigger.MANUAL))
    assert made
    assert made.summary == "S"
    assert model.thread == threading.get_ident() != strategy.thread


async def test_a_panic_of_a_native_library_is_a_failure_of_the_strategy() -> None:
    """It is no ``Exception``, and would end whatever it is in."""
    condenser = condense.Condenser(Model(), WordCounter(), [Computing(panics=True)])
    with pytest.raises(condense.CondenseError, match="The strategy fresh_start failed"):
        await condenser.fit(situation(chat(4), trigger=condense.Trigger.MANUAL))


async def test_whoever_is_cancelled_waits_for_the_end_of_what_runs_apart() -> None:
    """What it called here is closed by then, too."""
    here, began, done = asyncio.get_running_loop(), asyncio.Event(), list[str]()

    async def call() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            done.append("call")

    async def work() -> None:
        try:
            await run_on(here, call())
        finally:
            done.append("work")

    task = asyncio.create_task(run_apart(work()))
    await began.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == ["call", "work"]
