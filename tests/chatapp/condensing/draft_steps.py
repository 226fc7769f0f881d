"""A conversation whose summary is drafted in the background, here or in another process.

All that tests of drafts have to name of the modules that write them is named here.
"""

import asyncio
import uuid
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connections
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

import condense
from chatapp.agent.ports import Nobody
from chatapp.condensing import background_drafts, draft_writer
from chatapp.condensing.attempt_log import AttemptLog
from chatapp.conversations.context.turn_context import TurnContext
from chatapp.models import BackgroundDraft, Conversation, ModelCall, message_store
from chatapp.operations import background_jobs
from tests.chatapp.runs import journal_of
from tests.chatapp.sockets import PATIENCE, Page
from tests.long_texts import filler
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

SUMMARY = "<analysis>Short.</analysis><summary>What was said.</summary>"
# 1,250 tokens.
MORE = filler(1_250)


def look_each(
    seconds: float, monkeypatch: pytest.MonkeyPatch, *, writer: float | None = None
) -> None:
    """Have whoever waits for a draft look at its row after so many seconds.

    Its ``writer`` gives its next sign of life after as many, or others.
    """
    monkeypatch.setattr(background_drafts, "LOOK", seconds)
    monkeypatch.setattr(draft_writer, "LOOK", seconds if writer is None else writer)


def leave_job(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a job not done: no worker is free."""
    monkeypatch.setitem(background_jobs.JOBS, name, f"{__name__}.do_nothing")


def write_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have drafts written as by another process: on an event loop that tells this one nothing."""
    monkeypatch.setitem(background_jobs.JOBS, "write_draft", f"{__name__}.write_draft")


async def do_nothing(**_arguments: object) -> None:
    """Leave a job undone."""


async def write_draft(conversation: str) -> None:
    """Write a draft elsewhere."""
    await asyncio.to_thread(_write, uuid.UUID(conversation))


def _write(conversation_id: uuid.UUID) -> None:
    try:
        asyncio.run(draft_writer.write_draft(conversation_id))
    finally:
        connections.close_all()


async def end_jobs(seconds: float = PATIENCE) -> None:
    """Return once all jobs have ended; those that take longer are stopped, as with the server."""
    await background_jobs.close(seconds)


def situation_in(run: TurnContext) -> condense.Situation:
    """Return a run's situation with a context that is to be condensed."""
    seen, budget = message_store.read_effective(run.conversation.pk), run.budget()
    size = condense.TokenCount(int(budget.condenses_at))
    return condense.Situation(effective=seen, tokens=size, budget=budget)


def begin_draft(run: TurnContext) -> None:
    """Have a draft begun, if a run wants one."""
    async_to_sync(background_drafts.begin)(run, situation_in(run))


def take_over(run: TurnContext, draft: BackgroundDraft) -> bool:
    """Have a run take over a draft that it has read; return whether it is the run's."""
    log = AttemptLog(journal_of(run, Nobody()))
    return async_to_sync(log.take_over)(str(draft.condensation_id), situation_in(run))


def drop_draft(conversation: Conversation) -> None:
    """Drop a conversation's draft."""
    async_to_sync(background_drafts.drop)(conversation.pk, "It was changed.")


class Drafting:
    """A page of a conversation whose summary is drafted, and the gate that holds it."""

    def __init__(
        self, conversation: Conversation, page: Page, standin: Standin, browser: Client
    ) -> None:
        """Take the conversation, its page, who answers, and its owner's browser."""
        self.conversation = conversation
        self.page = page
        self.standin = standin
        self.browser = browser
        self.gate = Gate()

    async def begin(self) -> None:
        """Have a draft begun, at the end of a turn that brings the context near its threshold."""
        self.standin.then(Reply(MORE), Reply(SUMMARY, gate=self.gate))
        await self.page.ask("And now?")
        assert await asyncio.to_thread(self.gate.wait_until_reached)

    async def ask(self, text: str = MORE, *before: Reply) -> None:
        """Ask, and wait for the end of the turn, which calls for these replies ``before`` its own.

        With a long ``text`` twice, a context that has a draft is over its threshold.
        """
        self.standin.then(*before, Reply("Yes."))
        await self.page.ask(text)

    async def finish(self) -> None:
        """Let the draft be written to its end."""
        self.gate.open()
        await end_jobs()

    async def write(self) -> None:
        """Write the draft that no worker was free for, if it is wanted still."""
        await draft_writer.write_draft(self.conversation.pk)

    async def press(self, name: str, *args: object, **fields: Any) -> HttpResponse:
        """Do something on the page."""
        address = reverse(name, args=[self.conversation.pk, *args])
        post = sync_to_async(self.browser.post)
        answer = await post(address, fields, headers={"HX-Request": "true"})
        assert answer.status_code < 400
        return answer

    async def purposes(self) -> list[str]:
        """Return what the calls so far were for."""
        calls = ModelCall.objects.filter(conversation=self.conversation).order_by("pk")
        return [one.purpose async for one in calls]
