"""Schemas: the shapes of answers, with the columns of their rows, and of requests.

A request can name no key and no address.
"""

import uuid
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal

from django.db.models import ForeignKey, Model
from ninja import Body, PatchDict, Schema
from ninja.orm.fields import TYPES
from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, create_model

import condense
from chatapp import models
from chatapp.conversations.context.condense_requests import LONGEST_FOCUS
from chatapp.models.conversations import LONGEST_TITLE
from chatapp.providers.specs import PRICED
from chatapp.web.forms.preferences import PreferencesForm

LARGEST_NUMBER = 1_000_000_000

Key = Annotated[int | None, Field(ge=0, le=LARGEST_NUMBER)]
# Without an exponent, and zero without the places of its column.
Usd = Annotated[Decimal, PlainSerializer(lambda usd: f"{usd:f}" if usd else "0", str)]
_TYPES: dict[str, Any] = {**TYPES, "JSONField": Any, "DecimalField": Usd}


class RequestBody(Schema):
    """A request's body: a name that it can't have is refused."""

    model_config = ConfigDict(extra="forbid")


def row(
    name: str, model: type[Model], columns: str, doc: str, of: type[Schema] = Schema, /, **more: Any
) -> type[Schema]:
    """Return the schema of a model's columns; ``more`` has other fields, and types to change."""
    given = {column: more.pop(column, None) or _column(model, column) for column in columns.split()}
    return create_model(name, __base__=of, __doc__=doc, **given, **more)


def _column(model: type[Model], name: str) -> Any:
    column: Any = model._meta.get_field(name)  # noqa: SLF001 - Django's documented API
    kind: Any = column
    default: Any = ...
    if isinstance(column, ForeignKey):
        kind, default = column.target_field, Field(alias=column.attname)
    found = _TYPES.get(kind.get_internal_type(), int)
    if not column.null:
        return found, default
    default = Field(None, alias=column.attname) if kind is not column else None
    return found | None, default


class Page[T](Schema):
    """A part of a list; ``next`` is the value of ``after`` for the next part, if there is one."""

    items: list[T]
    next: str | None = None


def page(of: type[Schema]) -> Any:
    """Return the schema of a part of a list."""
    return Page[of]  # type: ignore[valid-type]


def many(of: type[Schema]) -> Any:
    """Return the schema of a whole list."""
    return list[of]  # type: ignore[valid-type]


ConversationShape = row(
    "ConversationShape",
    models.Conversation,
    "id title profile workspace budget auto_recall last_seq created_at updated_at pinned_at "
    "archived_at",
    "A conversation; ``last_seq`` is the number of its newest message.",
)
MessageShape = row(
    "MessageShape",
    models.Message,
    "seq position role content tokens stop_reason created_at hidden undone condense_id "
    "condense_parent truncation_id truncation_parent clear_id rewind_parent",
    """A message as it is stored, and what hides it.

    ``content`` is a list of blocks: ``text``, ``image``, ``tool_use``, ``tool_result`` and so on.
    ``position`` is its place in reading order.
    """,
)


def _sent(content: condense.Content) -> Any:
    """Return the content without the marks that no model gets, such as forgotten passages."""
    marks, blocks = {condense.BESIDE, condense.USER_WORDS}, condense.content_to_api(content)
    if isinstance(blocks, str):
        return blocks
    return [{key: value for key, value in one.items() if key not in marks} for one in blocks]


class SeenShape(Schema):
    """A message as the model sees it: each cleared result in it is one line."""

    seq: int
    role: str
    content: Annotated[Any, BeforeValidator(_sent)]
    tokens: Annotated[int, BeforeValidator(lambda tokens: tokens or 0)]


class EffectiveShape(Schema):
    """The effective history in reading order; ``tokens`` count the ``earlier`` messages too."""

    tokens: int
    earlier: int
    messages: list[SeenShape]


class AttachmentShape(Schema):
    """A file that waits to go with a message, by its ``id``; it is kept for a week."""

    id: uuid.UUID
    name: str = Field(alias="facts.name")
    kind: str = Field(alias="facts.kind")
    tokens: int
    created_at: datetime


