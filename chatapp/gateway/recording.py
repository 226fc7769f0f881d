"""Recordings: requests and answers are stored while they pass."""

import asyncio
import contextvars
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

import condense
from chatapp.agent import async_tasks, events
from chatapp.agent.ports import Nobody, PartialReply
from chatapp.conversations.context import sizes
from chatapp.conversations.embedding.vectors import embed_question
from chatapp.gateway import store
from chatapp.gateway.bodies import stream_decoder
from chatapp.gateway.requests import GatewayRequest
from chatapp.gateway.sessions import counted, find_conversation, find_end
from chatapp.models import ApiToken, Turn
from chatapp.models.database import reading
from chatapp.providers import request_bytes
from chatapp.providers.call_errors import ErrorEvent, error_in, said_in
from chatapp.providers.resilient_provider import scrub
from chatapp.providers.sdk_provider import StreamedReply
from chatapp.storage.partial_replies import WRITE_PAUSE, RetriedWrites, kept_draft, partial_replies
from chatapp.turns import actions
from condense import change_texts, noop

log = logging.getLogger(__name__)

GONE = noop("The client ended the request.")
UNREACHED = noop("The provider can't be reached.")
ANSWER_BROKE_OFF = noop("The provider's answer broke off.")
ANSWERED_STATUS = noop("The provider answered with status {status}. {said}")
ANSWER_UNREAD = noop("The answer was passed on, and could not be read here.")
# Characters of an error's text that are kept.
LONGEST_ERROR = 2_000
OK = range(200, 300)
# Seconds after which a request that waits for its answer is stored meanwhile …
SOON = 0.05
# … and for which an answer waits at most until its request is stored, if others wait for that too.
STORE_TIMEOUT = 5.0


@dataclass(eq=False, slots=True)
class Recording:
    """One request and its answer, stored in a conversation if it ``is_kept``."""

    request: GatewayRequest
    is_kept: bool = True
    counting: bool = False  # asks how many tokens another request would have
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    keys: Sequence[str] = ()  # on record nowhere, even if the provider quotes them
    is_sent: bool = False  # the provider may have read it
    lost: str = ""
    _began: float = field(default_factory=time.monotonic)
    _first: float | None = None
    _chunks: list[bytes] = field(default_factory=list)
    _more: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False
    seconds: float = 0.0
    _task: "asyncio.Task[None] | None" = None
    _sent: bytes | None = None
    _opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def outgoing(self) -> bytes:
        """Return the body to send: the client's, but for folds and recalled passages."""
        changes = self.request.token.mode != ApiToken.Mode.RECORD
        if self.is_kept:
            _unstored.add(self)
            asyncio.get_running_loop().call_later(SOON, self._begin)
            await self.keep_in_line(least=int(not changes))
        elif changes and self.counting:
            with suppress(Exception):
                self._sent = await reading(counted)(self.request)
        return self.request.raw if self._sent is None else self._sent

    async def keep_in_line(self, least: int = 1) -> None:
        """Wait until the request is stored, if more than ``least`` go on that are not stored."""
        # One alone is passed on at once; of many none is lost in a crash, however long the line is.
        if self in _unstored and sum(not one.is_over for one in _unstored) > least:
            self._begin()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._opened.wait(), STORE_TIMEOUT if least else None)

    def take(self, chunk: bytes) -> None:
        """Take in a piece of the answer that has gone out; by the first one the record begins."""
        if self.is_kept:
            self._first = time.monotonic() if self._first is None else self._first
            self._chunks.append(chunk)
            self._more.set()
            self._begin()

    def end(self, lost: str = "") -> None:
        """Take in that nothing more comes; ``lost`` says why there is no more."""
        if self.is_kept:
            self.lost, self.is_over, self.seconds = lost, True, time.monotonic() - self._began
            self._more.set()
            self._begin()

    def _begin(self) -> None:
        self._task = self._task or _start(self)

    @property
    def is_stream(self) -> bool:
        """True if the answer is a stream of events."""
        return "text/event-stream" in self.headers.get("content-type", "")

    async def _reads(self) -> AsyncIterator[bytes]:
        """Yield the pieces of the answer, decoded, on the beat of all streams."""
        decode = stream_decoder(self.headers.get("content-encoding", ""))
        while True:
            await self._more.wait()
            self._more.clear()
            chunks, self._chunks[:] = b"".join(self._chunks), []
            if chunks and (plain := decode(chunks)):
                yield plain
            if self.is_over and not self._chunks:
                return
            if not self.is_over:
                await async_tasks.tick(WRITE_PAUSE)

    async def run(self) -> None:
        """Store the request, drafts of the answer twice a second, and its end."""
        saver, request = RetriedWrites(Nobody()), self.request
        try:
            opened = await self._open(saver, request)
        except Exception:
            # Its bytes are on record all the same, in a conversation of their own.
            log.exception("a request of the gateway is recorded without what it says")
            opened = await self._open(saver, replace(request, is_odd=True))
        finally:
            self._opened.set()
            _unstored.discard(self)
        talk = opened.conversation
        await reading(actions.announce_change)(talk.pk)
        if not talk.last_seq:
            actions.announce_list(request.owner.pk)
        await self._more.wait()
        answer = ReadAnswer(request.dialect.reply())
        try:
            await self._follow(answer, opened.call.pk)
            outcome = await asyncio.to_thread(self._outcome, answer, opened)
            await saver.save(store.close_call, opened, outcome)
        except Exception:
            log.exception("an answer that went through the gateway is recorded in part")
            outcome = self._outcome(ReadAnswer(request.dialect.reply(), ANSWER_UNREAD), opened)
            await saver.save(store.close_call, opened, outcome)
        partial_replies.forget(opened.call.pk)
        await reading(actions.announce_change)(talk.pk)

    async def _open(self, saver: RetriedWrites, request: GatewayRequest) -> store.Opened:
        await reading(lambda: request.history)()
        end = await reading(find_end)(request)
        talk = await saver.save(find_conversation, request, end)
        if request.token.mode != ApiToken.Mode.RECORD:
            await embed_question(talk.pk, request.asked)
        await asyncio.to_thread(store.count, *await reading(store.find_new)(request, talk))
        opened = await saver.save(store.open_call, request, talk)
        self._sent = opened.sent
        return opened

    async def _follow(self, answer: "ReadAnswer", number: int) -> None:
        """Take the answer in to its end, and keep drafts of it."""
        reads = self._reads()
        async_tasks.STREAMS.add(reads)
        try:
            if self.is_stream and self.status in OK:
                async for said in request_bytes.read_events(reads):
                    for event in said:
                        answer.take(event)
                    partial_replies.keep(number, answer.draft, turn=None, at_once=False)
                return
            whole = b"".join([part async for part in reads])
            if self.status in OK:
                answer.take(value := request_bytes.decode(whole))
                if error := error_in(value):
                    raise ErrorEvent(error)
            else:
                answer.error = ANSWERED_STATUS.format(status=self.status, said=_error_in(whole))
        except ErrorEvent as failed:
            answer.error = (said_in(failed.body) or str(failed.body))[:LONGEST_ERROR]
        except ValueError:
            answer.error = ANSWER_UNREAD
        while not self.is_over:
            await self._more.wait()
            self._more.clear()

    def _outcome(self, answer: "ReadAnswer", opened: store.Opened) -> store.RequestOutcome:
        reply, draft, problem = answer.reply, answer.draft(), opened.problem
        usage, blocks, reason = reply.usage, tuple(reply.blocks()), reply.stop_reason or "end_turn"
        turn = Turn.Status.SUCCEEDED if problem else None
        is_whole = reply.finished and not answer.error
        is_measured = is_whole and bool(usage.prompt and (usage.output or not draft.written))
        if not is_whole:
            problem, blocks = self.lost or answer.error or ANSWER_BROKE_OFF, draft.content
            turn = Turn.Status.STOPPED if self.lost == GONE else Turn.Status.FAILED
            reason = "stopped" if self.lost == GONE else "error"
        if not is_measured:
            written = max(1, len(reply.places)) * sizes.COUNTER.count(draft.written)
            usage = replace(usage, output=max(usage.output, written))
        is_read = self.status in OK or (self.is_sent and self.lost == GONE and not self.status)
        if is_read and not usage.prompt:
            # Programs have to ask for it, and what is read before an answer breaks off is billed.
            usage = replace(usage, input=store.estimate_prompt(opened))
        # It is known then while the conversation is locked.
        store.count(condense.Message("assistant", blocks))
        named = self.headers.get("request-id") or self.headers.get("x-request-id") or ""
        for key in self.keys:
            problem, named = change_texts(problem, partial(scrub, key=key)), scrub(named, key)
        columns = {
            "status": "succeeded" if is_whole else "failed",
            "usage_measured": is_measured,
            "draft": "" if is_whole else kept_draft(draft),
            "error": problem,
            "seconds": self.seconds or time.monotonic() - self._began,
            "seconds_to_first": self._first and self._first - self._began,
            "request_id": named[:100],
            "reply_id": answer.reply_id,
        }
        return store.RequestOutcome(blocks, usage, reason, columns, turn)


