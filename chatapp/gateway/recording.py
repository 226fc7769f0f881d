"""Recordings: what goes through the gateway is stored beside it, and never holds it up."""

import asyncio
import contextvars
import json
import logging
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field, replace

from chatapp.agent import events
from chatapp.agent.async_tasks import tick
from chatapp.agent.ports import Nobody, PartialReply
from chatapp.context import sizes
from chatapp.gateway import naming, store
from chatapp.gateway.bodies import Body, StreamDecoder, UnknownEncoding, decoded, read_body
from chatapp.gateway.dialects import Reply, Told
from chatapp.models import Turn
from chatapp.models.database import reading
from chatapp.providers import request_bytes
from chatapp.providers.call_errors import ErrorEvent
from chatapp.storage.partial_replies import RetriedWrites, kept_draft, partial_replies
from chatapp.transfer.source_texts import fields
from chatapp.turns import actions
from condense import noop

log = logging.getLogger(__name__)

GONE = noop("The client ended the request.")
CUT = noop("The provider's answer broke off.")
REFUSED = noop("The provider answered with status {status}. {said}")
UNREADABLE = noop("The client's request could not be read, so only its bytes are on record.")
ODD = noop("Some of what the client sent could not be read; its bytes are on record.")
UNREAD = noop("The answer was passed on, and could not be read here.")
# Of an error's text so much is kept.
LONGEST_ERROR = 2_000
# Bytes of an answer that is not streamed, as far as it is read here.
LARGEST_ANSWER = 64 * 1024 * 1024
OK = range(200, 300)


@dataclass(eq=False, slots=True)
class Recording:
    """One request and its answer, whose chunks are given to ``take`` as they pass."""

    asked: store.Asked
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    lost: str = ""
    _began: float = field(default_factory=time.monotonic)
    _first: float | None = None
    _chunks: list[bytes] = field(default_factory=list)
    _more: asyncio.Event = field(default_factory=asyncio.Event)
    _is_over: bool = False
    task: "asyncio.Task[None] | None" = None

    def take(self, chunk: bytes) -> None:
        """Take in a piece of the answer that has gone out; with the first one the record begins."""
        self._first = time.monotonic() if self._first is None else self._first
        self._chunks.append(chunk)
        self._more.set()
        self.task = self.task or recordings.start(self)

    def end(self, lost: str = "") -> None:
        """Take in that nothing more comes; ``lost`` says why there is no more."""
        self.lost, self._is_over = lost, True
        self._more.set()
        self.task = self.task or recordings.start(self)
        recordings.close_later(self)

    async def _reads(self) -> AsyncIterator[bytes]:
        """Yield the pieces of the answer, decoded, on the beat of all streams."""
        decoder = StreamDecoder(self.headers.get("content-encoding", ""))
        while True:
            await self._more.wait()
            self._more.clear()
            chunks, self._chunks[:] = b"".join(self._chunks), []
            if chunks and (plain := decoder.take(chunks)):
                yield plain
            if self._is_over and not self._chunks:
                return
            if not self._is_over:
                await tick()

    async def run(self) -> None:
        """Store the request, what has come of the answer twice a second, and its end.

        A request that can't be read is on record with its bytes, in a conversation of its own.
        """
        saver = RetriedWrites(Nobody())
        try:
            opened = await self._open(saver, *await asyncio.to_thread(self._read))
        except Exception:
            log.exception("a request of the gateway is recorded without what it says")
            opened = await self._open(saver, self._unread(), naming.History((), ()), UNREADABLE)
        await reading(actions.announce_change)(opened.conversation.pk)
        reply = self.asked.dialect.reply()
        ended = await self._follow(reply, opened)
        try:
            outcome = await asyncio.to_thread(self._outcome, reply, ended, opened.problem)
            await saver.save(store.close_call, opened, outcome)
        except Exception:
            log.exception("an answer that went through the gateway is recorded in part")
            ended.error = UNREAD
            outcome = self._outcome(self.asked.dialect.reply(), ended, "")
            await saver.save(store.close_call, opened, outcome)
        partial_replies.forget(opened.call.pk)
        await reading(actions.announce_change)(opened.conversation.pk)

    async def _open(
        self, saver: RetriedWrites, sent: store.Sent, history: naming.History, problem: str
    ) -> store.Opened:
        talk, is_new = await saver.save(store.find_conversation, sent, history)
        opened = await saver.save(store.open_call, sent, talk, history)
        opened.problem = problem
        if is_new:
            actions.announce_list(sent.owner.pk)
        return opened

    def _unread(self) -> store.Sent:
        asked = self.asked
        body, told = Body({}, asked.body), Told(())
        return store.Sent(asked, "", body, told, naming.Name())

    def _read(self) -> tuple[store.Sent, naming.History, str]:
        asked, dialect = self.asked, self.asked.dialect
        try:
            plain = decoded(asked.body, asked.headers.get("content-encoding", ""))
        except ValueError:
            plain = asked.body
        body = read_body(plain, dialect.history)
        told = dialect.read(body.value)
        model = str(body.value.get("model") or "")
        sent = store.Sent(asked, model, body, told, naming.name_of(asked.headers, told))
        root = naming.root_of(sent.owner.pk, dialect.name)
        before = store.follow(sent) if told.follows else None
        history = naming.read_history(told, dialect, root, before)
        problem = "" if body.value else UNREADABLE
        return sent, history, problem or (ODD if history.odd else "")

    async def _follow(self, reply: Reply, opened: store.Opened) -> "Ended":
        """Take the answer in to its end, and keep drafts of it."""
        ended, reads = Ended(), self._reads()

        def read() -> PartialReply:
            return draft_of(reply)

        try:
            if "text/event-stream" in self.headers.get("content-type", "") and self.status in OK:
                async for said in request_bytes.read_events(reads):
                    for event in said:
                        ended.note(reply.take(event))
                    partial_replies.keep(opened.call.pk, read, turn=None, at_once=not ended.seen)
                    ended.seen = True
                return ended
            whole = b"".join([part async for part in reads])
            if self.status in OK:
                ended.note(reply.take(request_bytes.decode(whole)))
            else:
                ended.error = _error_in(whole, self.status)
        except ErrorEvent as error:
            ended.error = str(error.body)[:LONGEST_ERROR]
        except (ValueError, UnknownEncoding):
            ended.unread = True
        async for _rest in self._rest():
            pass
        return ended

    async def _rest(self) -> AsyncIterator[None]:
        """Wait for the end of an answer that is not read any further."""
        while not self._is_over:
            await self._more.wait()
            self._more.clear()
            yield None

    def _outcome(self, reply: Reply, ended: "Ended", problem: str) -> store.Outcome:
        draft, blocks = draft_of(reply), tuple(reply.blocks())
        is_whole = reply.finished and not (ended.error or ended.unread)
        usage, turn, error = reply.usage, None, problem
        if not is_whole:
            blocks = draft.content
            usage = replace(usage, output=max(usage.output, sizes.COUNTER.count(draft.written)))
            error = self.lost or ended.error or (UNREAD if ended.unread else CUT)
            turn = Turn.Status.STOPPED if self.lost == GONE else Turn.Status.FAILED
        named = self.headers.get("request-id") or self.headers.get("x-request-id") or ""
        reason = {Turn.Status.STOPPED: "stopped", Turn.Status.FAILED: "error"}
        return store.Outcome(
            blocks,
            usage,
            reason[turn] if turn else reply.stop_reason or "end_turn",
            seconds=time.monotonic() - self._began,
            seconds_to_first=self._first and self._first - self._began,
            measured=is_whole,
            error=error,
            turn=turn,
            draft=kept_draft(draft) if turn else "",
            request_id=named[:100],
            reply_id=ended.reply_id,
        )


