"""Attempts: one strategy is tried, on record from its start to its end."""

import asyncio
import logging
import math
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field, replace

from condense.budget.situation import Addition, Reduction, Trigger
from condense.condenser.contradictions import find_contradictions
from condense.condenser.hooks import After, HookRun, name_of
from condense.condenser.ladder import Ladder
from condense.condenser.log import (
    Attempt,
    AttemptFailed,
    AttemptStarted,
    AttemptSucceeded,
    CondensationLog,
    FellBack,
)
from condense.condenser.review import Accept, Proposal, Reviewer
from condense.errors import CondenseError, DidNotShrink, Discarded, SummaryRejected, Vetoed
from condense.facts.ledger import ledger_of
from condense.history.signed_blocks import count_thinking_behind
from condense.loops import run_apart
from condense.messages import Block, TextBlock
from condense.prices import Usage
from condense.reduction.carryover import carry_answered
from condense.reduction.strategy import Strategy, asks_model, expected_usage
from condense.sentences import noop, say
from condense.summaries.summarizer import Bill, Kit
from condense.summaries.summary_failures import describe

CUSTOM = "custom"
NOT_WRITTEN = noop("It was to be written again, which failed: {error}")
UNBOUND = noop(
    "Thinking that is not sent any more, since what stood before it changed: {count} blocks."
)
REPAIRED = noop("A first summary was refused, and written again: {lacking}")
SUMMARY_REFUSED = noop("The summary was refused: {issue}")
USED = noop("The refused summary was used, as you chose: {issue}")
# Weights of tokens in units of those read at the full price, as most vendors price them.
WRITTEN, CACHED, CACHE_WRITTEN = 5, 0.1, 1.25

# For the server's log: never the words of a message, a summary or an error.
STARTED = "attempt %s: %s, %s, %d tokens"
SUCCEEDED = "attempt %s: %d → %d tokens (%+.0f %%), %d hidden, cost %s"
ATTEMPT_FAILED = "attempt %s: %s after %d calls, cost %s; next: %s"

