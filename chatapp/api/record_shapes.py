"""What the record looks like in an answer: what was done to a context, and who said what to it."""

import uuid
from datetime import datetime
from decimal import Decimal
from typing import Any

from ninja import Schema
from pydantic import Field

import condense
from chatapp.models import Condensation


class ReviewShape(Schema):
    """A summary that waits for a word on it, or what was said to it.

    It is the draft that an attempt wrote first, second … (``ordinal``). ``text`` is what was
    accepted in place of what was ``shown``, and ``focus`` what the next draft was to keep. At
    ``applies_at``, where there is such a moment, it applies by itself.
    """

    id: int
    condensation: uuid.UUID = Field(alias="condensation_id")
    ordinal: int
    status: str
    shown: str
    text: str
    focus: str
    shown_at: datetime
    applies_at: datetime | None = None
    answered_at: datetime | None = None


class UndoShape(Schema):
    """What an undo comes to: how many ``later`` condensations go with it, and the size after it.

    ``allowed`` is what fits; without a profile, both are unknown.
    """

    later: int
    tokens: int | None = Field(None, alias="tokens.value")
    measured: bool | None = Field(None, alias="tokens.measured")
    allowed: int | None = None


class RewindShape(Schema):
    """The conversation went back to before message ``to_seq``; ``last_seq`` was the newest then."""

    id: uuid.UUID
    cause: str
    to_seq: int
    last_seq: int
    messages_hidden: int
    results_hidden: int
    condensations_hidden: int
    created_at: datetime
    undone_at: datetime | None = None


class AttemptShape(Schema):
    """An attempt to make the context smaller, in short."""

    id: uuid.UUID
    conversation: uuid.UUID = Field(alias="conversation_id")
    kind: str
    status: str
    trigger: str
    strategy: str
    at_seq: int
    profile_name: str
    model: str
    writer_name: str
    writer_model: str
    threshold: float
    threshold_source: str
    context_window: int
    allowed: int
    tokens_before: int
    tokens_before_measured: bool
    tokens_after: int | None = None
    tokens_after_measured: bool
    messages_hidden: int
    results_hidden: int
    condensations_hidden: int
    cost: Decimal | None = None
    cost_measured: bool
    predicted_cost: Decimal | None = None
    fell_back_to: str
    error: str
    started_at: datetime
    finished_at: datetime | None = None
    undone_at: datetime | None = None
    redone_at: datetime | None = None


class RecordShape(AttemptShape):
    """All that is on record of an attempt."""

    prompt: str
    focus: str
    summary: str
    analysis: str
    notes: Any
    receipt: Any
    folded: Any
    details: str

    @staticmethod
    def resolve_receipt(attempt: Condensation) -> list[dict[str, Any]]:
        """Return what became of the facts in what was hidden."""
        receipt: condense.Receipt = attempt.receipt
        return receipt.to_json()


class CallShape(Schema):
    """A request to a model: what it was for, used and cost."""

    id: int
    turn: uuid.UUID | None = Field(None, alias="turn_id")
    condensation: uuid.UUID | None = Field(None, alias="condensation_id")
    purpose: str
    status: str
    profile_name: str
    provider: str
    model: str
    tokens_input: int
    tokens_output: int
    tokens_cache_read: int
    tokens_cache_write: int
    usage_measured: bool
    cost: Decimal | None = None
    seconds: float
    seconds_to_first: float | None = None
    request_id: str
    reply_id: str
    error: str
    created_at: datetime
