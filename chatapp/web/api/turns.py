"""Turns: started by a message or by hand, streamed, stopped and answered."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from typing import Any

from asgiref.sync import async_to_sync
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from ninja import Router

import condense
from chatapp.accounts.credentials import open_tokens
from chatapp.agent import events
from chatapp.condensing import summary_reviews
from chatapp.conversations.context.condense_requests import CondenseRequest
from chatapp.conversations.conversations import check_message
from chatapp.models import (
    Conversation,
    Message,
    Question,
    Review,
    ToolRun,
    Turn,
    errors,
    message_store,
)
from chatapp.models.database import reading
from chatapp.page.live import incoming_frames
from chatapp.page.live.codec import to_json
from chatapp.page.transcript.message_parts import result_text
from chatapp.project import logs
from chatapp.project.languages import in_words, reader
from chatapp.project.sentences import translate as _
from chatapp.turns import actions
from chatapp.turns.lifecycle import check_turns
from chatapp.web.api import conversations, schemas
from chatapp.web.api.auth import NO_TOKEN, ApiRequest, Pk, own_conversation
from chatapp.web.api.pagination import Part, by_moment

# Seconds after which a stream's token is looked at again: any process may revoke it.
LOOK = 1
# Seconds without news after which a line without meaning keeps proxies from hanging up.
SILENCE = 15

router = Router(tags=["Turns"])


@conversations.conversation.post(
    "/messages", openapi_extra={"responses": {200: {"content": {"text/event-stream": {}}}}}
)
def send_message(request: ApiRequest, pk: Pk, new: schemas.NewMessage) -> StreamingHttpResponse:
    """Send a message, and stream the turn that answers it as server-sent events.

    The turn goes on when nobody listens. Sent again with the same nonce, a message starts nothing.
    """
    conversation = own_conversation(request, pk)
    command = incoming_frames.SendMessage(
        new.text, new.nonce, literal=new.literal, attachments=tuple(new.attachments)
    )
    check_message(command.text, alone=not command.attachments)
    if not conversation.turns.filter(nonce=command.nonce).exists():
        check_turns(conversation)
    stream = _stream(conversation, command, request.token)
    answer = StreamingHttpResponse(stream, content_type="text/event-stream")
    # A proxy that collected it would have an event wait for those after it.
    answer["X-Accel-Buffering"] = "no"
    return answer


async def _stream(
    conversation: Conversation, command: incoming_frames.SendMessage, token: int
) -> AsyncIterator[bytes]:
    """Send the message; yield events as they come, then the turn's end or a refusal.

    The stream ends when the token is revoked.
    """
    try:
        with errors.saving():
            heard = await _apart(actions.send_and_hear(conversation, command))
    except errors.Refused as refusal:
        yield encode("refused", {"detail": in_words(str(refusal))})
        return
    told = Teller(conversation.pk)
    waiting, revoked = asyncio.ensure_future(anext(heard, None)), asyncio.create_task(_end(token))
    try:
        while True:
            done, _pending = await asyncio.wait(
                {waiting, revoked}, timeout=SILENCE, return_when=asyncio.FIRST_COMPLETED
            )
            if revoked in done:
                yield encode("refused", {"detail": _(NO_TOKEN)})
                return
            if not done:
                # It may have ended without an event.
                own = conversation.turns.unfinished().filter(nonce=command.nonce)
                if not await reading(own.exists)():
                    break
                yield b": still running\n\n"
                continue
            if (event := waiting.result()) is None:
                break
            if shown := await reading(told.tell)(event):
                yield encode(*shown)
            waiting = asyncio.ensure_future(anext(heard, None))
        turn = await reading(Turn.objects.get)(conversation=conversation, nonce=command.nonce)
        yield encode("end", {"status": turn.status, "error": turn.error, "last_seq": turn.last_seq})
    finally:
        waiting.cancel()
        revoked.cancel()


async def _end(token: int) -> None:
    """Return once a token is revoked or its user is inactive."""
    usable, is_open = open_tokens().filter(pk=token), True
    while is_open:
        await asyncio.sleep(LOOK)
        with suppress(DatabaseError):
            is_open = await reading(usable.exists)()


def encode(name: str, told: dict[str, Any]) -> bytes:
    """Return an event in the format of server-sent events."""
    return b"event: " + name.encode() + b"\ndata: " + to_json(told) + b"\n\n"


class Teller:
    """Turns events into JSON for programs; long texts are read from their rows."""

    def __init__(self, conversation: uuid.UUID) -> None:
        self._conversation = conversation
        self._calls: dict[str, condense.ToolUseBlock] = {}
        # True if there is text that is part of no message yet.
        self._said = False
        # The newest message that was sent.
        self._seq = 0

    def tell(self, event: events.TurnEvent) -> tuple[str, dict[str, Any]] | None:  # noqa: C901, PLR0911 - a line for each
        """Return an event's name and its JSON, None for one that only pages show."""
        match event:
            case events.TextStreamed(text):
                self._said = True
                return "text", {"text": text}
            case events.Restarted() if not self._said:
                return None
            case events.StreamDiscarded() | events.Restarted():
                self._said = False
                return "discarded", {}
            case events.MessageAppended(seq=seq):
                self._said = False
                if seq <= self._seq:
                    # It is sent again to a reader who missed something.
                    return None
                self._seq = seq
                row = Message.objects.get(conversation=self._conversation, seq=seq)
                message = message_store.to_engine(row)
                self._calls = {one.id: one for one in message.tool_uses} or self._calls
                return "message", {"seq": seq, **message.to_api()}
            case events.ToolStarted(id=pk, name=name):
                call = self._calls.get(pk)
                return "tool.started", {"id": pk, "name": name, "input": call and call.input}
            case events.ToolFinished(id=pk, run=run, is_error=failed):
                return "tool.finished", {"id": pk, "text": _result_of(run), "is_error": failed}
            case events.PersonAsked(id=pk):
                return "question", {"id": pk}
            case events.ReviewAsked(id=number):
                return "review", {"id": number}
            case events.CondensingStarted(trigger):
                return "condensing.started", {"trigger": str(trigger)}
            case events.CondensingEnded(kind, status):
                return "condensing.ended", {"kind": kind, "status": status}
        return None