# Above this share of the size before, a condensation gained little for its cost.
LITTLE = 0.8

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class AttemptRunner:
    """Runs one strategy and checks its result against ladder and hooks."""

    strategy: Strategy
    ladder: Ladder
    hooks: HookRun
    kit: Kit
    log: CondensationLog
    reviewer: Reviewer
    id_: InitVar[str] = ""  # of an attempt that was broken off in its review
    refused: Reduction | None = None  # a model's summary that a person may still choose
    attempt: Attempt = field(init=False)
    _characters: int = field(default=0, init=False)

    def __post_init__(self, id_: str) -> None:
        """Describe the attempt, and give the strategy its kit."""
        strategy, ladder, kit = self.strategy, self.ladder, self.kit
        situation, prompt = ladder.situation, ""
        try:
            prompt = strategy.prompt_for(situation)
        except Exception as error:  # noqa: BLE001 - a strategy may be anybody's
            self.hooks.troubles.append(say("The prompt is not on record: {error}", error=error))
        key = CUSTOM if situation.prompt.strip() else situation.prompt_key
        self.attempt = Attempt(
            id=id_ or kit.new_id(),
            strategy=strategy.name,
            kind=strategy.kind,
            trigger=situation.trigger,
            threshold=situation.budget.threshold,
            threshold_source=situation.budget.threshold_source,
            tokens_before=situation.tokens,
            prompt=prompt,
            prompt_key=key if prompt else "",
            focus=situation.focus,
            expected=expected_usage(ladder.gauge, prompt, kit.summarizer, kit.counter),
            effective=situation.effective,
            user=situation.user,
            conversation=situation.conversation,
        )
        bill, is_enough = Bill(self.attempt.id), ladder.is_enough
        self.kit = replace(kit, on_text=self._on_text, bill=bill, is_enough=is_enough)

    async def run(self, rest: Sequence[Strategy], draft: Reduction | None = None) -> Reduction:
        """Return the reduction that was applied; raise the reason if there is none.

        Of a ``draft`` only the review is left to be done.
        """
        try:
            if draft is None:
                made, size = self.attempt, self.attempt.tokens_before.value
                await self.log.started(made)
                logger.info(STARTED, made.id, made.strategy, made.trigger, size)
                self.hooks.tell(AttemptStarted(made))
                draft = await self._reduce()
            reduction = await self._with_environment(await self._reviewed(draft))
        except (asyncio.CancelledError, Discarded):
            logger.info("attempt %s: cancelled", self.attempt.id)
            await asyncio.shield(self.log.cancelled(self.attempt))
            raise
        except CondenseError as error:
            if veto := await self.hooks.on_error(self.ladder.situation, error):
                self.hooks.troubles.append(veto.reason)
            await self._failed(error, () if veto else rest)
            if veto:
                raise Vetoed(veto.reason, cost=error.cost, calls=error.calls) from error
            raise
        try:
            known = await self.log.succeeded(self.attempt, reduction)
        except CondenseError as error:
            await self._failed(error, rest)
            raise
        reduction = replace(reduction, tokens_after=known or reduction.tokens_after)
        sizes = reduction.tokens_before.value, reduction.tokens_after.value
        level = logging.WARNING if sizes[1] > LITTLE * sizes[0] else logging.INFO
        figures = *sizes, 100 * (sizes[1] / max(1, sizes[0]) - 1), reduction.count
        logger.log(level, SUCCEEDED, self.attempt.id, *figures, f"{reduction.cost:f}")
        self.hooks.tell(AttemptSucceeded(self.attempt, reduction))
        return reduction

    async def vetoed(self, veto: Vetoed) -> None:
        """Record an attempt that a hook forbade."""
        self.attempt = replace(self.attempt, prompt="", prompt_key="", expected=Usage())
        await self.log.started(self.attempt)
        self.hooks.tell(AttemptStarted(self.attempt))
        await self._failed(veto, ())

    async def _failed(self, error: CondenseError, rest: Sequence[Strategy]) -> None:
        """Close the record with the attempt's cost, and name the strategy that follows."""
        bill = self.kit.bill
        error.cost = max(error.cost, bill.cost)
        error.calls = max(error.calls, len(bill.calls))
        if self.hooks.troubles:
            error.details = "\n".join((error.details, *self.hooks.troubles)).strip()
        following = next((one.name for one in self.ladder.after(rest, error)), None)
        await self.log.failed(self.attempt, error, fell_back_to=following)
        told, name = following or "nothing", type(error).__name__
        figures = name, error.calls, f"{error.cost:f}"
        logger.info(ATTEMPT_FAILED, self.attempt.id, *figures, told)
        self.hooks.tell(AttemptFailed(self.attempt, error))
        if following:
            self.hooks.tell(FellBack(self.attempt, following))

    async def _reviewed(self, reduction: Reduction) -> Reduction:
        """Return the reduction that a person accepts, written again as often as they ask."""
        scale = self.ladder.gauge.scale
        while True:
            proposal = Proposal(
                reduction=reduction,
                by_model=asks_model(self._named(reduction.strategy)),
                scale=scale,
                refused=self.refused,
            )
            answer = await self.reviewer.review(self.attempt, proposal)
            if not isinstance(answer, Accept):
                focused = replace(self.ladder.situation, focus=answer.focus)
                self.ladder = replace(self.ladder, situation=focused)
                self.strategy = self._named(proposal.written.strategy)
                try:
                    reduction, self.refused = await self._reduce(), None
                except CondenseError as error:
                    # The person gets the version before, with a note.
                    noted = NOT_WRITTEN.format(error=error)
                    reduction = replace(reduction, notes=(*reduction.notes, noted))
            elif answer.uses_refused and self.refused:
                used = USED.format(issue=self.refused.lacking[0])
                return replace(self.refused, notes=(*self.refused.notes, used))
            elif answer.summary is None:
                return reduction
            else:
                reduction = proposal.edited(answer.summary, self.kit.counter)
                try:
                    await asyncio.to_thread(self.ladder.check, reduction)
                except DidNotShrink as error:
                    # A person's words are not dropped for that: they may shorten them.
                    reduction = replace(reduction, notes=(*reduction.notes, str(error)))
                else:
                    return reduction

    def _named(self, name: str) -> Strategy:
        """Return the strategy of this name, this attempt's own if the ladder has none."""
        return next((one for one in self.ladder.strategies if one.name == name), self.strategy)

    async def _with_environment(self, reduction: Reduction) -> Reduction:
        """Return an automatic summary with the environment as it is now, if that has room."""
        # It is not part of a draft or of a proposal: either may wait for hours.
        situation = self.ladder.situation
        asked = situation.trigger is Trigger.MANUAL
        if asked or reduction.kind != "condensed" or not situation.environment:
            return reduction
        try:
            details = await situation.environment()
            described = self._longer(reduction, (TextBlock(details),) if details.strip() else ())
            await asyncio.to_thread(self.ladder.check, described)
        except Exception as error:  # noqa: BLE001 - a summary already paid for is worth more
            noted = say("The environment's details are missing: {error}", error=error)
            return replace(reduction, notes=(*reduction.notes, noted))
        return described

    async def _reduce(self) -> Reduction:
        """Return the strategy's reduction; repair a rejected summary once, if that pays."""
        # An exception of a strategy is a failure of this rung only.
        try:
            reduction = await self._judged(self.kit)
            found = reduction.lacking if asks_model(self.strategy) else ()
            if not found:
                return reduction
            # A repair costs as much as the first try. Its worth are the tokens spared in requests
            # until the next condensation; a ledger spares as many, but its gaps are read again.
            used = self.kit.bill.usage
            cached = CACHED * used.cache_read + CACHE_WRITTEN * used.cache_write
            spared = reduction.tokens_before.value - reduction.tokens_after.value
            worth = self.ladder.policy.distance_messages * spared
            if used.input + cached + WRITTEN * used.output >= worth:
                raise self._rejection(reduction)
            repaired = await self._judged(replace(self.kit, lacking=found))
            if repaired.lacking:
                raise self._rejection(repaired)
            notes = (REPAIRED.format(lacking=found), *repaired.notes)
            return replace(repaired, notes=notes)
        except CondenseError:
            raise
        except Exception as error:
            logger.exception("the strategy %s failed unexpectedly", self.strategy.name)
            said = say("The strategy {name} failed unexpectedly", name=self.strategy.name)
            raise CondenseError(said, details=describe(error)) from error

    async def _judged(self, kit: Kit) -> Reduction:
        """Return the strategy's reduction, with additions of hooks and verdicts of validators."""
        situation = self.ladder.situation
        kit = replace(kit, loop=asyncio.get_running_loop())
        reduction = await run_apart(self.strategy.reduce(situation, kit))
        await asyncio.to_thread(self.ladder.check, reduction)
        for hook in self.hooks.hooks.after:
            if addition := await self.hooks.addition(hook, situation, reduction):
                reduction = await asyncio.to_thread(self._extended, reduction, addition, hook)
        if reduction.kind == "truncated" and (why := self.ladder.asks_nobody):
            reduction = replace(reduction, notes=(why, *reduction.notes))
        if count := count_thinking_behind(situation.effective, reduction.hidden):
            reduction = replace(reduction, notes=(*reduction.notes, UNBOUND.format(count=count)))
        judged = await self.hooks.judged(situation, reduction)
        checked = self.ladder.policy.finds_contradictions and judged.prompt and judged.summary
        if not checked or judged.lacking:
            return judged
        verdicts = (*judged.verdicts, await find_contradictions(judged, situation, kit))
        bill = self.kit.bill
        return replace(judged, verdicts=verdicts, usage=bill.usage, cost=bill.cost)

    def _extended(self, reduction: Reduction, addition: Addition, hook: After) -> Reduction:
        """Return the reduction with a hook's addition, or without it if that takes too much.

        Raises DidNotShrink if that would lose facts that an earlier ledger had kept, and the
        request can be sent as it is.
        """
        situation = self.ladder.situation
        extended = self._longer(reduction, addition.blocks)
        try:
            self.ladder.check(extended)
        except DidNotShrink:
            hidden = reduction.hidden_among(situation.effective)
            loses_ledger = any(map(ledger_of, hidden)) and not ledger_of(reduction.message)
            if situation.fits and loses_ledger:
                raise
            what = addition.what or say("what the hook {name} adds", name=name_of(hook))
            self.hooks.troubles.append(
                say("For lack of room this was left out: {what}.", what=what)
            )
            # A few words name the omitted parts of the newest request.
            blocks, counter = addition.blocks, self.kit.counter
            told = carry_answered(situation.effective, reduction, blocks, counter)
            extended, addition = self._longer(reduction, told), addition.left_out()
            if told:
                self.ladder.check(extended)
        notes = (*reduction.notes, *addition.notes)
        return replace(extended, notes=notes, folded=addition.folded or reduction.folded)

    def _longer(self, reduction: Reduction, blocks: Sequence[Block]) -> Reduction:
        """Return the reduction with more for the model to read."""
        if not blocks:
            return reduction
        content = (*reduction.message.blocks, *blocks)
        message = replace(
            reduction.message, content=content, tokens=self.kit.counter.count(content)
        )
        _, after = self.ladder.gauge.compare(reduction.hidden, message)
        return replace(reduction, message=message, tokens_after=after)

    def _rejection(self, made: Reduction) -> SummaryRejected:
        """Return the error for a rejected summary, with its reasons and its text."""
        self.refused, issues = made, made.lacking
        said = SUMMARY_REFUSED.format(issue=issues[0])
        error = SummaryRejected(said, details="\n".join((*issues, "", made.summary)))
        error.rules = tuple([one.name for one in made.verdicts if one.rejects])
        return error

    async def _on_text(self, text: str) -> None:
        self._characters += len(text)
        # The same rule of thumb as CharacterCounter: exact counts of pieces would not add up.
        await self.log.progressed(self.attempt, math.ceil(self._characters / 4))
        calls = self.kit.bill.calls
        await self.reviewer.heard(self.attempt, lambda: calls[-1].parsed.summary)
