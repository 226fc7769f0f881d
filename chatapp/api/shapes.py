"""What an answer looks like: the fields of rows that programs may read, and no others."""

import uuid
from datetime import datetime
from decimal import Decimal
from typing import Any

from ninja import Schema
from pydantic import Field


class Page[T](Schema):
    """A part of a list; ``next`` is what to send as ``after`` for the next one, if there is."""

    items: list[T]
    next: str | None = None


class ConversationShape(Schema):
    """A conversation; ``last_seq`` is the number of its newest message."""

    id: uuid.UUID
    title: str
    profile: int | None = Field(None, alias="profile_id")
    workspace: str
    budget: Decimal | None = None
    last_seq: int
    created_at: datetime
    updated_at: datetime
    pinned_at: datetime | None = None
    archived_at: datetime | None = None


class MessageShape(Schema):
    """A message as it is stored, and what hides it.

    ``content`` is a list of blocks: ``text``, ``image``, ``tool_use``, ``tool_result`` and so on.
    ``position`` is its place in reading order.
    """

    seq: int
    position: int
    role: str
    content: Any
    tokens: int
    stop_reason: str
    created_at: datetime
    hidden: bool
    undone: bool
    condense_id: uuid.UUID | None = None
    condense_parent: uuid.UUID | None = None
    truncation_id: uuid.UUID | None = None
    truncation_parent: uuid.UUID | None = None
    clear_id: uuid.UUID | None = None
    rewind_parent: uuid.UUID | None = None


class SeenShape(Schema):
    """A message as the model sees it: what was cleared in it is one line."""

    seq: int
    role: str
    content: Any
    tokens: int


class EffectiveShape(Schema):
    """The effective history, in reading order, and what its messages take together."""

    tokens: int
    messages: list[SeenShape]


class AttachmentShape(Schema):
    """A file that waits to go with a message, by its ``id``; it is kept for a week."""

    id: uuid.UUID
    name: str = Field(alias="facts.name")
    kind: str = Field(alias="facts.kind")
    tokens: int
    created_at: datetime


class TurnShape(Schema):
    """From a message to its answer, or a condensation by hand, and how it stands or ended.

    ``at_seq`` was the newest message before it, ``last_seq`` the newest when it ended.
    """

    id: uuid.UUID
    nonce: uuid.UUID
    origin: str
    status: str
    doing: str
    step: int
    error: str
    at_seq: int
    last_seq: int | None = None
    rewind: uuid.UUID | None = Field(None, alias="rewind_parent")
    started_at: datetime
    finished_at: datetime | None = None


class QuestionShape(Schema):
    """What a turn asks a person: whether a tool may run ("permission"), or for an "answer".

    ``shown`` is what the tool would change, as far as that is known before.
    """

    id: int
    turn: uuid.UUID = Field(alias="turn_id")
    kind: str
    status: str
    tool: str
    seq: int
    text: str
    shown: str
    suggestions: list[Any]
    answer: str
    asked_at: datetime
    answered_at: datetime | None = None


class PinShape(Schema):
    """What the model keeps word for word: message ``seq``, of which ``text`` is the beginning."""

    seq: int
    label: str
    text: str
    tokens: int


class PinsShape(Schema):
    """All pins, the ``tokens`` that they take, and how many they may take at ``most``."""

    tokens: int
    most: int
    pins: list[PinShape]


class ProfileShape(Schema):
    """A model at a provider; of its key, only where it comes from."""

    id: int
    name: str
    provider: str
    model: str
    base_url: str
    key_source: str
    context_window: int
    max_output: int
    text_only: bool
    price_input: Decimal
    price_output: Decimal
    price_cache_read: Decimal
    price_cache_write: Decimal
    threshold: int
    effort: str
    temperature: Decimal | None = None
    system_prompt: str


class SettingsShape(Schema):
    """How condensing and the agent work for the user; an empty strategy is the server's."""

    auto_condense: bool
    threshold: int
    adaptive: bool
    strategy: str
    messages_kept: int
    keep_first: bool
    clear_tool_output: bool
    review_automatic: bool
    review_seconds: int
    draft_ahead: str
    draft_share: int
    condense_idle: bool
    condensing_prompt: str
    step_limit: int
    month_budget: Decimal | None = None
    name_conversations: bool
    environment_details: bool
    default_profile: int | None = Field(None, alias="default_profile_id")
