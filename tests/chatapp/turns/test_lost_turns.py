"""A process that lost its turn, as one that was frozen meanwhile, writes nothing more."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.apps import apps
from django.utils import timezone

import condense
from chatapp.agent.errors import LeftWaiting, TurnEnded
from chatapp.agent.ports import Asking, CallOpening, CallRecord, Nobody, Purpose, ToolOutcome
from chatapp.approvals import Approvals
from chatapp.condensation.attempt_log import AttemptLog
from chatapp.condensation.summary_reviews import SummaryReviewer
from chatapp.files.checkpoints import Checkpoints
from chatapp.models import (
    Conversation,
    ModelCall,
    Profile,
    Question,
    Review,
    Turn,
)
from chatapp.storage.journal import ConversationJournal
from chatapp.toolbox.toolbox import folder_of, toolbox_for, workspace_of
from chatapp.turns import lifecycle
from chatapp.turns.running_turns import running_turns
from tests.chatapp.conftest import Say, reduction_of
from tests.chatapp.observers import Trust
from tests.chatapp.runs import journal_of, run_in
from tests.chatapp.scripted_turns import ask
from tests.chatapp.sockets import Page
from tests.records import put_on_record
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

# What another process does to the turn of one that is frozen.
LOSSES: dict[str, dict[str, Any]] = {
    "ended": {"status": "interrupted", "finished_at": timezone.now()},
    "taken over": {"owner": "elsewhere/1/1"},
    "taken over in this process": {"attempt": 2},
    "given back": {"owner": ""},
}


def dump() -> dict[str, list[Any]]:
    """Return all that is stored."""
    return {
        model.__name__: [*model._base_manager.order_by("pk").values_list()]
        for model in apps.get_app_config("chatapp").get_models()
    }


@dataclass
class Worker:
    """A process that works on a turn."""

    turn: Turn
    journal: ConversationJournal
    log: AttemptLog
    seq: int = 0

    def reviewer(self) -> SummaryReviewer:
        """Return who shows summaries to a person, all of them."""
        made = SummaryReviewer(self.journal)
        self.journal.run.preferences.review_automatic = True
        return made

    def approvals(self) -> Approvals:
        """Return who asks a person."""
        run = self.journal.run
        return Approvals(
            run,
            toolbox=toolbox_for(folder_of(run.conversation), run.conversation, run.profile),
            checkpoints=Checkpoints(workspace_of(run.conversation)),
            saver=self.journal.saver,
            audience=Nobody(),
        )

    def asking(self) -> Asking:
        """Return another call of a tool that changes files."""
        self.seq += 1
        call = condense.ToolUseBlock("c", "write_file", {"path": "a.txt", "content": "new"})
        return Asking(call, self.seq, 0)

    async def show_a_summary(self, **since: Any) -> tuple[SummaryReviewer, asyncio.Task[Any]]:
        """Wait for what a person says to a summary, whose review has changed so since."""
        attempt, proposal = await self.begin_attempt(), await self.proposal()
        reviewer = self.reviewer()
        waiting = asyncio.create_task(reviewer.review(attempt, proposal))
        shown = Review.objects.filter(condensation=attempt.id)
        while await shown.afirst() is None:
            pass
        await sync_to_async(shown.change)(**since)
        return reviewer, waiting

    async def begin_attempt(self) -> condense.Attempt:
        """Put an attempt to condense on record."""
        attempt = await self.attempt()
        await self.log.started(attempt)
        return attempt

    async def attempt(self) -> condense.Attempt:
        """Return an attempt that is about to begin."""
        history = await self.journal.effective_history()
        return condense.Attempt(
            id=str(uuid.uuid4()),
            strategy="fresh_start",
            kind="condensed",
            trigger=condense.Trigger.FORCED,
            threshold=90,
            threshold_source="global",
            tokens_before=condense.TokenCount(900, measured=False),
            effective=history,
        )

    async def reduction(self) -> condense.Reduction:
        """Return what hides the oldest message that the model sees."""
        (oldest, *_rest) = await self.journal.effective_history()
        summary = condense.Message(
            role="user",
            content=(condense.TextBlock("What was said."),),
            tags=condense.Tags(condense_id=uuid.uuid4().hex),
            tokens=5,
        )
        return reduction_of(summary, (oldest.id,))

    async def proposal(self) -> condense.Proposal:
        """Return what is shown to a person of that."""
        return condense.Proposal(reduction=await self.reduction(), by_model=True)


@pytest.fixture
def worker(conversation: Conversation, say: Say) -> Worker:
    """One whose turn has begun."""
    Profile.objects.update(tool_policies={"write_file": "allow"})
    for number in range(12):
        say("user" if number % 2 == 0 else "assistant", f"No. {number}")
    turn = ask(conversation)
    run = run_in(conversation, turn)
    # As in a turn: what belongs to its tools is read once.
    assert not run.profile.mcp_servers
    journal = journal_of(run, Nobody())
    return Worker(turn, journal, AttemptLog(journal))


def said(role: condense.Role = "assistant") -> condense.Message:
    """Return a message."""
    return condense.Message(role, (condense.TextBlock("So."),))


CALL = condense.ToolUseBlock("c", "read_file", {})
CHAT, SUMMARY = CallOpening(Purpose.CHAT, step=1), CallOpening(Purpose.SUMMARY)


def record(number: int) -> CallRecord:
    """Return what came of a call."""
    return CallRecord(Purpose.CHAT, condense.Usage(input=5, output=1), 1.0, number)


# Each of these prepares something, and writes it when it is asked for more.
Write = Callable[[Worker], AsyncIterator[None]]


async def _open_call(worker: Worker) -> AsyncIterator[None]:
    yield
    await worker.journal.open_call(CHAT)


async def _open_summary_call(worker: Worker) -> AsyncIterator[None]:
    yield
    await worker.journal.open_call(SUMMARY)


async def _withdraw_call(worker: Worker) -> AsyncIterator[None]:
    number = await worker.journal.open_call(CHAT)
    yield
    await worker.journal.withdraw_call(number)


async def _record_call(worker: Worker) -> AsyncIterator[None]:
    number = await worker.journal.open_call(CHAT)
    yield
    await worker.journal.record_call(record(number))


async def _append_a_reply(worker: Worker) -> AsyncIterator[None]:
    number = await worker.journal.open_call(CHAT)
    yield
    await worker.journal.append(said(), call=record(number))


async def _append_without_a_call(worker: Worker) -> AsyncIterator[None]:
    yield
    await worker.journal.append(said())


async def _append_results(worker: Worker) -> AsyncIterator[None]:
    yield
    results = (condense.ToolResultBlock("c", "42"),)
    await worker.journal.append(condense.Message("user", results))


async def _open_tool(worker: Worker) -> AsyncIterator[None]:
    yield
    await worker.journal.open_tool(CALL)


async def _close_tool(worker: Worker) -> AsyncIterator[None]:
    number = await worker.journal.open_tool(CALL)
    yield
    await worker.journal.close_tool(number, ToolOutcome("42"))


async def _measure(worker: Worker) -> AsyncIterator[None]:
    yield
    await sync_to_async(worker.journal.remember_measurement)(4_711, 1)


async def _begin_an_attempt(worker: Worker) -> AsyncIterator[None]:
    attempt = await worker.attempt()
    yield
    await worker.log.started(attempt)


async def _take_a_draft(worker: Worker) -> AsyncIterator[None]:
    put = sync_to_async(put_on_record)
    draft = await put(worker.journal.run.conversation, at_seq=1, status="drafted")
    budget = condense.Budget(window=30_000, max_output=1_000)
    tokens = condense.TokenCount(900, measured=False)
    situation = condense.Situation(effective=(), tokens=tokens, budget=budget)
    yield
    await worker.log.take_over(str(draft.pk), situation)


async def _apply_a_summary(worker: Worker) -> AsyncIterator[None]:
    attempt, reduction = await worker.begin_attempt(), await worker.reduction()
    yield
    await worker.log.succeeded(attempt, reduction)


async def _give_up_an_attempt(worker: Worker) -> AsyncIterator[None]:
    attempt = await worker.begin_attempt()
    yield
    await worker.log.failed(attempt, condense.NothingToCondense("Too little."))


async def _cancel_an_attempt(worker: Worker) -> AsyncIterator[None]:
    attempt = await worker.begin_attempt()
    yield
    await worker.log.cancelled(attempt)


async def _show_a_summary(worker: Worker) -> AsyncIterator[None]:
    attempt, proposal = await worker.begin_attempt(), await worker.proposal()
    reviewer = worker.reviewer()
    reviewer.leave()
    yield
    await reviewer.review(attempt, proposal)


async def _go_on_after_a_review(worker: Worker) -> AsyncIterator[None]:
    reviewer, waiting = await worker.show_a_summary(status=Review.Status.ACCEPTED)
    yield
    reviewer.wake()
    await waiting


async def _expire_a_review(worker: Worker) -> AsyncIterator[None]:
    reviewer, waiting = await worker.show_a_summary(applies_at=timezone.now())
    yield
    reviewer.wake()
    await waiting


async def _ask_a_person(worker: Worker) -> AsyncIterator[None]:
    approvals = await sync_to_async(worker.approvals)()
    approvals.leave()
    yield
    await approvals.ask(worker.asking(), "Which?", [])


async def _keep_files(worker: Worker) -> AsyncIterator[None]:
    approvals = await sync_to_async(worker.approvals)()
    yield
    await approvals.permit(worker.asking())


async def _release(worker: Worker) -> AsyncIterator[None]:
    await sync_to_async(worker.turn.wait)()
    await Question.objects.acreate(turn=worker.turn, seq=1, place=await Question.objects.acount())
    yield
    await sync_to_async(worker.turn.release)()


async def _hand_over(worker: Worker) -> AsyncIterator[None]:
    yield
    await sync_to_async(worker.turn.hand_over)()


WRITES: list[Write] = [
    *(_open_call, _open_summary_call, _withdraw_call, _record_call, _append_a_reply),
    *(_append_without_a_call, _append_results, _open_tool, _close_tool, _measure),
    *(_begin_an_attempt, _take_a_draft, _apply_a_summary, _give_up_an_attempt),
    *(_cancel_an_attempt, _show_a_summary, _go_on_after_a_review, _expire_a_review),
    *(_ask_a_person, _keep_files, _release, _hand_over),
]


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__[1:])
async def test_a_process_that_lost_its_turn_writes_nothing_more(
    worker: Worker, write: Write
) -> None:
    """However it was lost: the next write fails, and all of its transaction with it."""
    own = Turn.objects.filter(pk=worker.turn.pk)
    for loss in LOSSES.values():
        writing = write(worker)
        await anext(writing)
        had = await own.values(*loss).aget()
        await own.aupdate(**loss)
        before = await sync_to_async(dump)()
        with pytest.raises(TurnEnded):
            await anext(writing)
        assert await sync_to_async(dump)() == before
        await own.aupdate(**had)
    writing = write(worker)
    await anext(writing)
    before = await sync_to_async(dump)()
    with contextlib.suppress(StopAsyncIteration, LeftWaiting):
        await anext(writing)
    assert await sync_to_async(dump)() != before


@pytest.mark.parametrize("loss", LOSSES.values(), ids=[*LOSSES])
@pytest.mark.parametrize("status", [Turn.Status.SUCCEEDED, Turn.Status.STOPPED])
def test_a_turn_that_was_lost_is_not_ended(
    worker: Worker, status: Turn.Status, loss: dict[str, Any]
) -> None:
    """Nor is anything closed with it, or put off no more."""
    Conversation.objects.update(put_off=True)
    worker.turn.go_on(Turn.Doing.CALLING)
    Turn.objects.update(**loss)
    before = dump()
    assert not lifecycle.finish_turn(turn=worker.turn, status=status, was_put_off=True)
    assert dump() == before


def test_a_turn_is_ended_once_with_what_was_put_off(worker: Worker) -> None:
    """Until its end."""
    Conversation.objects.update(put_off=True)
    done = Turn.Status.SUCCEEDED
    assert lifecycle.finish_turn(turn=worker.turn, status=done, was_put_off=True)
    assert not Conversation.objects.get().put_off
    assert not lifecycle.finish_turn(turn=worker.turn, status=Turn.Status.FAILED)
    assert Turn.objects.get().status == done


@pytest.mark.parametrize("loss", LOSSES.values(), ids=[*LOSSES])
async def test_a_stream_of_a_turn_that_was_lost_stores_nothing(
    anthropic_standin: Standin,
    page: Page,
    loss: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No word that came since, and no answer; its call stays as it was."""
    monkeypatch.setattr(running_turns, "observer", Trust())
    gate = Gate()
    anthropic_standin.then(Reply("One two three four five six.", gate=gate))
    await page.begin("Count.")
    call = await ModelCall.objects.aget()
    while not call.draft:
        await call.arefresh_from_db()
    await Turn.objects.aupdate(**loss)
    before = await sync_to_async(dump)()
    gate.open()
    await page.until_idle()
    assert await sync_to_async(dump)() == before
    # Nobody else ends the call of a turn that is over: that is done with the turn.
    await ModelCall.objects.aupdate(status="interrupted")


async def test_an_answer_that_comes_as_a_turn_leaves_is_heard_where_it_goes_on(
    worker: Worker,
) -> None:
    """The process that has given it back does not go on, and nobody is asked again."""
    approvals, asking = await sync_to_async(worker.approvals)(), worker.asking()
    waiting = asyncio.create_task(approvals.ask(asking, "Which?", []))
    asked = Question.objects.filter(turn=worker.turn)
    while await asked.afirst() is None:
        pass
    await sync_to_async(asked.change)(status=Question.Status.ANSWERED, answer="Tabs")
    approvals.leave()
    with pytest.raises(LeftWaiting):
        await waiting
    assert (await Turn.objects.aget()).status == Turn.Status.WAITING
    again = await sync_to_async(worker.approvals)()
    assert await again.ask(asking, "Which?", []) == "Tabs"


async def test_a_review_that_is_answered_as_a_turn_leaves_is_taken_up_elsewhere(
    worker: Worker,
) -> None:
    """As a question is."""
    reviewer, waiting = await worker.show_a_summary(status=Review.Status.ACCEPTED)
    reviewer.leave()
    with pytest.raises(LeftWaiting):
        await waiting
    assert (await Turn.objects.aget()).status == Turn.Status.WAITING