TurnShape = row(
    "TurnShape",
    models.Turn,
    "id nonce origin status doing step error at_seq last_seq rewind started_at finished_at",
    """From a message to the last reply, or a condensation by hand, and how it stands or ended.

    ``at_seq`` was the newest message before it, ``last_seq`` the newest when it ended.
    """,
    rewind=(uuid.UUID | None, Field(None, alias="rewind_parent")),
)
QuestionShape = row(
    "QuestionShape",
    models.Question,
    "id turn kind status tool seq text shown suggestions answer asked_at answered_at",
    """What a turn asks a person: whether a tool may run ("permission"), or for an "answer".

    ``shown`` is what the tool would change, as far as that is known before.
    """,
    suggestions=(list[Any], ...),
)


class PinShape(Schema):
    """A message that the model keeps word for word, by its ``seq``; ``text`` is its beginning."""

    seq: int
    label: str
    text: str
    tokens: int


class PinsShape(Schema):
    """All pins, the ``tokens`` that they take, and the limit on those, ``most``."""

    tokens: int
    most: int
    pins: list[PinShape]


_LIMITS = "context_window max_output text_only"
_PRICES = "price_input price_output price_cache_read price_cache_write"
ProfileShape = row(
    "ProfileShape",
    models.Profile,
    f"id name provider model base_url key_source {_LIMITS} {_PRICES} threshold tokens_kept effort "
    "temperature find_contradictions system_prompt",
    "A model at a provider; of its key, only where it comes from, of its own prompt the name.",
    key_source=(str, ...),
    **{f"price_{name}": (Usd, Field(..., alias=f"prices.{name}")) for name in PRICED},
    condensing_prompt=(str | None, Field(None, alias="condensing_prompt.name")),
)
# Settings of the page alone are of no use to a program.
_NAMES = [name for name in PreferencesForm.Meta.fields if name != "shortcuts"]
SETTINGS = " ".join((*_NAMES, "default_profile"))
SettingsShape = row(
    "SettingsShape",
    models.Preferences,
    SETTINGS,
    "How condensing and the agent work for the user; an empty strategy is the server's.",
)
ReviewShape = row(
    "ReviewShape",
    models.Review,
    "id condensation ordinal status shown text focus shown_at applies_at answered_at",
    """A summary that waits for a word on it, or what was said to it.

    It is the draft that an attempt wrote first, second … (``ordinal``). ``text`` is what was
    accepted in place of what was ``shown``, and ``focus`` what the next draft was to keep. At
    ``applies_at``, where there is such a moment, it applies by itself.
    """,
)


class UndoShape(Schema):
    """The result of an undo: the number of ``later`` condensations undone with it, and the size.

    ``allowed`` is the limit of the size; without a profile, both are unknown.
    """

    later: int
    tokens: int | None = Field(None, alias="tokens.value")
    measured: bool | None = Field(None, alias="tokens.measured")
    allowed: int | None = None


RewindShape = row(
    "RewindShape",
    models.Rewind,
    "id cause to_seq last_seq messages_hidden results_hidden condensations_hidden created_at "
    "undone_at",
    "The conversation went back to before message ``to_seq``; ``last_seq`` was the newest then.",
)
_ATTEMPT = (
    "id conversation kind status trigger strategy at_seq profile_name model writer_name "
    "writer_model threshold threshold_source context_window allowed tokens_before "
    "tokens_before_measured tokens_after tokens_after_measured messages_hidden results_hidden "
    "condensations_hidden cost cost_measured predicted_cost fell_back_to error started_at "
    "finished_at undone_at redone_at rating rating_words"
)
doc = "A try that an attempt took the place of, and what it took alone."
_TRY = "id kind status strategy cost cost_measured error started_at finished_at"
TryShape = row("TryShape", models.Condensation, _TRY, doc)
_WHOLE: dict[str, Any] = {
    "cost": (Usd | None, Field(..., alias="whole_cost")),
    "cost_measured": (bool, Field(..., alias="whole_measured")),
    "seconds": (float | None, Field(..., alias="duration")),
    "review_seconds": (float, ...),
    "tries": (many(TryShape), Field(..., alias="tried")),
}
doc = "An attempt to make the context smaller, in short: what it took it took with its ``tries``."
AttemptShape = row("AttemptShape", models.Condensation, _ATTEMPT, doc, **_WHOLE)
RecordShape = row(
    "RecordShape",
    models.Condensation,
    f"{_ATTEMPT} prompt focus summary analysis notes receipt folded details",
    "All that is on record of an attempt.",
    **_WHOLE,
    receipt=(Annotated[Any, BeforeValidator(condense.Receipt.to_api)], ...),
)
CallShape = row(
    "CallShape",
    models.ModelCall,
    "id turn condensation purpose status profile_name provider model tokens_input tokens_output "
    "tokens_cache_read tokens_cache_write usage_measured cost seconds seconds_to_first request_id "
    "reply_id error created_at",
    "A request to a model: what it was for, used and cost.",
)


