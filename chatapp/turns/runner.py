"""The runner of this process: each turn is a task, from its start to its end."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from django.conf import settings
from django.db import DatabaseError, transaction

import condense
from chatapp.agent import events
from chatapp.agent.errors import (
    AgentError,
    CondensingCancelled,
    LeftEarly,
    LeftWaiting,
    SpendingLimitReached,
    StepLimitReached,
)
from chatapp.conversations.context.condense_requests import CondenseRequest
from chatapp.conversations.context.turn_context import TurnContext
from chatapp.models import Turn, TurnRequest
from chatapp.models.database import writing
from chatapp.models.errors import Refused, explain_write_error
from chatapp.operations.background_jobs import enqueue
from chatapp.page.live.channel import channel
from chatapp.page.live.hints import ListChanged
from chatapp.project import languages, logs
from chatapp.project.telemetry import lost_turns
from chatapp.storage.partial_replies import RetriedWrites
from chatapp.turns.lifecycle import TurnEnd, enqueue_next, finish_turn, hand_over
from chatapp.turns.turn_loop import TurnLoop
from condense import noop, say

log = logging.getLogger(__name__)


# A condensation that came to nothing in one of these ways has a row that says why.
_ON_RECORD = (condense.NothingToCondense, condense.SummaryFailed, condense.DidNotShrink)


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of work: the turn's last status, its announcement, and the reason, if any.

    All words are English, as the record has them.

    A turn that was left waiting has not ended: it goes on elsewhere.

    One that was left at a safe point can be continued elsewhere, too.

    A turn's reason is on its row, and that of an attempt, if it is ``on_record``. Any other has to
    be shown at the composer. A turn that ``reached_limit`` has more to do.
    """

    turn: Turn.Status
    status: str
    reason: str = ""
    details: str = ""
    profile_at_fault: bool = False
    on_record: bool = False
    reached_limit: bool = False
    at_safe_point: bool = False


_DONE = Ending(Turn.Status.SUCCEEDED, events.DONE)


async def ending_of(work: Awaitable[str | None]) -> Ending:  # noqa: PLR0911 - one for each kind
    """Wait for the work and return its ending; raises nothing."""
    try:
        with condense.panics_as_errors():
            said = await work
    except LeftWaiting:
        return Ending(Turn.Status.WAITING, noop("Waiting for you."), at_safe_point=True)
    except LeftEarly:
        return Ending(Turn.Status.STOPPED, events.STOPPED, at_safe_point=True)
    except asyncio.CancelledError:
        return Ending(Turn.Status.STOPPED, events.STOPPED)
    except (AgentError, condense.CondenseError, Refused) as error:
        return _foreseen(error)
    except (DatabaseError, OSError) as error:
        log.exception("what ran could not be completed")
        return storage_failed(error)
    except Exception as error:
        log.exception("what ran could not be completed")
        text = noop("Palimpsest itself made an error. What was written so far is kept. Try again.")
        return Ending(Turn.Status.FAILED, events.FAILED, text, f"{type(error).__name__}: {error}")
    return replace(_DONE, reason=said or "")


def _foreseen(error: Exception) -> Ending:
    match error:
        case condense.NothingToCondense():
            said = noop("Nothing to condense.")
            return Ending(Turn.Status.SUCCEEDED, said, str(error), on_record=True)
        case StepLimitReached():
            return Ending(Turn.Status.SUCCEEDED, events.STOPPED, str(error), reached_limit=True)
        case CondensingCancelled() | SpendingLimitReached():
            return Ending(Turn.Status.STOPPED, events.STOPPED, str(error))
    return Ending(
        Turn.Status.FAILED,
        events.FAILED,
        str(error),
        getattr(error, "details", ""),
        profile_at_fault=getattr(error, "profile_at_fault", False),
        on_record=isinstance(error, _ON_RECORD),
    )


def storage_failed(error: Exception) -> Ending:
    """Return the ending for a file or a database that can't be written."""
    why = explain_write_error(error)
    text = say("The server could not save what was written. {why}", why=why)
    return Ending(Turn.Status.FAILED, events.FAILED, text, f"{type(error).__name__}: {error}")