@dataclass(slots=True)
class Ended:
    """How far an answer was read."""

    reply_id: str = ""
    error: str = ""
    unread: bool = False
    seen: bool = False

    def note(self, told: Iterator[object]) -> None:
        """Take in what events tell of the call."""
        for event in told:
            if isinstance(event, events.CallDescribed):
                self.reply_id = str(event.facts.get("reply_id") or self.reply_id)


def _error_in(body: bytes, status: int) -> str:
    """Return the words of an error that the provider answered with."""
    try:
        told = fields(request_bytes.decode(body))
    except ValueError:
        told = {}
    error = told.get("error")
    said = fields(error).get("message") or (error if isinstance(error, str) else "")
    words = str(said or body.decode(errors="replace"))[:LONGEST_ERROR]
    return REFUSED.format(status=status, said=words)


def draft_of(reply: Reply) -> PartialReply:
    """Return what is there of an answer as it is stored until it is whole."""
    blocks = []
    for block in reply.blocks():
        told = block.to_api()
        match told:
            case {"type": "text", "text": str(text)}:
                blocks.append({"type": "text", "text": text})
            case {"type": "thinking", "thinking": str(text)}:
                blocks.append({"type": "thinking", "text": text})
            case {"type": "tool_use", "id": name, "name": tool, "input": given}:
                said = json.dumps(given)
                blocks.append({"type": "tool_use", "id": name, "name": tool, "text": said})
    return PartialReply(blocks, reply.usage)


class Recordings:
    """Those of this process; one that is closing goes before others of its owner."""

    def __init__(self) -> None:
        self._closing: defaultdict[int, set[asyncio.Task[None]]] = defaultdict(set)
        self._running: set[asyncio.Task[None]] = set()

    def start(self, recording: Recording) -> "asyncio.Task[None]":
        """Record beside everything else, behind what of its owner has come to its end."""
        before = [*self._closing[recording.asked.token.owner_id]]

        async def run() -> None:
            if before:
                await asyncio.wait(before)
            await recording.run()

        # A request's own context would take its thread for queries along when it ends.
        task = asyncio.create_task(run(), context=contextvars.Context())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def close_later(self, recording: Recording) -> None:
        """Have later requests of its owner wait for the end of this one's record."""
        if (task := recording.task) is None:
            return
        closing = self._closing[recording.asked.token.owner_id]
        closing.add(task)
        task.add_done_callback(closing.discard)

    async def settle(self) -> None:
        """Wait until all that has come to its end is stored."""
        while self._running:
            await asyncio.wait([*self._running])


recordings = Recordings()