class VerdictShape(Schema):
    """The verdict on a chain: ``intact`` if its entries fit each other and the stored rows.

    The record begins at ``since``; ``erased`` contents can't be compared any more, and ``waiting``
    messages become part of the next entry.
    """

    intact: bool = Field(..., alias="holds")
    since: datetime
    entries: int
    erased: int
    waiting: int
    problems: list[str]


class NewConversation(RequestBody):
    """The start of a conversation; without a title, its first message gives it one."""

    title: str = Field("", max_length=LONGEST_TITLE)
    profile: Key = None


class NewMessage(RequestBody):
    """A message; ``nonce`` makes it harmless to send it again.

    In a ``literal`` text, commands and paths are plain text. ``attachments`` are the ids of files
    that wait to be sent.
    """

    text: str
    nonce: uuid.UUID = Field(default_factory=uuid.uuid4)
    literal: bool = False
    attachments: list[uuid.UUID] = Field(default_factory=list, max_length=100)


class Condensing(RequestBody):
    """A condensation by hand; the same ``nonce`` once more begins nothing.

    ``focus`` is to be kept above all. With ``review`` it waits for an answer on its summary before
    it applies.
    """

    nonce: uuid.UUID = Field(default_factory=uuid.uuid4)
    focus: str = Field("", max_length=LONGEST_FOCUS)
    review: bool = False


class ReviewAnswer(RequestBody):
    """The answer to a draft: "accept" it, write it "again", "discard" it, or "use" the refused one.

    A ``summary`` replaces the shown one; a new one keeps the ``focus`` above all.
    """

    decision: Literal["accept", "again", "use", "discard"]
    summary: str | None = None
    focus: str = ""


class NewRating(RequestBody):
    """A person's rating of a summary: 1 is good, -1 bad, 0 removes it; ``words`` are the reason."""

    rating: Literal[1, 0, -1]
    words: str = ""


class NewPin(RequestBody):
    """A ``rule`` of one's own, or message ``seq``, or a passage ``selected`` of its text."""

    rule: str | None = None
    seq: int | None = Field(None, ge=1, le=LARGEST_NUMBER)
    selected: str | None = None


class Answer(RequestBody):
    """A person's answer: "once", "always" (in this conversation), "deny", or an "answer".

    ``words`` are the answer, or the reason of a denial.
    """

    decision: Literal["once", "always", "deny", "answer"]
    words: str = ""


class GoingBack(RequestBody):
    """The message to go back to; the same ``key`` once more changes nothing.

    With ``files``, those of the workspace are restored, too.
    """

    to_seq: int = Field(ge=1, le=LARGEST_NUMBER)
    key: uuid.UUID = Field(default_factory=uuid.uuid4)
    files: bool = False


# Bodies that may be left out.
AnyNewConversation = Annotated[NewConversation, Body(default_factory=NewConversation)]
AnyCondensing = Annotated[Condensing, Body(default_factory=Condensing)]

if TYPE_CHECKING:
    ConversationChange = dict[str, Any]
    SettingsChange = dict[str, Any]
    ProfileChange = dict[str, Any]
else:
    doc = (
        "What to change of a conversation: what all its calls may cost, in USD, null for no limit; "
        "and whether it recalls automatically, null for as the settings say."
    )
    ConversationChange = PatchDict[
        row("ConversationChange", models.Conversation, "budget auto_recall", doc, RequestBody)
    ]
    doc, key = "Settings to change; what is left out stays as it is.", (Key, None)
    SettingsChange = PatchDict[
        row("SettingsChange", models.Preferences, SETTINGS, doc, RequestBody, default_profile=key)
    ]
    doc = (
        "What to change of a profile; how it is reached, and its key, are changed on its page only."
        "\n\nA ``threshold`` of -1 is inherited from the settings."
    )
    columns = f"name model {_LIMITS} {_PRICES} effort temperature threshold tokens_kept"
    columns += " find_contradictions"
    changed = row("ProfileChange", models.Profile, f"{columns} system_prompt", doc, RequestBody)
    ProfileChange = PatchDict[changed]
