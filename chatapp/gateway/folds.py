"""Folds: summaries of clients' conversations, written in the background for later requests.

No request waits for one. Once it is applied, tags of messages say what is folded, as elsewhere.
"""

import logging
import uuid
from dataclasses import replace
from typing import override

from asgiref.sync import sync_to_async
from django.db import transaction

import condense
from chatapp.agent import events
from chatapp.agent.errors import AgentError, SpendingLimitReached
from chatapp.agent.model_call import ProviderSummarizer
from chatapp.condensing.attempt_log import AttemptLog
from chatapp.condensing.condenser_setup import loaded_configuration
from chatapp.condensing.draft_writer import DraftDropped, journal_outside
from chatapp.condensing.ratings import feedback_of
from chatapp.conversations.context.sizes import COUNTER, Scale, sum_tokens
from chatapp.conversations.context.turn_context import TurnSettings, read_terms
from chatapp.conversations.embedding.rules_by_meaning import rules_among
from chatapp.gateway.requests import GatewayRequest
from chatapp.models import ApiToken, Condensation, Conversation, Message, Turn
from chatapp.models.accounts import provider_for
from chatapp.models.database import lock, reading
from chatapp.operations.background_jobs import enqueue
from chatapp.turns import actions
from condense import noop

log = logging.getLogger(__name__)

# Of the window, in percent: clients condense by themselves above this.
MOST_PERCENT = 70
CHANGED = noop("The program went on otherwise meanwhile, so the summary was dropped.")


class FoldLog(AttemptLog):
    """A log that applies a summary to a client's conversation, unless that went back meanwhile."""

    drafts = True

    @override
    def _trigger(self, attempt: condense.Attempt) -> str:
        return str(attempt.trigger)

    @override
    @transaction.atomic
    def _apply(
        self, attempt: condense.Attempt, reduction: condense.Reduction, receipt: condense.Receipt
    ) -> tuple[condense.TokenCount, events.ContextChanged]:
        lock(Conversation, pk := self.run.conversation.pk)
        shown = Message.objects.filter(pk__in=reduction.hidden, hidden=False)
        if shown.count() < len(reduction.hidden) or not Conversation(pk=pk).writer:
            raise condense.CondenseError(CHANGED)
        return super()._apply(attempt, reduction, receipt)

    @override
    def _finish(self, attempt: condense.Attempt, status: str, **columns: object) -> None:
        running = Condensation.objects.filter(pk=attempt.id, status=Condensation.Status.RUNNING)
        if not running.exists():
            raise DraftDropped(noop("Another process closed this attempt."))
        super()._finish(attempt, status, **columns)


def _budget(terms: TurnSettings) -> condense.Budget:
    budget = terms.budget()
    return replace(budget, threshold=min(MOST_PERCENT, budget.percent(budget.condenses_at)))


def fold_if_due(request: GatewayRequest, conversation: Conversation, tokens: int) -> None:
    """Have a conversation of this size folded, if its client's token wants that and it is due.

    It is not due while one is made, or while a person has undone one.
    """
    pk, status = conversation.pk, Condensation.Status
    if request.told.is_part or request.token.mode != ApiToken.Mode.CONDENSE:
        return
    tried = Condensation.objects.filter(conversation=pk, message__rewind_parent=None)
    is_open = tried.filter(status__in=(status.RUNNING, status.UNDONE)).exists()
    if not is_open and (terms := read_terms(pk)) and tokens >= _budget(terms).condenses_at:
        enqueue("fold_conversation", key=str(pk), conversation=str(pk))


async def fold_conversation(conversation: str) -> None:
    """Write a summary of a client's conversation, and apply it for the next request."""
    pk = uuid.UUID(conversation)
    try:
        condenser, situation = await reading(_prepare)(pk)
        await condenser.fit(situation)
    except SpendingLimitReached as reason:
        await sync_to_async(_note)(pk, str(reason))
    except (condense.CondenseError, AgentError) as error:
        log.info("a conversation of a client was not folded: %s", type(error).__name__)
    await reading(actions.announce_change)(pk)


@transaction.atomic
def _note(pk: uuid.UUID, reason: str) -> None:
    """Have a row say why nothing is folded, unless the newest one says so."""
    lock(Conversation, pk)
    Turn.objects.note(Conversation(pk=pk), Turn.Status.SUCCEEDED, reason)


def _prepare(pk: uuid.UUID) -> tuple[condense.Condenser, condense.Situation]:
    """Return the condenser for a conversation as it is stored, and its situation."""
    terms = read_terms(pk)
    if terms is None or terms.conversation.deleted_at:
        raise AgentError(CHANGED)
    scale = replace(Scale.read(terms), overhead=0)
    journal = journal_outside(terms, scale)
    size = scale.weigh(history := journal.read_history())
    # The client's prompt and tools, in place of our own.
    scale.overhead = max(0, size.value - sum_tokens(history))
    made = loaded_configuration(terms)
    # Only words can stand in a request of another program.
    rungs = [one for one in made.strategies if getattr(one, "kind", "") == "condensed"]
    named = [one for one in rungs if getattr(one, "name", "") != "provider"] or ["fresh_start"]
    provider, audience = provider_for(terms.writer), journal.saver.audience
    writer = ProviderSummarizer(provider, journal, audience, apart=True)
    condenser = replace(made, strategies=named).condenser(writer, COUNTER, log=FoldLog(journal))
    tried = Condensation.objects.filter(conversation=pk).order_by("-at_seq").first()
    wanted = {"model": terms.profile.model, "automatic": True, **terms.whose}
    wanted |= {"rules_among": rules_among, "feedback": feedback_of(terms.conversation.owner)}
    wanted |= {"condensed_at": tried.at_seq if tried else 0}
    return condenser, made.situation(history, size, _budget(terms), **wanted)
