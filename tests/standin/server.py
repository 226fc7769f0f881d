"""A strict stand-in for Anthropic's HTTP API, served on a loopback port by a thread.

OpenAI's chat completions and Responses are its other doors, with the same script, window and
tokenizer. It refuses what the real API refuses, measures tokens, models the prompt cache, and does
what a test has scripted: one behaviour per request, in order, and sensible answers where none is
left.
"""

import asyncio
import itertools
import json
import socket
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.standin import auto, chat_door, compaction, responses_door, thinking
from tests.standin.behaviours import OVERFLOW, PATIENCE, Answer, Behaviour, Failure, Gate, Reply
from tests.standin.listening import Listening, servers_loop
from tests.standin.metering import Diagnosis, PromptCache, measure
from tests.standin.receiving import Received, key_of, read_json, received, send, stream
from tests.standin.rules import violations
from tests.standin.vendors import Vendor
from tests.standin.writing import Written

NO_KEY = Failure(401, "authentication_error", "x-api-key header is required")
WRONG_KEY = Failure(401, "authentication_error", "invalid x-api-key")
VERSIONS = {"2023-06-01", "2026-10-21"}


@dataclass(repr=False)
class Standin:
    """The server and its script; use it as a context manager.

    ``requests`` are the calls for messages, ``counts`` those that only count tokens. Its tokenizer
    takes ``factor`` times as many tokens as o200k. ``served`` is what other addresses
    answer, such as the list of models. As a ``vendor`` it refuses what that one does.
    """

    window: int = 200_000
    key: str | None = None
    port: int = 0
    factor: float = 1.0
    served: dict[str, Any] = field(default_factory=dict)
    vendor: Vendor | None = None
    requests: list[Received] = field(default_factory=list, init=False)
    counts: list[Received] = field(default_factory=list, init=False)
    cache: PromptCache = field(default_factory=PromptCache, init=False)
    diagnosis: Diagnosis = field(default_factory=Diagnosis, init=False)

    def __post_init__(self) -> None:
        self.cache.factor = self.factor
        self._script: deque[Behaviour] = deque()
        self._numbers = itertools.count(1)
        self._gates: list[Gate] = []

    def then(self, *behaviours: Behaviour) -> None:
        """Script what the next requests get, one behaviour each."""
        self._script.extend(behaviours)
        replies = [one for one in behaviours if isinstance(one, Reply)]
        places = [place for one in replies for place in (one.gate, one.hold, one.end)]
        self._gates += [place for place in places if isinstance(place, Gate)]

    def forget(self) -> None:
        """Leave out what is scripted and was not asked for."""
        self._script.clear()

    def reply(self, text: str = "", **more: Any) -> None:
        """Script a reply: text, and what else :class:`Reply` takes."""
        self.then(Reply(text, **more))

    def overflow(self) -> None:
        """Script the refusal of a prompt that is too long."""
        self.then(OVERFLOW)

    def number(self) -> int:
        """Return the number of the next answer."""
        return next(self._numbers)

    @property
    def problems(self) -> list[str]:
        """Everything that was wrong with the requests so far."""
        return [sentence for request in self.requests for sentence in request.problems]

    @property
    def unused(self) -> int:
        """How many scripted behaviours no request has used up."""
        return len(self._script)

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        # A line that rests is closed by no clock: a request may be on its way at that moment.
        options: dict[str, Any] = {"lifespan": "off", "ws": "none", "timeout_keep_alive": 3_600}
        config = uvicorn.Config(self.app, log_config=None, log_level="critical", **options)
        self._server = Listening(config)
        served = self._server.serve(sockets=[listener])
        self._ended = asyncio.run_coroutine_threadsafe(served, servers_loop())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for gate in self._gates:
            gate.open()
        self._server.over.set_result(None)
        self._ended.result(PATIENCE)

    @property
    def app(self) -> Starlette:
        """The ASGI application, for whoever serves it otherwise."""
        return Starlette(
            routes=[
                Route("/v1/messages", self._messages, methods=["POST"]),
                Route("/v1/messages/count_tokens", self._count, methods=["POST"]),
                *chat_door.routes(self),
                *responses_door.routes(self),
                Route("/{path:path}", self._serve, methods=["GET", "POST"]),
            ]
        )

    async def _serve(self, request: Request) -> Response:
        if self.key is not None and key_of(request) != self.key:
            return self._fail(WRONG_KEY)
        if request.url.path not in self.served:
            return self._fail(Failure(404, "not_found_error", "Not found"))
        return JSONResponse(self.served[request.url.path])

    async def _count(self, request: Request) -> Response:
        body, problems = await read_json(request)
        problems = problems or violations(body, counting=True)
        self.counts.append(await received(request, body, problems))
        failure = self._refusal(request, problems)
        if failure:
            return self._fail(failure)
        return JSONResponse({"input_tokens": await asyncio.to_thread(measure, body, self.factor)})

    async def _messages(self, request: Request) -> Response:
        body, problems = await read_json(request)
        vendor = self.vendor
        if vendor:
            problems += filter(None, (check(body) for check in vendor.checks))
        problems = problems or ([] if vendor else violations(body))
        if not problems and not vendor:
            betas = request.headers.get("anthropic-beta", "")
            problems = [*compaction.problems(body, betas), *self._misbound(request, body)]
        self.requests.append(await received(request, body, problems))
        failure = self._refusal(request, problems)
        behaviour = failure or self.next(body)
        if isinstance(behaviour, Failure):
            return self._fail(behaviour)
        if isinstance(behaviour, Answer):
            return send(behaviour)
        failure, usage = await asyncio.to_thread(self._meter, body)
        if failure:
            return self._fail(failure)
        number = self.number()
        written = Written(
            behaviour,
            f"msg_{number:06}",
            body["model"],
            usage,
            vendor.signature if vendor else thinking.sign(body),
            added=thinking.transformations(body),
            diagnostics=self.diagnosis.compare(body, f"msg_{number:06}"),
            factor=self.factor,
        )
        headers = {"request-id": f"req_{number:06}"}
        if body.get("stream"):
            return StreamingResponse(
                stream(written.events(), _event), 200, headers, "text/event-stream"
            )
        return JSONResponse(written.message(), headers=headers)

    def next(self, body: Mapping[str, Any]) -> Behaviour:
        """Return what is scripted next, or what answers this request."""
        scripted = self._script.popleft() if self._script else None
        if body.get("compaction") and not isinstance(scripted, Failure):
            return compaction.answer(body, scripted)
        return scripted or auto.answer(body)

    def _refusal(self, request: Request, problems: list[str]) -> Failure | None:
        key = key_of(request)
        if not key:
            return NO_KEY
        if self.key is not None and key != self.key:
            return WRONG_KEY
        version = request.headers.get("anthropic-version")
        if not version:
            problems = ["anthropic-version: header is required"]
        elif version not in VERSIONS:
            problems = [f"anthropic-version: {version!r} is not a valid version"]
        return Failure(400, "invalid_request_error", problems[0]) if problems else None

    def _misbound(self, request: Request, body: Mapping[str, Any]) -> list[str]:
        asks = bool((body.get("thinking") or {}).get("block_binding"))
        if asks and thinking.BETA not in request.headers.get("anthropic-beta", ""):
            return ["thinking.adaptive.block_binding: Extra inputs are not permitted"]
        return [] if thinking.drops_blocks(body) else [*thinking.mismatches(body)]

    def _meter(self, body: Mapping[str, Any]) -> tuple[Failure | None, dict[str, int]]:
        tokens = measure(body, self.factor)
        if tokens > self.window:
            message = f"prompt is too long: {tokens} tokens > {self.window} maximum"
            return Failure(400, "invalid_request_error", message), {}
        return None, self.cache.usage(body)

    def _fail(self, failure: Failure) -> JSONResponse:
        request_id = f"req_{self.number():06}"
        error = {"type": failure.type, "message": failure.message}
        return JSONResponse(
            {"type": "error", "error": error, "request_id": request_id},
            failure.status,
            {"request-id": request_id, **failure.headers},
        )


def _event(event: Mapping[str, Any]) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
