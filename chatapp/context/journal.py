"""The agent's journal, kept in the database: what was said, and every model call."""

import asyncio
from collections.abc import Sequence

from asgiref.sync import sync_to_async
from django.db import transaction

import condense
from chatapp.agent.ports import CallRecord, Purpose
from chatapp.context import budgets, sizes
from chatapp.models import Condensation, Conversation, Message, ModelCall, Profile, Turn, store


class StoredJournal:
    """The agent's ``Journal`` over one conversation."""

    def __init__(
        self,
        conversation: Conversation,
        profile: Profile,
        counter: condense.TokenCounter,
        turn: Turn | None = None,
    ) -> None:
        """Take the conversation, the profile that answers, and the running turn, if any."""
        self.conversation_id = conversation.pk
        self.profile_name = profile.name
        self.model = profile.model
        self.counter = counter
        self.turn = turn
        self._overhead = budgets.overhead_for(profile.provider).total
        self._estimate: int | None = None
        self._media = 0

    async def effective_history(self) -> Sequence[condense.Message]:
        """Return what the model sees, in reading order; it is what the next call sends."""
        history = await sync_to_async(store.read_effective)(self.conversation_id)
        self._estimate = self._overhead + sizes.sum_tokens(history)
        self._media = condense.count_media(history)
        return history

    async def append(
        self,
        message: condense.Message,
        *,
        stop_reason: str = "",
        call: CallRecord | None = None,
    ) -> condense.Message:
        """Store a message, with the call that wrote it, and return it with its seq."""
        counted = await asyncio.to_thread(condense.count_message, message, self.counter)
        return await sync_to_async(self._append)(message, counted, stop_reason, call)

    def _append(
        self, message: condense.Message, tokens: int, stop_reason: str, call: CallRecord | None
    ) -> condense.Message:
        with transaction.atomic():
            row = store.append_message(
                self.conversation_id,
                message,
                tokens=tokens,
                turn=self.turn,
                stop_reason=stop_reason,
            )
            if call:
                self._record(call, message=row)
        return store.to_engine(row)

    async def record_call(self, call: CallRecord) -> None:
        """Account for a call that left no message."""
        await sync_to_async(self._record)(call)

    def _record(self, call: CallRecord, message: Message | None = None) -> None:
        ModelCall.objects.create(
            **store.usage_columns(call.usage),
            conversation_id=self.conversation_id,
            turn=self.turn,
            message=message,
            condensation=self._running_attempt() if call.purpose is Purpose.SUMMARY else None,
            purpose=call.purpose,
            profile_name=self.profile_name,
            model=self.model,
            tokens_estimated=self._estimate if call.purpose is Purpose.CHAT else None,
            tokens_media=self._media if call.purpose is Purpose.CHAT else 0,
            cost=call.cost,
            seconds=call.seconds,
            error=call.error,
        )
        if message and call.usage.total and not call.error:
            store.remember_measurement(
                self.conversation_id, tokens=call.usage.total, seq=message.seq
            )

    def _running_attempt(self) -> Condensation | None:
        return Condensation.objects.filter(
            conversation=self.conversation_id, status=Condensation.Status.RUNNING
        ).first()
