"""Requests to condense by hand, and the part of the conversation that a request covers."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import condense
from chatapp.models import Message, Turn, TurnRequest, message_store
from chatapp.models.database import now
from chatapp.models.errors import Refused
from chatapp.project.sentences import translate as _
from condense import noop

# Characters; the page has a shorter field.
LONGEST_FOCUS = 2_000


def check_focus(focus: str) -> None:
    """Refuse words for a summary to keep that are too long."""
    if len(focus) > LONGEST_FOCUS:
        said = _("What must be kept can have up to {count:,} characters.", count=LONGEST_FOCUS)
        raise Refused(said)


@dataclass(frozen=True, slots=True)
class CondenseScope:
    """The part to condense: the messages from ``first`` to ``last``, by their numbers."""

    first: int
    last: int = 0
    call: str = ""  # only the result of this call, which message ``first`` makes
    again: bool = False  # message ``first`` is a summary, to be written from all its originals

    def to_json(self) -> dict[str, Any]:
        """Return the scope as JSON, in the form that pages send."""
        if self.again:
            return {"first": self.first, "again": True}
        rest = {"call": self.call} if self.call else {"last": self.last}
        return {"first": self.first, **rest}

    @classmethod
    def from_json(cls, scope: Mapping[str, Any]) -> Self:
        """Return the scope in a result of ``to_json``."""
        return cls(**scope)


@dataclass(frozen=True, slots=True)
class CondenseRequest:
    """A condensation by hand; its summary should keep ``focus`` above all."""

    nonce: uuid.UUID  # requests with the same one are one request
    focus: str = ""
    review: bool = False  # a person reviews the summary before it is applied
    scope: CondenseScope | None = None  # None for all that the model has read
    while_idle: bool = False  # it comes from the user's settings

    def to_json(self) -> dict[str, Any]:
        """Return all but the nonce, to be stored."""
        scope = self.scope.to_json() if self.scope else None
        said = {"focus": self.focus, "review": self.review, "idle": self.while_idle}
        return {**said, "scope": scope}

    @classmethod
    def from_json(cls, nonce: uuid.UUID, said: Mapping[str, Any]) -> Self:
        """Return the request that is stored in ``TurnRequest.details``."""
        scope = CondenseScope.from_json(said["scope"]) if said["scope"] else None
        return cls(nonce, said["focus"], said["review"], scope, said["idle"])


NO_REQUEST = CondenseRequest(uuid.UUID(int=0))


def keep_request(turn: Turn, request: CondenseRequest) -> None:
    """Store a condensation by hand, for the process that will run its turn."""
    # Taken from the start: the turn was opened for this request.
    columns = {"kind": TurnRequest.Kind.CONDENSE, "details": request.to_json(), "taken_at": now()}
    TurnRequest.objects.create(turn=turn, nonce=turn.nonce, **columns)


def read_request(turn: Turn) -> CondenseRequest:
    """Return the request that a turn was opened for, NO_REQUEST if none is known."""
    row = turn.requests.filter(nonce=turn.nonce).first() if turn.condenses else None
    return CondenseRequest.from_json(row.nonce, row.details) if row else NO_REQUEST


@dataclass(frozen=True, slots=True)
class End:
    """A possible end of the part to condense, with the part's messages and estimated tokens."""

    seq: int
    said: str  # the last message's text, or the names of the tools that it calls
    by_user: bool
    messages: int
    tokens: int


def find_ends(history: Sequence[condense.Message], first: int) -> list[End]:
    """Return the possible ends of a range that begins with message ``first``.

    No end separates a tool call from its result or lies behind the messages that the model has
    read. Raises condense.NothingToCondense if there is none.
    """
    start = _place_of(history, first)
    read = condense.unread_tail(history)
    cuts = [cut for cut in condense.safe_cuts(history) if start < cut <= read]
    if not cuts:
        raise condense.NothingToCondense(noop("The model has not read this message yet."))
    ends, tokens, messages, done, shown = [], 0, 0, start, history[start]
    for cut in cuts:
        added = history[done:cut]
        tokens += sum(one.tokens or 0 for one in added)
        messages += len(added)
        done = cut
        shown = next((one for one in reversed(added) if one.words.strip() or one.tool_uses), shown)
        ends.append(_end(shown, added[-1].seq, messages, tokens))
    return ends


def _place_of(history: Sequence[condense.Message], first: int) -> int:
    for place, one in enumerate(history):
        if one.seq == first and place in condense.safe_cuts(history):
            return place
    raise condense.NothingToCondense(noop("The model does not see this message any more."))


def _end(shown: condense.Message, seq: int, messages: int, tokens: int) -> End:
    """Describe an end by the last message before it that has words or calls."""
    said = shown.words or ", ".join(use.name for use in shown.tool_uses)
    by_user = shown.role == "user" and not shown.is_marker and not shown.is_summary
    return End(seq, " ".join(said.split()), by_user, messages, tokens)


def find_chosen(
    conversation_id: uuid.UUID, history: Sequence[condense.Message], scope: CondenseScope
) -> condense.Chosen:
    """Return the messages of the effective history that a scope names.

    Raises condense.NothingToCondense with the reason if it names none.
    """
    if scope.again:
        return _find_originals(conversation_id, history, scope.first)
    if scope.call:
        return _find_result(history, scope)
    if all(end.seq != scope.last for end in find_ends(history, scope.first)):
        raise condense.NothingToCondense(
            noop("A range can't end there: it would split a tool call from its result.")
        )
    start = _place_of(history, scope.first)
    end = next(place for place, one in enumerate(history) if one.seq == scope.last)
    return condense.Chosen(tuple(one.id for one in history[start : end + 1]))


def _find_result(history: Sequence[condense.Message], scope: CondenseScope) -> condense.Chosen:
    for one in condense.pair_calls(history).answered:
        if one.call.id == scope.call and history[one.called_at].seq == scope.first:
            answer = history[one.answered_at]
            if answer.tags.pinned:
                raise condense.NothingToCondense(noop("This output is pinned. Unpin it first."))
            return condense.Chosen((answer.id,), scope.call)
    raise condense.NothingToCondense(noop("The model does not see this output any more."))


def _find_originals(
    conversation_id: uuid.UUID, history: Sequence[condense.Message], seq: int
) -> condense.Chosen:
    """Return a summary and its originals, those of the summaries that it continues included."""
    visible = any(one.seq == seq for one in history)
    made = Message.objects.filter(conversation=conversation_id, seq=seq).first()
    originals = sorted(_behind(made), key=lambda one: one.order) if made and visible else ()
    if made is None or not originals:
        raise condense.NothingToCondense(
            noop("The model does not see this summary any more, or its originals are not known.")
        )
    return condense.Chosen((str(made.pk),), originals=tuple(originals))


def _behind(made: Message) -> Iterator[condense.Message]:
    left = [made]
    while left:
        for row in Message.objects.hid_by(left.pop()).filter(rewind_parent=None):
            if row.is_summary or row.is_marker:
                left.append(row)
            else:
                yield message_store.to_engine(row)
