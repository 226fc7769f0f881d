"""Hooks: an application's own steps around a condensation; none of them can break one.

A hook that raises is logged, noted with the attempt, and otherwise as if it were not there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

from condense.budget.situation import Addition, Reduction, Situation, Verdict
from condense.condenser.log import Event
from condense.errors import CondenseError, Vetoed
from condense.messages import Block
from condense.prompts import load_prompt

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run is about to do; ``situation`` is for reading, the rest may be changed.

    ``strategies`` are the names of the rungs in their order, ``prompt`` and ``focus`` the user's,
    ``prompt_key`` the prompt that is used where the user has none.
    """

    situation: Situation
    strategies: tuple[str, ...]
    prompt: str
    focus: str
    prompt_key: str


@dataclass(frozen=True, slots=True)
class Veto:
    """What a ``before`` hook returns to stop a run; ``reason`` is a sentence for people."""

    reason: str


ShouldCondense = Callable[[Situation], Awaitable[bool | None]]
Before = Callable[[Plan], Awaitable[Plan | Veto | None]]
After = Callable[[Situation, Reduction], Awaitable[Sequence[Block] | Addition]]
OnError = Callable[[Situation, CondenseError], Awaitable[Veto | None]]
Validator = Callable[[Situation, Reduction], Awaitable[Verdict]]
Listener = Callable[[Event], None]
PromptChoice = Callable[[Situation], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """All hooks of a condenser, each kind called in order.

    ``should_condense`` is asked before the threshold decides, and answers in its place, with None
    for "as it says"; not where the user wants nothing automatic, or a request is too long anyway.
    ``before`` may change the plan, with None for "as it is", or return a Veto; ``after`` returns
    blocks for the model to read after the summary, or an Addition to say something on record too;
    ``validators`` judge what is then applied; ``on_error`` hears of a failed attempt before the
    next rung, and may return a Veto against it; ``listeners`` are told each event and must return
    at once. What an ``after`` hook adds is left out where the context would hardly shrink with it.
    """

    should_condense: tuple[ShouldCondense, ...] = ()
    before: tuple[Before, ...] = ()
    after: tuple[After, ...] = ()
    validators: tuple[Validator, ...] = ()
    on_error: tuple[OnError, ...] = ()
    listeners: tuple[Listener, ...] = ()

    def __add__(self, others: "Hooks") -> "Hooks":
        """Return these and then the others; what is among both is called once."""
        both: dict[str, tuple[Any, ...]] = {}
        for kind in fields(self):
            ours, theirs = getattr(self, kind.name), getattr(others, kind.name)
            both[kind.name] = (*ours, *[hook for hook in theirs if hook not in ours])
        return Hooks(**both)


@dataclass(frozen=True, slots=True)
class HookRun:
    """The hooks during one run, and what went wrong in them, as sentences for the record."""

    hooks: Hooks
    troubles: list[str] = field(default_factory=list)

    async def should_condense(self, situation: Situation) -> bool | None:
        """Return the first answer of a hook, None where the threshold is to decide."""
        for hook in self.hooks.should_condense:
            with self._guarded(hook):
                answer = await hook(situation)
                if answer is not None:
                    return bool(answer)
        return None

    async def on_error(self, situation: Situation, error: CondenseError) -> Veto | None:
        """Return the first veto against a further rung."""
        for hook in self.hooks.on_error:
            with self._guarded(hook):
                answer = await hook(situation, error)
                if isinstance(answer, Veto):
                    return answer
        return None

    async def plan(
        self,
        situation: Situation,
        strategies: tuple[str, ...],
        choose: PromptChoice | None,
        key: str,
    ) -> Plan:
        """Return what is to be done as the hooks want it; raise Vetoed where one does not.

        The key of a prompt that does not exist is noted, and that of ``key`` holds.
        """
        if choose:
            with self._guarded(choose):
                key = self._known(choose(situation)) or key
        plan = Plan(
            situation=situation,
            strategies=strategies,
            prompt=situation.prompt,
            focus=situation.focus,
            prompt_key=key,
        )
        for hook in self.hooks.before:
            answer: Plan | Veto | None = None
            with self._guarded(hook):
                answer = await hook(plan)
            if isinstance(answer, Veto):
                raise Vetoed(answer.reason)
            plan = answer if isinstance(answer, Plan) else plan
        return replace(plan, prompt_key=self._known(plan.prompt_key) or key)

    def _known(self, key: str) -> str:
        """Return the key of a prompt, "" where there is none of that key, which is noted."""
        try:
            return key if key and load_prompt(key) else ""
        except LookupError as error:
            self.troubles.append(str(error))
            return ""

    async def addition(
        self, hook: After, situation: Situation, reduction: Reduction
    ) -> Addition | None:
        """Return what an ``after`` hook adds, None where it failed."""
        made: Addition | None = None
        with self._guarded(hook):
            added = await hook(situation, reduction)
            addition = added if isinstance(added, Addition) else Addition(blocks=tuple(added))
            kinds = {type(block) for block in addition.blocks}
            if not kinds <= {*get_args(Block)}:
                raise TypeError("it returned something that is no content block")
            made = addition
        return made  # noqa: RET504 - the guard may have kept it None

    async def judged(self, situation: Situation, reduction: Reduction) -> Reduction:
        """Return the reduction with the verdicts on it, and with what went wrong in hooks."""
        verdicts: list[Verdict] = []
        for hook in self.hooks.validators:
            with self._guarded(hook):
                verdict = await hook(situation, reduction)
                verdicts.append(replace(verdict, name=verdict.name or name_of(hook)))
        notes = (*reduction.notes, *self.troubles)
        return replace(reduction, verdicts=tuple(verdicts), notes=notes)

    def tell(self, event: Event) -> None:
        """Tell the listeners."""
        for listener in self.hooks.listeners:
            with self._guarded(listener):
                listener(event)

    @contextmanager
    def _guarded(self, hook: object) -> Iterator[None]:
        try:
            yield
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            # Unless only something that the hook waited for was cancelled.
            if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling()):
                raise
            log.warning("the hook %s failed", name_of(hook), exc_info=True)
            reason = str(error) or type(error).__name__
            self.troubles.append(f"The hook {name_of(hook)} failed: {reason}")


def name_of(hook: object) -> str:
    """Return the name of a hook, for the record."""
    return str(getattr(hook, "__qualname__", type(hook).__qualname__))
