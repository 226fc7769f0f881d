"""Runs turns as tasks of this process, from their start to their end."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import override

from asgiref.sync import sync_to_async
from django.db import DatabaseError
from django.utils.translation import gettext as _

from chatapp.accounts.profiles import provider_for
from chatapp.agent import events
from chatapp.agent.loop import AgentLoop
from chatapp.agent.ports import Audience
from chatapp.approvals import StoredGate
from chatapp.condensation.controller import Keeper
from chatapp.context.condense_requests import Wish
from chatapp.context.sizes import Scale
from chatapp.context.turn_context import Run
from chatapp.files.checkpoints import Checkpoints
from chatapp.models import Turn, message_store
from chatapp.models.read_executor import reading
from chatapp.storage.journal import StoredJournal
from chatapp.storage.retried_writes import Saver
from chatapp.toolbox.toolbox import toolbox_for, workspace_of
from chatapp.turns import lifecycle
from chatapp.turns.endings import Ending, ending_of, storage_failed
from chatapp.turns.ports import Announcer

# A turn that ended so is shown by its answer, or by the question that it waits for.
_WITHOUT_ROW = frozenset({Turn.Status.SUCCEEDED, Turn.Status.WAITING})


class TurnLoop(AgentLoop):
    """The agent's loop over one run."""

    keeper: Keeper

    def __init__(self, run: Run, audience: Audience) -> None:
        """Read what the turn works with; what only some turns need is made when they do."""
        provider = provider_for(run.profile)
        self.folder = workspace_of(run.conversation)
        toolbox = toolbox_for(self.folder, run.conversation, run.profile)
        scale = Scale.read(run.conversation, run.profile, run.system)
        saver = Saver(audience)
        journal = StoredJournal(run, scale, saver)
        super().__init__(
            provider=provider,
            toolbox=toolbox,
            journal=journal,
            keeper=Keeper(
                run,
                journal=journal,
                toolbox=toolbox,
                provider=provider,
                scale=scale,
                saver=saver,
                audience=audience,
            ),
            audience=audience,
            system=run.system,
            step_limit=run.preferences.step_limit,
        )
        self.run_context, self.saver, self.files = run, saver, toolbox

    @cached_property
    @override
    def gate(self) -> StoredGate:
        """Who asks a person before a tool runs."""
        return StoredGate(
            self.run_context,
            toolbox=self.files,
            checkpoints=Checkpoints(self.folder),
            saver=self.saver,
            audience=self.audience,
        )

    def wake(self) -> None:
        """Look at what a person has said."""
        self.gate.wake()
        self.keeper.wake()


class Tasks:
    """The ``Runner`` of this process."""

    def start(self, run: Run, announcer: Announcer, on_end: Callable[[bool], None]) -> "Job":
        """Begin a turn at once; ``on_end`` is told when nothing of it runs any more."""
        return Job(run, announcer, on_end)


class Job:
    """A run while it goes on; it is stopped, and its condensation cancelled, here alone.

    It is a task of its own, so it goes on when the browser that started it goes away.
    """

    def __init__(self, run: Run, announcer: Announcer, on_end: Callable[[bool], None]) -> None:
        """Start at once; ``on_end`` is told when nothing of it runs any more."""
        self.run = run
        self.announcer = announcer
        self._on_end = on_end
        self._loop: TurnLoop | None = None
        self._reason = ""
        self._work = asyncio.create_task(self._do())
        # Stop cancels the work and never this: however it ends, the room is free again.
        self._life = asyncio.create_task(self._live())

    def stop(self) -> None:
        """Stop it; what was written so far is kept."""
        if not self._work.cancelling():
            self._work.cancel()

    def leave(self, reason: str) -> None:
        """Let it end at its next safe point; it was interrupted then, for this ``reason``."""
        self._reason = reason
        if self._loop:
            self._loop.leave()

    def wake(self) -> None:
        """Look at what a person has answered."""
        if self._loop:
            self._loop.wake()

    def cancel_condensing(self) -> None:
        """Cancel the condensation that runs or is to begin; a turn that waits for it goes on."""
        cancelled = self._loop is not None and self._loop.keeper.cancel()
        if not cancelled and self.run.wishes.take():
            self.announcer.publish(events.CondensingAwaited(False))

    def condense_soon(self, wish: Wish) -> None:
        """Condense after the step that runs, because somebody asked for it."""
        if self.run.wishes.ask(wish):
            self.announcer.publish(events.CondensingAwaited())

    async def ended(self) -> None:
        """Return when nothing of it runs any more."""
        await asyncio.wait({self._life})

    async def _do(self) -> str | None:
        """Do the work, and return what there is to say of it."""
        self.announcer.begin(self.run)
        self._loop = loop = await reading(TurnLoop)(self.run, self.announcer)
        if self._reason:
            loop.leave()
        if not self.run.turn.condenses:
            await loop.run()
            with contextlib.suppress(asyncio.CancelledError):
                # All is answered: a stop comes too late for the turn.
                await loop.keeper.draft_ahead()
            return None
        made = await loop.keeper.condense_now(self.run.scope)
        if made is None or made.kind != "cleared" or self.run.scope:
            return None
        # Its row stands where the output was, perhaps far above what is on the screen.
        return _(
            "Old tool output was cleared: it is one line each now. Condense again for a summary."
        )

    async def _live(self) -> None:
        ending = await ending_of(self._work)
        if self._reason and ending.turn == Turn.Status.STOPPED:
            ending = replace(ending, turn=Turn.Status.INTERRUPTED, reason=self._reason)
        try:
            ending = await sync_to_async(self._finish)(ending)
        finally:
            try:
                has_row = ending.turn not in _WITHOUT_ROW or bool(ending.reason)
                await self.announcer.end(ending.status, ending.notice, changed=has_row)
            finally:
                self._on_end(ending.is_success)

    def _finish(self, ending: Ending) -> Ending:
        """Close the turn's row, which says from now on how it ended; or return why that failed."""
        turn = self.run.turn
        if ending.turn == Turn.Status.WAITING:
            return ending
        try:
            if self._loop and self._loop.keeper.puts_off:
                message_store.put_off(self.run.conversation, False)
            lifecycle.finish_turn(
                turn=turn,
                status=ending.turn,
                error=ending.reason,
                details=ending.details,
                profile_at_fault=ending.profile_at_fault,
            )
        except (DatabaseError, OSError) as error:
            return storage_failed(error)
        # The turn of a condensation by hand has no row: what its attempt's does not say is said.
        return ending if turn.condenses else replace(ending, on_record=True)