def _result_of(number: int) -> str:
    """Return a tool's result, from its run or, once that is empty, from the message."""
    run = ToolRun.objects.get(pk=number)
    if run.text:
        return str(run.text)
    rows = Message.objects.filter(turn=run.turn_id, role=Message.Role.USER).order_by("-seq")
    for row in rows:
        for result in message_store.to_engine(row).tool_results:
            if result.tool_use_id == run.call_id:
                return result_text(result)
    return ""


@router.get("/turns", response=schemas.page(schemas.TurnShape))
def list_turns(request: ApiRequest, pk: Pk, part: Part) -> dict[str, Any]:
    """List turns, the newest first; the first one may be running."""
    own = Turn.objects.filter(conversation=own_conversation(request, pk)).latest_first()
    return by_moment(own, "started_at", part)


@router.post("/turns/{uuid:turn_pk}/stop", response={202: schemas.TurnShape})
def stop_turn(request: ApiRequest, pk: Pk, turn_pk: uuid.UUID) -> Turn:
    """Stop a turn, which takes a moment; its partial reply is kept. An ended one stays as it is."""
    turn = get_object_or_404(Turn, conversation=own_conversation(request, pk), pk=turn_pk)
    async_to_sync(actions.stop)(pk, turn.pk)
    return turn


@router.post("/condense", response={202: schemas.TurnShape | None})
def condense_now(request: ApiRequest, pk: Pk, wanted: schemas.AnyCondensing) -> Turn | None:
    """Begin a condensation, and show its turn; a running turn first finishes its step."""
    conversation = own_conversation(request, pk)
    asked = CondenseRequest(wanted.nonce, wanted.focus, review=wanted.review)
    async_to_sync(_apart)(actions.condense_now(conversation, asked))
    return conversation.turns.filter(nonce=wanted.nonce).first()


async def _apart[T](work: Coroutine[Any, Any, T]) -> T:
    # A request's own context ends with it, and takes the threads for its queries along.
    context = logs.carried()
    context.run(reader().enter)
    return await asyncio.create_task(work, context=context)


@router.get("/questions", response=schemas.many(schemas.QuestionShape))
def list_questions(request: ApiRequest, pk: Pk) -> QuerySet[Question]:
    """List the questions that a turn asks a person."""
    asked = Question.objects.filter(turn__conversation=own_conversation(request, pk))
    return asked.pending().order_by("pk")


@router.post("/questions/{int:question_pk}/answer", response=schemas.QuestionShape)
def answer_question(
    request: ApiRequest, pk: Pk, question_pk: int, said: schemas.Answer
) -> Question:
    """Allow or deny a tool, or send the model an answer; the same once more does no harm."""
    conversation = own_conversation(request, pk)
    questions = Question.objects.select_related("turn").filter(turn__conversation=conversation)
    question = get_object_or_404(questions, pk=question_pk)
    actions.answer_question(question, said.decision, said.words)
    question.refresh_from_db()
    return question


@router.get("/reviews", response=schemas.many(schemas.ReviewShape))
def list_reviews(request: ApiRequest, pk: Pk) -> QuerySet[Review]:
    """List the summary that waits for a person's answer, if one does."""
    shown = Review.objects.filter(condensation__conversation=own_conversation(request, pk))
    return shown.pending().order_by("pk")


@router.post("/reviews/{int:review_pk}/answer", response=schemas.ReviewShape)
def answer_review(
    request: ApiRequest, pk: Pk, review_pk: int, said: schemas.ReviewAnswer
) -> Review:
    """Apply a summary, as it is or changed, have it written again, or discard it.

    The same once more does no harm.
    """
    reviews = Review.objects.select_related("condensation__conversation")
    shown = reviews.filter(condensation__conversation=own_conversation(request, pk))
    review = get_object_or_404(shown, pk=review_pk)
    summary_reviews.answer_review(
        review=review,
        user=request.auth,
        decision=said.decision,
        summary=review.shown if said.summary is None else said.summary,
        focus=said.focus,
    )
    actions.announce_answer(pk)
    review.refresh_from_db()
    return review
