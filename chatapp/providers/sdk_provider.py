"""Providers over a vendor's SDK: all that is the same for every vendor about a call."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import chain
from types import ModuleType
from typing import Any, ClassVar

import httpx2

import condense
from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.agent.provider_port import UNOBSERVED, Model, ModelRequest, SentRequest
from chatapp.network.address_guard import AddressRefused, Guard, host_of
from chatapp.providers.call_errors import (
    BROKE_OFF,
    DECLINED,
    NO_KEY,
    Asked,
    ErrorEvent,
    Refusal,
    explain_loss,
    explain_refusal,
    no_reply,
)
from chatapp.providers.http import CONNECT_SECONDS, clients, open_client, paced
from chatapp.providers.specs import ListedModel, ProviderSpec

LONGEST_NAME, LONGEST_REASON = 100, 40
# No prompt has more tokens: a larger number is a mistake, and no column could hold it.
MOST_TOKENS = 2**31 - 1


def as_tokens(value: object, least: int = 1) -> int | None:
    """Return a number of tokens that can be meant, None for anything else."""
    return value if type(value) is int and least <= value <= MOST_TOKENS else None


class StreamedReply(ABC):
    """What one stream has said so far."""

    def __init__(self, learned: Callable[..., None] = UNOBSERVED.learned) -> None:
        """Begin with nothing; ``learned`` is told what is said about the call itself."""
        self._learned = learned
        self.usage = condense.Usage()
        self.started = False
        self.shown = False
        self.finished = False
        self.stop_reason = ""
        self.stop_details: Mapping[Any, Any] = {}

    def take_all(self, said: Iterable[object]) -> Iterator[events.StreamEvent]:
        """Take events in and yield what there is to tell of them; text in a row is one piece."""
        return events.joined(chain.from_iterable(map(self.take, said)))

    @abstractmethod
    def take(self, event: Any) -> Iterator[events.StreamEvent]:
        """Take one event in and yield what there is to tell of it; anything odd says nothing."""

    def end(self) -> Iterator[events.StreamEvent]:
        """Take in that nothing more comes, and yield what was held back."""
        return iter(())

    @abstractmethod
    def completed(self) -> events.ReplyCompleted:
        """Return the whole reply as an event."""

    def note_request(self, name: object) -> None:
        """Take the name that the vendor gave to the request."""
        if isinstance(name, str):
            self._learned(request_id=name[:LONGEST_NAME])


class SdkProvider(ABC):
    """Streams replies of one model; never retries a failure on its own.

    A vendor's class says which ``sdk`` it uses, ``failures`` that this lets out, and what else it
    takes to make its client, write its requests and read what comes back. ``path`` is where
    replies are asked for, and ``request_id`` the header that names a request.
    """

    spec: ClassVar[ProviderSpec]
    sdk: ClassVar[ModuleType]
    failures: ClassVar[tuple[type[Exception], ...]]
    reply: ClassVar[type[StreamedReply]]
    path: ClassVar[str]
    models_path: ClassVar[str]
    request_id: ClassVar[str]
    # The variable of headers that the SDK adds to each request.
    headers_variable: ClassVar[str]

    def __init__(
        self,
        model: Model,
        *,
        api_key: str,
        base_url: str = "",
        guard: Guard | None = None,
        silence: float,
    ) -> None:
        """Answer as ``model``; ``silence`` is how many seconds may pass without a byte.

        ``guard`` judges a ``base_url`` that a user has chosen; without it the operator has.
        """
        self.model = model
        self.base_url = base_url or self.spec.url
        self.key = api_key
        self.guard = guard
        # Seconds without an event.
        self.silence = self.eventless = silence

    @abstractmethod
    def open_client(self, **options: Any) -> Any:
        """Return the SDK's client with these options and the vendor's own."""

    @abstractmethod
    def headers(self, request: ModelRequest | None = None) -> Mapping[str, Any]:
        """Return what a request says besides its body."""

    @abstractmethod
    def write(self, request: ModelRequest, left_out: set[str]) -> SentRequest:
        """Return the request's bytes, without what the vendor refused of it."""

    @abstractmethod
    def read(self, response: Any) -> AsyncIterator[list[object]]:
        """Yield the JSON of the events of a response, those of one read at once."""

    @abstractmethod
    def refusal(self, error: Any) -> Refusal:
        """Return what the vendor said when it refused a call."""

    @abstractmethod
    def adapts(self, refusal: Refusal, request: ModelRequest, left_out: set[str]) -> bool:
        """Whether the next request leaves out what this one was refused for."""

    @abstractmethod
    async def read_models(self, client: Any, body: object) -> tuple[ListedModel, ...]:
        """Return the models of the server's list."""

    async def count_tokens(self, request: ModelRequest) -> int | None:  # noqa: B027 - not each API can
        """Return the prompt's size as the vendor measures it, None when it does not say."""

    async def list_models(self) -> tuple[ListedModel, ...]:
        """Return the models that the server lists; raise ProviderError where it does not."""
        self._check_key()
        try:
            async with self.client() as client:
                options = {"headers": self.headers()}
                body: object = await client.get(self.models_path, cast_to=object, options=options)
                return await self.read_models(client, body)
        except AddressRefused as error:
            raise ProviderError(str(error)) from error
        except self.failures as error:
            raise self._explained(error, self.reply(), Asked("", host_of(self.base_url))) from error

    async def stream(self, request: ModelRequest) -> AsyncIterator[events.StreamEvent]:
        """Yield one reply; what the server refuses and a request can do without is left out."""
        self._check_key()
        left_out: set[str] = set()
        while True:
            reply, asked = (
                self.reply(request.observer.learned),
                Asked(self.model.name, host_of(self.base_url)),
            )
            sent = self.write(request, left_out)
            await request.observer.sending(sent)
            try:
                async with self.client() as client:
                    async for said in self._receive(client, sent, request, reply):
                        for event in reply.take_all(said):
                            yield event
            except AddressRefused as error:
                raise ProviderError(str(error)) from error
            except self.failures as error:
                explained = self._explained(error, reply, asked)
                is_refusal = isinstance(error, self.sdk.APIStatusError)
                is_final = reply.shown or isinstance(explained, ContextOverflow) or not is_refusal
                if is_final or not self.adapts(self.refusal(error), request, left_out):
                    raise explained from error
                continue
            for event in reply.end():
                yield event
            _check(reply, asked)
            yield reply.completed()
            return

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Any]:
        """Yield a client for one call; raise AddressRefused, or OSError for an unknown host."""
        addresses = await self.guard.addresses(self.base_url) if self.guard else None
        made_of = (type(self), self.base_url, self.key, self.silence, self.guard, addresses)

        def make() -> Any:
            return self.open_client(
                base_url=self.base_url,
                max_retries=0,
                timeout=httpx2.Timeout(self.silence, connect=min(CONNECT_SECONDS, self.silence)),
                http_client=open_client(
                    self.sdk.DefaultAioHttpClient,
                    addresses,
                    guarded=self.guard is not None,
                    environment=self.headers_variable,
                ),
            )

        known = await clients()
        async with known.use(made_of, make) as client:
            yield client

    async def post(self, client: Any, sent: SentRequest, request: ModelRequest) -> Any:
        """Return the SDK's stream of a call."""
        # Not the SDK's own methods, whose models of events fail at what is not as documented.
        return await client.post(
            self.path,
            content=sent.body,
            options={"headers": self.headers(request)},
            cast_to=object,
            stream=True,
            stream_cls=self.sdk.AsyncStream[object],
        )

    async def _receive(
        self, client: Any, sent: SentRequest, request: ModelRequest, reply: StreamedReply
    ) -> AsyncGenerator[list[object]]:
        """Yield the JSON of the events of each read; TimeoutError when none comes for too long."""
        stream = await self.post(client, sent, request)
        reply.note_request(stream.response.headers.get(self.request_id))
        async with stream:
            try:
                reads = self.read(stream.response)
                async for said in paced(reads, self.eventless, lambda: reply.finished):
                    yield said
            except ErrorEvent as error:
                raise self.sdk.APIStatusError(
                    f"{error.body}", response=stream.response, body=error.body
                ) from None

    def _explained(self, error: Exception, reply: StreamedReply, asked: Asked) -> ProviderError:
        """Return the error to raise; a reply that was shown in part is not to be retried."""
        if isinstance(error, self.sdk.APIStatusError):
            refusal = self.refusal(error)
            reply.note_request(refusal.request_id)
            explained = explain_refusal(error, refusal, asked)
        else:
            # Also a connection that was refused comes as one that took too long.
            refused = isinstance(error.__cause__, httpx2.ConnectTimeout)
            timed_out = isinstance(error, self.sdk.APITimeoutError) and not refused
            explained = explain_loss(error, asked, started=reply.started, timed_out=timed_out)
        explained.retryable = explained.retryable and not reply.shown
        return explained

    def _check_key(self) -> None:
        if not self.key and self.spec.asks_key(self.base_url):
            raise ProviderError(NO_KEY)


def _check(reply: StreamedReply, asked: Asked) -> None:
    """Raise ProviderError where the stream ended and the reply is no use as one."""
    if not reply.started:
        raise no_reply(asked)
    if not reply.finished:
        raise ProviderError(BROKE_OFF, retryable=not reply.shown)
    if reply.stop_reason == "model_context_window_exceeded":
        raise ContextOverflow("The reply did not fit into what is left of the context window.")
    if reply.stop_reason == "refusal":
        why = str(reply.stop_details.get("explanation") or "")
        details = str(dict(reply.stop_details)) if reply.stop_details else ""
        raise ProviderError(f"{DECLINED} {why}".strip(), details=details)
