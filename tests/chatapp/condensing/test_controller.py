"""What keeps a context within its window, when somebody wants something else meanwhile."""

import asyncio
import logging
import re
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

import condense
from chatapp.agent import events
from chatapp.agent.ports import ModelRequest
from chatapp.condensing.controller import ContextController
from chatapp.conversations.context.condense_requests import CondenseRequest
from chatapp.models import Condensation, Conversation, Profile
from chatapp.tools import WorkspaceToolbox
from condense.testing import ScriptedSummarizer
from tests.chatapp.agent.fakes import RecordingAudience, ScriptedProvider
from tests.chatapp.condensing.scripted_controller import ScriptedController
from tests.chatapp.conftest import Say
from tests.chatapp.runs import journal_of, run_in
from tests.records import put_on_record

pytestmark = pytest.mark.django_db(transaction=True)

AUTO = condense.Trigger.AUTO
NEAR, OVER = 1_100, 1_900  # tokens of each of five messages, in a window of 10,000


class Silent(ScriptedSummarizer):
    """A model that writes nothing, and never ends."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def stream(self, request: condense.SummaryRequest) -> AsyncIterator[condense.Chunk]:
        self.asked.set()
        await asyncio.Event().wait()
        yield condense.TextChunk("")


class Counting(ScriptedProvider):
    """A provider that counts for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def count_tokens(self, _request: ModelRequest) -> int | None:
        self.asked.set()
        await asyncio.Event().wait()
        return None


@dataclass
class Keeping:
    """A conversation of five messages, of so many tokens each."""

    conversation: Conversation
    folder: Path
    say: Say
    audience: RecordingAudience

    async def controller(
        self,
        tokens: int,
        summarizer: ScriptedSummarizer,
        provider: ScriptedProvider | None = None,
    ) -> ContextController:
        """Return what keeps it."""
        await sync_to_async(self._fill)(tokens)
        run = await sync_to_async(run_in)(self.conversation)
        controller = ScriptedController(
            journal_of(run, self.audience),
            toolbox=WorkspaceToolbox(self.folder),
            provider=provider or ScriptedProvider(),
        )
        controller.summarizer = summarizer
        return controller

    def _fill(self, tokens: int) -> None:
        for number in range(5):
            self.say("user" if number % 2 == 0 else "assistant", f"No. {number}.", tokens=tokens)

    async def fit(self, controller: ContextController) -> Sequence[condense.Message]:
        """Make it fit, as before a call."""
        return await controller.fit(await controller.journal.effective_history(), AUTO)


@pytest.fixture
def keeping(conversation: Conversation, alice: User, tmp_path: Path, say: Say) -> Keeping:
    """A conversation in a small window."""
    Profile.objects.filter(owner=alice).update(context_window=10_000, max_output=1_000)
    return Keeping(conversation, tmp_path, say, RecordingAudience())


async def test_what_a_person_asked_for_is_done_before_the_next_call(
    keeping: Keeping, caplog: pytest.LogCaptureFixture
) -> None:
    """Once, whatever is due by itself; why nothing is due is told to who looks for it."""
    controller = await keeping.controller(
        NEAR, ScriptedSummarizer("<summary>It was said.</summary>")
    )
    controller.run.requests.ask(CondenseRequest(uuid.uuid4(), focus="the numbers"))
    history = await keeping.fit(controller)
    assert history[0].is_summary
    attempt = await Condensation.objects.aget()
    assert (attempt.trigger, attempt.status, attempt.focus) == (
        "manual",
        "succeeded",
        "the numbers",
    )
    assert keeping.audience.of(events.CondensingAwaited) == [events.CondensingAwaited(False)]
    assert (controller.run.requests.take(), controller.focus) == (None, "")
    with caplog.at_level(logging.DEBUG, "chatapp"):
        assert await controller.fit(history, AUTO) == history
    decided = r"\d+ tokens, \d+ % of 10000, threshold 100 % \(global\), 2 messages: not due"
    assert re.search(decided, caplog.text)


async def test_an_undone_condensation_is_made_again_where_the_context_is_too_large(
    keeping: Keeping,
) -> None:
    """A model writes the summary: what a person undid is no sign that asking is in vain."""
    controller = await keeping.controller(OVER, ScriptedSummarizer("<summary>Said.</summary>"))
    await sync_to_async(put_on_record)(keeping.conversation, status="undone", at_seq=5)
    await keeping.fit(controller)
    made = await Condensation.objects.aget(status="succeeded")
    assert (made.strategy, made.summary) == ("fresh_start", "Said.")


async def test_what_a_person_asked_for_can_be_cancelled_from_the_first_moment(
    keeping: Keeping,
) -> None:
    """Also while the vendor is asked how large the context is; the turn goes on."""
    provider = Counting()
    controller = await keeping.controller(NEAR, ScriptedSummarizer(), provider)
    controller.run.requests.ask(CondenseRequest(uuid.uuid4()))
    fitting = asyncio.create_task(keeping.fit(controller))
    await provider.asked.wait()
    assert controller.cancel()
    assert len(await fitting) == 5
    assert not await Condensation.objects.aexists()


async def test_a_stop_while_it_condenses_by_itself_stops_the_turn(keeping: Keeping) -> None:
    """And not that condensation alone."""
    summarizer = Silent()
    controller = await keeping.controller(OVER, summarizer)
    fitting = asyncio.create_task(keeping.fit(controller))
    await summarizer.asked.wait()
    fitting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fitting
    assert (await Condensation.objects.aget()).status == Condensation.Status.CANCELLED
    assert not controller.cancel()
