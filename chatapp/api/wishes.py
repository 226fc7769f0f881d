"""What programs may ask to be done or changed; no key and no address can be among it."""

import uuid
from decimal import Decimal
from typing import Literal

from ninja import Schema
from pydantic import Field

LARGEST = 1_000_000_000


class NewConversation(Schema):
    """What a conversation begins with; without a title, its first message gives it one."""

    title: str = Field("", max_length=200)
    profile: int | None = Field(None, ge=0, le=LARGEST)


class NewMessage(Schema):
    """A message; ``nonce`` makes it harmless to send it again.

    In a ``literal`` text, what looks like a command or a path is text. ``attachments`` are the ids
    of files that wait to be sent.
    """

    text: str
    nonce: uuid.UUID = Field(default_factory=uuid.uuid4)
    literal: bool = False
    attachments: list[uuid.UUID] = Field(default_factory=list, max_length=100)


class Condensing(Schema):
    """A condensation by hand; the same ``nonce`` once more begins nothing.

    ``focus`` is what it should keep above all. With ``review`` it waits for a word on its summary
    before it applies.
    """

    nonce: uuid.UUID = Field(default_factory=uuid.uuid4)
    focus: str = Field("", max_length=2_000)
    review: bool = False


class ReviewAnswer(Schema):
    """What is said to a summary: "accept" it, have it written "again", or "discard" it.

    A ``summary`` is accepted in the place of the one that was shown, and ``focus`` is what a new
    one should keep above all.
    """

    decision: Literal["accept", "again", "discard"]
    summary: str | None = None
    focus: str = ""


class NewPin(Schema):
    """A ``rule`` of one's own, or message ``seq``, or a passage ``selected`` of its text."""

    rule: str | None = None
    seq: int | None = Field(None, ge=1, le=LARGEST)
    selected: str | None = None


class ConversationChange(Schema):
    """What to change of a conversation: what all its calls may cost, in USD, null for no limit."""

    budget: Decimal | None = None


class Answer(Schema):
    """What a person says: "once", "always" (in this conversation), "deny", or an "answer".

    ``words`` are the answer, or why it is denied.
    """

    decision: Literal["once", "always", "deny", "answer"]
    words: str = ""


class GoingBack(Schema):
    """Where to go back to; the same ``key`` once more changes nothing.

    With ``files``, those of the workspace are what they were then, too.
    """

    to_seq: int = Field(ge=1, le=LARGEST)
    key: uuid.UUID = Field(default_factory=uuid.uuid4)
    files: bool = False


class SettingsChange(Schema):
    """Settings to change; what is left out stays as it is."""

    auto_condense: bool = True
    threshold: int = 0
    adaptive: bool = False
    strategy: str = ""
    messages_kept: int = 0
    keep_first: bool = False
    clear_tool_output: bool = False
    review_automatic: bool = False
    review_seconds: int = 0
    draft_ahead: str = ""
    draft_share: int = 0
    condense_idle: bool = False
    condensing_prompt: str = ""
    step_limit: int = 0
    month_budget: Decimal | None = None
    name_conversations: bool = True
    environment_details: bool = True
    default_profile: int | None = Field(None, ge=0, le=LARGEST)


class ProfileChange(Schema):
    """What to change of a profile; how it is reached, and its key, are changed on its page only.

    A ``threshold`` of -1 is inherited from the settings.
    """

    name: str = ""
    model: str = ""
    context_window: int = 0
    max_output: int = 0
    text_only: bool = False
    effort: str = ""
    temperature: Decimal | None = None
    price_input: Decimal = Decimal(0)
    price_output: Decimal = Decimal(0)
    price_cache_read: Decimal = Decimal(0)
    price_cache_write: Decimal = Decimal(0)
    threshold: int = -1
    system_prompt: str = ""