@dataclass(slots=True)
class ReadAnswer:
    """The part of an answer that was read, and the error that ended it."""

    reply: StreamedReply
    error: str = ""
    reply_id: str = ""

    def take(self, event: object) -> None:
        """Take in an event."""
        for told in self.reply.take(event):
            if isinstance(told, events.CallDescribed):
                self.reply_id = str(told.facts.get("reply_id") or self.reply_id)

    def draft(self) -> PartialReply:
        """Return the answer so far, as it is stored until it is whole."""
        blocks = []
        for block in self.reply.blocks():
            match told := block.to_api():
                case {"type": "text" | "thinking" as kind}:
                    blocks.append({"type": kind, "text": str(told.get(kind))})
                case {"type": "tool_use", "input": given}:
                    blocks.append({**told, "text": json.dumps(given)})
        return PartialReply(blocks, self.reply.usage)


def _error_in(body: bytes) -> str:
    """Return the words of an error that the provider answered with."""
    with suppress(ValueError):
        return said_in(request_bytes.decode(body))[:LONGEST_ERROR]
    return body.decode(errors="replace")[:LONGEST_ERROR]


# The recordings of this process, and those whose request is not stored.
_unstored: set[Recording] = set()
_running: dict[asyncio.Task[None], Recording] = {}


def _start(recording: Recording) -> asyncio.Task[None]:
    """Start a task that records, after its owner's recordings that have ended."""
    owner = recording.request.owner.pk
    before = [one for one, of in _running.items() if of.is_over and of.request.owner.pk == owner]

    async def run() -> None:
        if before:
            await asyncio.wait(before)
        await recording.run()

    # A request's own context would take its thread for queries along when it ends.
    task = asyncio.create_task(run(), context=contextvars.Context())
    _running[task] = recording
    task.add_done_callback(_running.pop)
    return task


async def settle() -> None:
    """Wait until all that has come to its end is stored."""
    while _running:
        await asyncio.wait([*_running])