class TurnTask:
    """A run while it goes on; it is stopped, and its condensation cancelled, here alone.

    It is the agent's ``Audience``, and a task of its own: it goes on when the browser that started
    it goes away.
    """

    def __init__(self, run: TurnContext, on_end: Callable[[], object]) -> None:
        """Start at once; ``on_end`` is called when nothing of it runs any more."""
        self.run = run
        # The time since which it waits for a person, by a clock of its own; None if it does not.
        self.waits_since = time.monotonic() if run.turn.waits else None
        self._told = channel.open(run.turn.pk, run.turn.attempt)
        self._on_end = on_end
        self._loop: TurnLoop | None = None
        self._reason = ""
        # True once its end is stored with its last reply.
        self.has_ended = False
        own = run.conversation
        within = logs.within(user=own.owner_id, conversation=own.pk, turn=run.turn.pk)
        with within, languages.background():
            self._work = asyncio.create_task(self._do())
            # Stop cancels the work and never this: however it ends, the next turn may begin.
            self._life = asyncio.create_task(self._live())

    def publish(self, event: events.TurnEvent) -> None:
        """Publish an event; the owner's lists are updated when the turn starts or stops waiting."""
        self._told.publish(event)
        waits = _WAITS.get(type(event), self.waits_since is not None)
        if waits != (self.waits_since is not None):
            self.waits_since = time.monotonic() if waits else None
            conversation = self.run.conversation
            channel.tell(ListChanged(conversation.owner_id, but=conversation.pk))

    def stop(self) -> None:
        """Stop it; the text written so far is kept."""
        if not self._work.cancelling():
            self._work.cancel()

    def leave(self, reason: str) -> None:
        """Let it end at its next safe point; it was interrupted then, for this ``reason``."""
        self._reason = reason
        if self._loop:
            self._loop.leave()

    def wake(self) -> None:
        """Have the loop read a person's answer."""
        if self._loop:
            self._loop.wake()

    def heed(self, request: TurnRequest) -> None:
        """Carry out a person's request."""
        match request.kind:
            case TurnRequest.Kind.STOP:
                self.stop()
            case TurnRequest.Kind.CANCEL_CONDENSING:
                self.cancel_condensing()
            case TurnRequest.Kind.CONDENSE:
                self.condense_soon(CondenseRequest.from_json(request.nonce, request.details))
            case unknown:
                log.warning("a newer process asked for what is not known: %s", unknown)

    def cancel_condensing(self) -> None:
        """Cancel the condensation that runs or is to begin; a turn that waits for it goes on."""
        cancelled = self._loop is not None and self._loop.controller.cancel()
        if not cancelled and self.run.requests.take():
            self.publish(events.CondensingAwaited(False))

    def condense_soon(self, request: CondenseRequest) -> None:
        """Condense after the step that runs, because somebody asked for it."""
        if self.run.requests.ask(request):
            self.publish(events.CondensingAwaited())

    async def ended(self) -> None:
        """Return when nothing of it runs any more."""
        await asyncio.wait({self._life})

    async def _do(self) -> str | None:
        """Do the work, and return a sentence about it, None without one."""
        self._loop = loop = await RetriedWrites(self).read(TurnLoop, self.run, self, self._end)
        if self._reason:
            loop.leave()
        if not self.run.turn.condenses:
            await loop.run()
            with contextlib.suppress(asyncio.CancelledError):
                # All is answered: a stop comes too late for the turn.
                await loop.controller.draft_ahead()
            return None
        made = await loop.controller.condense_now(self.run.request.scope)
        if made is None or made.kind != "cleared" or self.run.request.scope:
            return None
        # Its row stands in place of the output, perhaps far above the part on the screen.
        return noop(
            "Old tool output was cleared: it is one line each now. Condense again for a summary."
        )

    async def _live(self) -> None:
        """Wait for the work, store and publish its ending, and let follow-ups begin."""
        ending = await ending_of(self._work)
        if self.has_ended:
            # The end was stored with the last reply, no matter how the work ended after that.
            ending = replace(_DONE, on_record=True)
        if self._reason and ending.turn == Turn.Status.STOPPED:
            ending = replace(ending, turn=Turn.Status.INTERRUPTED, reason=self._reason)
        try:
            if settings.CLUSTER and self._reason and ending.at_safe_point:
                await writing(hand_over)(self.run.turn, self.run.requests.awaited)
            elif ending.turn != Turn.Status.WAITING:
                if not self.has_ended or self.run.requests.awaited:
                    ending = await writing(self._finish)(ending)
                self.publish(_event_of(ending))
        finally:
            self._told.close()
            self._on_end()

    def _end(self, ending: Ending = _DONE) -> TurnEnd:
        """Return the end to store for an ending; its follow-ups are enqueued with it."""
        run, is_done = self.run, ending.turn == Turn.Status.SUCCEEDED and not ending.reached_limit
        # "Not now" during a turn in which nothing fell due is for the next turn.
        used = bool(self._loop and self._loop.controller.puts_off)
        puts_off, request = used or run.conversation.put_off, run.requests.awaited

        def note() -> None:
            self.has_ended = True
            run.conversation.put_off &= not puts_off
            if run.requests.awaited is request:
                run.requests.take()

        def follow() -> None:
            """Have the conversation named after its first turn, and condensed after a long rest."""
            transaction.on_commit(note)
            if is_done and run.asks_title:
                enqueue("name_conversation", turn=str(run.turn.pk))
            if is_done and run.condenses_idle and not run.turn.condenses:
                enqueue("condense_idle", after=settings.CONDENSE_IDLE_AFTER, turn=str(run.turn.pk))

        return TurnEnd(
            turn=run.turn,
            status=ending.turn,
            error=ending.reason,
            details=ending.details,
            profile_at_fault=ending.profile_at_fault,
            was_put_off=puts_off,
            is_done=is_done,
            request=request,
            follow=follow,
        )

    def _finish(self, ending: Ending) -> Ending:
        """Close the turn's row with its ending; return that, or the failure to store it."""
        run = self.run
        try:
            if self.has_ended:
                # A condensation was requested as the last reply was stored.
                enqueue_next(run.turn, run.requests.take(), is_done=True)
            elif not finish_turn(self._end(ending)):
                log.warning("another process ended this turn, or took it over, as it ran here")
                lost_turns.inc()
        except (DatabaseError, OSError) as error:
            return storage_failed(error)
        # A turn that only condenses has no row: an ending that its attempt's row lacks is sent.
        return ending if run.turn.condenses else replace(ending, on_record=True)


# True if a turn waits for a person after an event.
_WAITS = {
    events.PersonAsked: True,
    events.ReviewAsked: True,
    events.PersonAnswered: False,
    events.ReviewAnswered: False,
    events.CondensingEnded: False,
    events.TurnEnded: False,
}


def _event_of(ending: Ending) -> events.TurnEnded:
    """Return the event for an ending."""
    kind = "error" if ending.turn == Turn.Status.FAILED else "info"
    has_row = ending.turn != Turn.Status.SUCCEEDED or bool(ending.reason)
    if not ending.reason or ending.on_record:
        return events.TurnEnded(ending.status, has_row=has_row)
    return events.TurnEnded(ending.status, kind, ending.reason, ending.details, has_row)
