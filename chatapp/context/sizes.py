"""How large a context is: measured by the provider, else counted by the vendor, else estimated.

Estimates are calibrated with what the provider reported for this conversation and model.
"""

import asyncio
import uuid
from collections.abc import Sequence

from asgiref.sync import sync_to_async

import condense
from chatapp.agent.ports import ModelRequest, Provider, ToolSpec
from chatapp.context import budgets
from chatapp.models import Conversation, ModelCall, Profile, store

# From this share of the point where condensing starts, the vendor is asked: before its first
# report an estimate may be wrong by half, and above it the answer may decide something.
CLOSE = 0.5


def read_calibration(conversation_id: uuid.UUID, model: str) -> condense.Calibration:
    """Return what the latest calls to ``model`` teach about its tokenizer."""
    calls = ModelCall.objects.filter(conversation=conversation_id).measured(model)
    calibration = condense.Calibration()
    for call in reversed(calls[: condense.Calibration.MEMORY]):
        estimated = call.tokens_estimated or 0
        calibration = calibration.observe(estimated, call.tokens_prompt, media=call.tokens_media)
    return calibration


def count_context(
    conversation: Conversation,
    history: Sequence[condense.Message],
    overhead: int,
    calibration: condense.Calibration,
) -> condense.TokenCount:
    """Return the context's size: the provider's last word plus estimates of what came since.

    ``overhead`` is the estimate of system prompt and tools, used where nothing was measured.
    """
    measured_seq = conversation.measured_seq
    if conversation.measured_tokens is None or measured_seq is None:
        media = condense.count_media(history)
        return calibration.apply(overhead + sum_tokens(history), media=media)
    newer = [message for message in history if message.seq > measured_seq]
    media = condense.count_media(newer)
    return calibration.extend(conversation.measured_tokens, sum_tokens(newer), media=media)


def sum_tokens(history: Sequence[condense.Message]) -> int:
    """Return the messages' estimates, as stored; only what was cleared is counted here."""
    return condense.count_messages(history, budgets.COUNTER)


def context_size(
    conversation: Conversation, profile: Profile, history: Sequence[condense.Message]
) -> condense.TokenCount:
    """Return the size of ``history``, with system prompt and tools, for ``profile``."""
    overhead = budgets.overhead_for(profile.provider).total
    calibration = read_calibration(conversation.pk, profile.model)
    return count_context(conversation, history, overhead, calibration)


class Scale:
    """Weighs one conversation before each request; one per turn or manual run."""

    def __init__(
        self,
        *,
        conversation: Conversation,
        profile: Profile,
        provider: Provider,
        budget: condense.Budget,
        system: str,
        tools: tuple[ToolSpec, ...],
    ) -> None:
        """Take the conversation, who answers within which budget, and what requests repeat."""
        self.conversation = conversation
        self.profile = profile
        self.provider = provider
        self.budget = budget
        self.system = system
        self.tools = tools
        self._may_ask = True

    async def weigh(self, history: Sequence[condense.Message]) -> condense.TokenCount:
        """Return the size of the next request, at the vendor's word where that may matter."""
        size, known = await sync_to_async(self._look)(history)
        if known or not self._may_ask or size.value < CLOSE * self.budget.condenses_at:
            return size
        self._may_ask = False
        return await self._ask(history) or size

    def _look(self, history: Sequence[condense.Message]) -> tuple[condense.TokenCount, bool]:
        """Return the size as it is known here, and whether any of it was measured."""
        fresh = Conversation.objects.get(pk=self.conversation.pk)
        size = context_size(fresh, self.profile, history)
        return size, fresh.measured_tokens is not None

    async def _ask(self, history: Sequence[condense.Message]) -> condense.TokenCount | None:
        images = self.provider.model.supports_images
        messages = await asyncio.to_thread(condense.shape_request, history, supports_images=images)
        tokens = await self.provider.count_tokens(ModelRequest(self.system, messages, self.tools))
        if tokens is None:
            return None
        seq = max(message.seq for message in history)
        await sync_to_async(store.remember_measurement)(
            self.conversation.pk, tokens=tokens, seq=seq
        )
        return condense.TokenCount(tokens, measured=True)
