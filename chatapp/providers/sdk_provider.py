"""Providers over a vendor's SDK: the steps of a call that all vendors share."""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from itertools import chain
from types import ModuleType
from typing import Any, ClassVar

import httpx2

import condense
from chatapp.agent import events
from chatapp.agent.async_tasks import compute
from chatapp.agent.errors import ContextOverflow, Declined, ProviderError
from chatapp.agent.ports import Model, ModelRequest
from chatapp.agent.tool_arguments import UNPARSED
from chatapp.project.network import AddressRefused, Guard, host_of, proxy_of
from chatapp.providers import written_calls
from chatapp.providers.call_errors import (
    BROKE_OFF,
    DECLINED,
    EMPTY,
    NO_KEY,
    ONLY_THOUGHT,
    REFUSED_END,
    CallTarget,
    ErrorEvent,
    Refusal,
    explain_loss,
    explain_refusal,
    no_reply,
    refusal_of,
)
from chatapp.providers.formats import Json, at, listed
from chatapp.providers.http import CONNECT_SECONDS, clients, open_client, paced
from chatapp.providers.request_bytes import read_events
from chatapp.providers.specs import ListedModel, ProviderSpec
from chatapp.providers.thinking_tags import ThinkTags, parted
from condense import noop, say

LONGEST_NAME, LONGEST_REASON = 100, 40
# Where servers have their list of models.
_LISTS = ("data", "models", "result")
# No prompt has more tokens: a larger number is a mistake, and no column could hold it.
MOST_REPORTED_TOKENS = 2**31 - 1


def as_tokens(value: object, least: int = 1) -> int | None:
    """Return a number of tokens that can be meant, None for anything else."""
    if isinstance(value, str | float) and re.fullmatch(r"[0-9]{1,9}(\.0+)?", str(value)):
        value = int(float(value))
    return value if type(value) is int and least <= value <= MOST_REPORTED_TOKENS else None


class StreamedReply(ABC):
    """A reply as far as it was streamed; ``tools`` are the names that its calls may have."""

    # The field of an event that has a piece of text.
    text_field: ClassVar[str] = ""

    def __init__(self) -> None:
        self.tools: Collection[str] = ()
        self._tags = ThinkTags()
        self.usage = condense.Usage()
        self.started = False
        self.shown = self.thinks = False
        self.finished = False
        # The places of answers that come at a time; the first one is read.
        self.places: set[int] = set()
        # The name of the field that has its reasoning, or the list of its details.
        self.form: str | list[dict[str, Any]] = ""
        self.stop_reason = ""
        self.stop_details: Mapping[Any, Any] = {}

    @abstractmethod
    def take(self, event: Any) -> Iterator[events.StreamEvent]:
        """Take one event in and yield the stream events it causes; an odd event causes none."""

    def text_in(self, event: Any) -> tuple[object, dict[Any, Any]] | None:  # noqa: B027 - may be none
        """Return an event's place and the holder of its text, None if it says anything else."""

    def take_all(self, said: Iterable[object]) -> Iterator[events.StreamEvent]:
        """Take in all events of one read: text in a row is one piece, as each costs the same."""
        taken: list[object] = []
        before: tuple[object, dict[Any, Any]] | None = None
        for event in said:
            piece = self.text_in(event)
            if piece and before and piece[0] == before[0]:
                before[1][self.text_field] += piece[1][self.text_field]
            else:
                taken.append(event)
                before = piece
        return events.joined(chain.from_iterable(map(self.take, taken)))

    def end(self) -> Iterator[events.StreamEvent]:
        """End the reply, and yield the text that was held back."""
        yield from self.say("", is_last=True)

    @abstractmethod
    def blocks(self) -> Iterator[condense.Block]:
        """Yield the reply's blocks as the server has them."""

    def completed(self) -> events.ReplyCompleted:
        """Return the whole reply, with thinking and calls apart from its text."""
        blocks: list[condense.Block] = []
        for block in self.blocks():
            if not isinstance(block, condense.TextBlock):
                blocks.append(block)
                continue
            for kind, part in parted(block.text):
                if part.strip():
                    text = condense.TextBlock(part, block.extra)
                    blocks.append(text if kind == "text" else self.thought(part))
        if not any(isinstance(one, condense.ToolUseBlock) for one in blocks):
            blocks = [part for one in blocks for part in written_calls.apart(one, self.tools)]
        reason = self.stop_reason or "end_turn"
        match blocks:
            case [*_, condense.ToolUseBlock(input={}) as last] if reason == "max_tokens":
                # Not a word of its arguments came.
                blocks[-1] = replace(last, input=last.input or {UNPARSED: ""})
            case [*_, condense.ToolUseBlock()] if reason == "end_turn":
                reason = "tool_use"
        return events.ReplyCompleted(tuple(blocks), reason, self.usage, self.form)

    @staticmethod
    def thought(text: str) -> condense.Block:
        """Return a block of thinking without a signature."""
        return condense.OpaqueBlock({"type": "thinking", "thinking": text.strip("\n")})

    def say(self, text: str, *, is_last: bool = False) -> Iterator[events.StreamEvent]:
        """Yield the events for a piece of text, its thinking apart."""
        for kind, piece in self._tags.take(text, is_last=is_last):
            if kind == "thinking":
                yield from self.think(piece)
                continue
            self.thinks, self.shown = False, self.shown or bool(piece.strip())
            yield events.TextStreamed(piece) if kind == "text" else events.StreamDiscarded()

    def think(self, text: str) -> Iterator[events.StreamEvent]:
        """Yield the events for a piece of thinking; a blank one is none."""
        if not self.thinks and (text := text.lstrip("\n")).strip():
            self.thinks = True
            yield events.ThinkingStarted()
        if self.thinks:
            yield events.ThinkingStreamed(text)


