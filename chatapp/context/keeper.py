"""Keeps one conversation's context within its window: situation in, smaller history out."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext as _

import condense
from chatapp.agent.errors import AgentError
from chatapp.agent.ports import Journal, Toolbox
from chatapp.agent.prompts import describe_environment
from chatapp.context.attempts import StoredLog
from chatapp.context.sizes import Scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the user set: the automatic switch, an own prompt, and a focus for this run."""

    automatic: bool
    prompt: str = ""
    focus: str = ""


class CondensingCancelled(AgentError):
    """The user cancelled a condensation without which the turn can't go on."""


class Keeper:
    """The agent's ``ContextKeeper`` over ``condense.Condenser``; one per turn or manual run."""

    def __init__(
        self,
        *,
        condenser: condense.Condenser,
        log: StoredLog,
        journal: Journal,
        toolbox: Toolbox,
        budget: condense.Budget,
        system: str,
        scale: Scale,
        wishes: Wishes,
    ) -> None:
        """Take the parts."""
        self.condenser = condenser
        self.log = log
        self.journal = journal
        self.toolbox = toolbox
        self.budget = budget
        self.system = system
        self.scale = scale
        self.wishes = wishes
        self._running: asyncio.Task[condense.Reduction | None] | None = None
        self._declined = False
        self.made: condense.Reduction | None = None

    async def fit(
        self, history: Sequence[condense.Message], trigger: condense.Trigger
    ) -> Sequence[condense.Message]:
        """Return the history to send: the same, or what is left after a reduction.

        Raises condense.CannotFit when nothing more may be hidden, and CondensingCancelled when the
        user cancelled what was needed.
        """
        situation = await self._situation(history, trigger)
        self.log.effective = situation.effective
        self._running = asyncio.ensure_future(self.condenser.fit(situation))
        try:
            self.made = await self._running
        except asyncio.CancelledError:
            if _is_cancelled_itself():
                raise
            return self._after_cancel(situation)
        finally:
            self._running = None
        return history if self.made is None else await self.journal.effective_history()

    def cancel(self) -> bool:
        """Cancel the condensation that runs; the turn goes on. False when none runs."""
        if self._running is None:
            return False
        self._declined = True
        return self._running.cancel()

    def _after_cancel(self, situation: condense.Situation) -> Sequence[condense.Message]:
        if situation.is_over:
            raise CondensingCancelled(
                _("Condensing was cancelled, and the context is too large to go on without it.")
            )
        return situation.effective

    async def _situation(
        self, history: Sequence[condense.Message], trigger: condense.Trigger
    ) -> condense.Situation:
        manual = trigger is condense.Trigger.MANUAL
        return condense.Situation(
            effective=tuple(history),
            tokens=await self.scale.weigh(history),
            budget=self.budget,
            trigger=trigger,
            system=self.system,
            tools=tuple(spec.to_api() for spec in self.toolbox.specs),
            automatic=self.wishes.automatic,
            prompt=self.wishes.prompt,
            focus=self.wishes.focus,
            environment=self._describe_environment,
            condensed_at=await self.log.condensed_at(),
            # A summary that failed or was declined is not tried again in the same turn.
            may_ask=manual or not (self.log.model_failed or self._declined),
        )

    async def _describe_environment(self) -> str:
        files = await self.toolbox.run("list_files", {})
        return describe_environment(now=f"{timezone.now():%Y-%m-%d %H:%M} UTC", files=files.text)


def _is_cancelled_itself() -> bool:
    """Whether the turn was stopped, rather than only the condensation it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
