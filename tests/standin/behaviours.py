"""What the stand-in does with one request: the words of a test's script."""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

# Seconds: whoever waits this long has failed, however busy the machine is.
PATIENCE = 120.0


class Gate:
    """Holds a stream until a test opens it, from any thread."""

    def __init__(self) -> None:
        """Begin closed."""
        self._opened = threading.Event()
        self._reached = threading.Event()

    @property
    def is_open(self) -> bool:
        """Whether streams go on."""
        return self._opened.is_set()

    def open(self) -> None:
        """Let the stream go on."""
        self._opened.set()

    def pass_through(self) -> None:
        """Wait in the server's thread until the gate opens."""
        self._reached.set()
        self._opened.wait(PATIENCE)

    def wait_until_reached(self, seconds: float = PATIENCE) -> bool:
        """Return once a stream stands at the gate; False when none came."""
        return self._reached.wait(seconds)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call in a reply; ``raw`` replaces the input by text that may be no JSON."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes of a stream, sent as they are."""

    text: str

    @classmethod
    def event(cls, data: Any, name: str = "content_block_delta") -> Self:
        """Return an event of any shape; its ``type`` is its name where it has one."""
        named = data.get("type") if isinstance(data, Mapping) else None
        return cls(f"event: {named or name}\ndata: {json.dumps(data)}\n\n")


@dataclass(frozen=True, slots=True)
class Rest:
    """Some seconds without a word."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply, streamed in pieces.

    The ``gate`` stands after its first piece of "text", or of "thinking", or of the arguments of a
    "tool_use", as ``gate_in`` says.

    ``blocks`` are more blocks of content, before the text; ``extra`` is sent after its first piece.

    ``broken`` says how the stream ends where it does not end well: "cut", or an error type such
    as "overloaded_error", after the first piece of text (or at once, where there is no text).

    Without ``usage`` chat completions do not say what they used.

    ``hold`` is a gate before anything is said, and ``pace`` seconds lie between pieces of text.
    Chat completions wait at ``end`` between their last word and the end of the body.
    """

    text: str = ""
    tools: Sequence[ToolCall] = ()
    thinking: str = ""
    blocks: Sequence[Mapping[str, Any]] = ()
    extra: Sequence[Raw] = ()
    stop_reason: str = ""
    gate: Gate | None = None
    gate_in: str = "text"
    broken: str = ""
    hold: Gate | None = None
    usage: bool = True
    pace: float = 0
    end: Gate | Rest | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """An HTTP error in the API's envelope, or with a ``body`` as other servers word theirs."""

    status: int
    type: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A success of these bytes, sent as they are, in these chunks; labelled as ``kind``."""

    chunks: Sequence[bytes]
    kind: str = "text/event-stream"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Behaviour = Reply | Failure | Answer

UNAUTHORIZED = Failure(401, "authentication_error", "invalid x-api-key")
OVERLOADED = Failure(529, "overloaded_error", "Overloaded")
OVERFLOW = Failure(
    400, "invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum"
)


def rate_limited(retry_after: float | None = None, **headers: str) -> Failure:
    """Return a 429 that asks to wait, where it says for how many seconds."""
    wish = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    message = "This request would exceed your organization's rate limit"
    return Failure(429, "rate_limit_error", message, {**wish, **headers})