class SdkProvider(ABC):
    """Streams replies of one model; never retries a failure on its own.

    A vendor's class makes the client of its ``sdk``, writes its requests and reads its events.
    """

    spec: ClassVar[ProviderSpec]
    sdk: ClassVar[ModuleType]
    reply_class: ClassVar[type[StreamedReply]]
    path: ClassVar[str]  # address of replies
    models_path: ClassVar[str]
    request_id: ClassVar[str]  # header that names a request
    # The variable of headers that the SDK adds to each request.
    headers_variable: ClassVar[str]
    # Seconds without a byte, and without an event, after which a call has failed.
    byte_timeout: float
    event_timeout: float

    def __init__(
        self, model: Model, *, api_key: str, base_url: str = "", guard: Guard | None = None
    ) -> None:
        """Answer as ``model``.

        ``guard`` judges a ``base_url`` that a user has chosen; without it the operator has.
        """
        self.model = model
        self.base_url = base_url or self.spec.url
        self.key = api_key
        self.guard = guard
        self.asked = CallTarget(model.name, host_of(self.base_url), proxy_of(self.base_url, guard))
        # Parts that the server has refused, earlier ones included.
        self.refused: dict[str, Any] = {}
        # A call raises the SDK's errors, its transport's, and those of broken JSON or an address.
        own: type[Exception] = self.sdk.APIError
        others = (httpx2.HTTPError, httpx2.StreamError, OSError, ValueError)
        self.failures = (own, AddressRefused, *others)

    @abstractmethod
    def open_client(self, **options: Any) -> Any:
        """Return the SDK's client with these options and the vendor's own."""

    @abstractmethod
    def headers(self, request: ModelRequest | None = None) -> Mapping[str, Any]:
        """Return a request's HTTP headers."""

    @abstractmethod
    def write(self, request: ModelRequest, left_out: set[str]) -> events.SentRequest:
        """Return the request's bytes, without the parts that the vendor refused."""

    @abstractmethod
    def adapt(self, refusal: Refusal, request: ModelRequest, left_out: set[str]) -> bool:
        """Leave the refused part out of the next request; return False if none is known."""

    @abstractmethod
    async def read_models(self, client: Any, listed: Sequence[Json]) -> tuple[ListedModel, ...]:
        """Return the models that the server ``listed``."""

    async def count_tokens(self, request: ModelRequest) -> int | None:  # noqa: B027 - not each API can
        """Return the prompt's size as the vendor measures it, None when it does not say."""

    async def list_models(self) -> tuple[ListedModel, ...]:
        """Return the models that the server lists; raise ProviderError if the call fails."""
        self._check_key()
        try:
            async with self.client() as client:
                options = {"headers": self.headers()}
                body: object = await client.get(self.models_path, cast_to=object, options=options)
                return await self.read_models(client, _models_in(body))
        except self.failures as error:
            raise self._explained(error, self._refusal_in(error), self.reply_class()) from error

    async def stream(self, request: ModelRequest) -> AsyncIterator[events.StreamEvent]:
        """Yield each request before it is sent, its id, the events, and last the whole reply.

        After a refusal of an optional part, the next request leaves it out. Raises ProviderError.
        """
        self._check_key()
        left_out: set[str] = set()
        while True:
            reply = self.reply_class()
            reply.tools = [tool.name for tool in request.tools]
            contents = [one.content for one in request.messages]
            sent = await compute(contents, self.write, request, left_out)
            yield sent
            try:
                async with (
                    self.client() as client,
                    aclosing(self._receive(client, sent, request, reply)) as received,
                ):
                    async for event in received:
                        yield event
            except self.failures as error:
                refusal = self._refusal_in(error)
                if refusal:
                    yield _named(refusal.request_id)
                    if whole := _written_in(refusal, reply):
                        yield whole
                        return
                explained = self._explained(error, refusal, reply)
                is_final = reply.shown or isinstance(explained, ContextOverflow) or not refusal
                if is_final or not (refusal and self.adapt(refusal, request, left_out)):
                    raise explained from error
                continue
            for event in reply.end():
                yield event
            try:
                whole = _usable(reply, self.asked)
            except ProviderError:
                yield events.UsageReported(reply.usage, is_final=reply.finished)
                raise
            yield whole
            return

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Any]:
        """Yield a client for one call; raise AddressRefused, or OSError for an unknown host."""
        addresses = await self.guard.addresses(self.base_url) if self.guard else None
        seconds = self.byte_timeout
        made_of = (type(self), self.base_url, self.key, seconds, self.guard, addresses)

        def make() -> Any:
            return self.open_client(
                base_url=self.base_url,
                max_retries=0,
                timeout=httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
                http_client=open_client(
                    self.sdk.DefaultAioHttpClient,
                    addresses,
                    guarded=self.guard is not None,
                    environment=self.headers_variable,
                    proxy=self.asked.proxy,
                ),
            )

        known = await clients()
        async with known.use(made_of, make) as client:
            yield client

    async def _receive(
        self, client: Any, sent: events.SentRequest, request: ModelRequest, reply: StreamedReply
    ) -> AsyncGenerator[events.StreamEvent]:
        """Yield the events of the reply; raise TimeoutError after too long a silence."""
        async with asyncio.timeout(self.event_timeout):
            # Not the SDK's own methods, whose models of events fail at what is not as documented.
            stream = await client.post(
                self.path,
                content=sent.body,
                options={"headers": self.headers(request)},
                cast_to=object,
                stream=True,
                stream_cls=self.sdk.AsyncStream[object],
            )
        yield _named(stream.response.headers.get(self.request_id))
        async with stream:
            try:
                reads = read_events(stream.response.aiter_bytes())
                async for said in paced(reads, self.event_timeout, lambda: reply.finished):
                    for event in reply.take_all(said):
                        yield event
            except (ErrorEvent, *self.failures) as error:
                # A line may break, be left open or tell an error behind the end of a reply.
                if reply.finished:
                    return
                if not isinstance(error, ErrorEvent):
                    raise
                raise self.sdk.APIStatusError(
                    f"{error.body}", response=stream.response, body=error.body
                ) from None

    def _refusal_in(self, error: Any) -> Refusal | None:
        if not isinstance(error, self.sdk.APIStatusError):
            return None
        return refusal_of(error.body, error.status_code, error.response.headers, self.request_id)

    def _explained(
        self, error: Exception, refusal: Refusal | None, reply: StreamedReply
    ) -> ProviderError:
        """Return the error to raise; a reply that was shown in part is not to be retried."""
        if isinstance(error, AddressRefused):
            return ProviderError(str(error))
        if refusal:
            explained = explain_refusal(error, refusal, self.asked)
        else:
            explained = explain_loss(error, self.asked, started=reply.started)
        explained.retryable = explained.retryable and not reply.shown
        return explained

    def _check_key(self) -> None:
        if not self.key and self.spec.asks_key(self.base_url):
            raise ProviderError(NO_KEY, profile_at_fault=True)


