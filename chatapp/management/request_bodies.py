"""Request bodies: kept in a file as they arrive, limited, and read in pieces by the application.

Daphne would parse a form on the event loop, answer a damaged one itself, and hold a whole upload in
memory before the application sees any of it.
"""

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, override

from daphne import http_protocol

from chatapp.models.errors import not_saved
from chatapp.project.languages import Reader, in_words
from chatapp.project.sentences import translate as _

# Bytes of the longest body that any page takes, with a form's text around its files.
LARGEST_BODY = 256 * 1024 * 1024
# Bytes that the application is handed at once.
BODY_PIECE = 64 * 1024
# Seconds after which a client that reads nothing of its answer has left.
PATIENCE = 600

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]


class LimitedRequest(http_protocol.WebRequest):  # type: ignore[misc] # daphne carries no types
    """A request with its body unparsed; too long a body is answered with 413.

    Its answer comes no faster than its client reads: ``drained`` is set while there is room.
    """

    content: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, parsePOSTFormSubmission=False, **options)
        self.left = LARGEST_BODY
        # Why the body could not be kept.
        self.failure: OSError | None = None
        self.drained = asyncio.Event()
        self.drained.set()
        self.is_answered = False

    @override
    def handleContentChunk(self, data: bytes) -> None:
        """Keep the chunk, up to the limit."""
        self.left -= len(data)
        if self.left < 0 or self.failure:
            return
        try:
            super().handleContentChunk(data)
            self.content.flush()
        except OSError as error:
            # As on a full disk. The rest that the file still holds fails once more.
            self.failure = error
            with suppress(OSError):
                self.content.close()
            self.content = io.BytesIO()

    @override
    def process(self) -> Any:
        """Pass the request on once it is here; the gateway refuses in words of its own."""
        is_for_gateway = self.path.startswith(b"/gateway/")
        if is_for_gateway:
            self.requestHeaders.removeHeader(b"upgrade")
        if self.failure or (self.left < 0 and not is_for_gateway):
            with Reader.of("", self.getHeader("accept-language") or "").reading():
                status, words = 413, b"Content Too Large"
                said = _("This is too much: a request can have up to {n} MB.", n=LARGEST_BODY >> 20)
                if self.failure:
                    status, words = 507, b"Insufficient Storage"
                    said = in_words(str(not_saved(self.failure)))
            return self.basic_error(status, words, said)
        return super().process()

    def pauseProducing(self) -> None:  # noqa: N802 - twisted's name
        """Stop the answer until its client has read more."""
        self.drained.clear()
        self.channel.setTimeout(PATIENCE)

    def resumeProducing(self) -> None:  # noqa: N802 - twisted's name
        """Let the answer go on, or end."""
        self.drained.set()
        self.channel.setTimeout(None)
        if self.is_answered:
            self.finish()

    def stopProducing(self) -> None:  # noqa: N802 - twisted's name
        """Let nothing wait for a client that has left."""
        self.drained.set()

    @override
    def finish(self) -> None:
        """End the answer, once all but a little has gone out: Twisted has little patience then."""
        self.is_answered = True
        if self.drained.is_set():
            self.unregisterProducer()
            super().finish()

    @override
    def handle_exception(self, exception: Exception) -> None:
        """Answer a failure; an answer that has begun is cut off, so that nobody waits for more."""
        if self._response_started and self.channel:
            self.channel.loseConnection()
        else:
            super().handle_exception(exception)

    @override
    def handle_reply(self, message: Message) -> None:
        """Send a piece at once: to have the reactor do it costs as much again."""
        super().handle_reply(message)
        if message.get("more_body") and self.channel:
            self.channel.transport.doWrite()


# Daphne's factory has no other place to name its class of requests.
http_protocol.WebRequest = LimitedRequest


class BodyReader:
    """An ASGI application that has another one read a request's body from the file of ``take``."""

    def __init__(self, application: Any) -> None:
        self.application = application

    @staticmethod
    def take(request: Any, scope: dict[str, Any]) -> None:
        """Put the file with a request's body into its scope; Daphne reads nothing of it then."""
        scope["body"], request.content = request.content, io.BytesIO()

    async def __call__(self, scope: Any, receive: Receive, send: Any) -> None:
        """Pass the request on."""
        if body := scope.pop("body", None):
            receive = _messages(body, receive).__anext__
        await self.application(scope, receive, send)


async def _messages(body: io.BufferedIOBase, receive: Receive) -> AsyncIterator[Message]:
    """Yield the body in pieces, unless the client is gone, and then the later messages."""
    message = await receive()
    if message["type"] == "http.request":
        with body:
            while len(piece := body.read(BODY_PIECE)) == BODY_PIECE:
                yield {"type": "http.request", "body": piece, "more_body": True}
        message = {"type": "http.request", "body": piece, "more_body": False}
    while True:
        yield message
        message = await receive()