def _models_in(body: object) -> list[Json]:
    """Return the models of a server's list: bare, or under one of the usual names."""
    held = [body.get(name) for name in _LISTS] if isinstance(body, Mapping) else [body]
    found = next((one for one in held if isinstance(one, list) and one), [])
    named = [{"id": one} if isinstance(one, str) else one for one in found]
    return [{"id": one.get("name", one.get("model")), **one} for one in listed(named)]


def _named(request_id: object) -> events.CallDescribed:
    """Return the event with the vendor's id of the request, empty if it gave none."""
    name = request_id[:LONGEST_NAME] if isinstance(request_id, str) else None
    return events.CallDescribed({} if name is None else {"request_id": name})


def _written_in(refusal: Refusal, reply: StreamedReply) -> events.ReplyCompleted | None:
    """Return the calls that a server could not read, and sends with its refusal."""
    said = str(at(refusal.body, "failed_generation"))
    *before, last = written_calls.apart(condense.TextBlock(said), reply.tools)
    is_call = isinstance(last, condense.ToolUseBlock)
    return events.ReplyCompleted((*before, last), "tool_use", reply.usage) if is_call else None


def _usable(reply: StreamedReply, asked: CallTarget) -> events.ReplyCompleted:
    """Return the whole reply; raise ProviderError for half a one, a refusal, or an empty one."""
    if not reply.started:
        raise no_reply(asked)
    if not reply.finished:
        raise ProviderError(BROKE_OFF, retryable=not reply.shown)
    if reply.stop_reason == "model_context_window_exceeded":
        said = noop("The reply did not fit into what is left of the context window.")
        raise ContextOverflow(said)
    if REFUSED_END.search(reply.stop_reason):
        why = str(reply.stop_details.get("explanation") or "")
        details = str(dict(reply.stop_details)) if reply.stop_details else ""
        said = say("The model declined to answer this. {said}", said=why) if why else DECLINED
        raise Declined(said, details=details)
    whole = reply.completed()
    if all(condense.is_thinking(block) for block in whole.content):
        raise ProviderError(ONLY_THOUGHT if whole.is_cut else EMPTY, retryable=True, attempts=2)
    return whole
