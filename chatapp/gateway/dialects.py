"""Dialects: the parts of an API that the gateway reads to record requests and answers."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatapp.providers.sdk_provider import StreamedReply
from chatapp.records.transfer.transcripts import Transcript

Json = Mapping[str, Any]


class RefusedRequest(Exception):
    """A request that is not passed on; the text says why, and ``status`` is HTTP's for it."""

    def __init__(self, status: int, said: str, **headers: object) -> None:
        super().__init__(said)
        self.status, self.headers = status, headers


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """The facts in a request's body: its history, its session, and the answer that it follows.

    If it ``is_part``, the provider has the rest of its history. If it ``is_summary``, its answer
    stands in place of its history. If it ``keeps_thinking``, the
    provider refuses results of tools behind an answer without its thinking.
    """

    items: Sequence[Any]
    system: str = ""
    tools: Sequence[str] = ()
    session: str = ""
    follows: str = ""
    is_part: bool = False
    is_summary: bool = False
    keeps_thinking: bool = False


@dataclass(frozen=True, slots=True)
class Dialect:
    """An API of a vendor, as far as the gateway has to know it.

    Requests to ``paths`` are recorded, those to paths ``beside`` only passed on; some of these are
    for ``counting`` tokens. The history of a request is its field ``history``. A profile's address
    may end with a ``version``, as the paths begin. A ``transcript`` takes its items one by one, a
    ``reply`` the events of an answer. ``refuse`` writes an error of our own. A part of a message
    that is ``text`` has this type; where texts are ``merged``, one more becomes part of a string.
    Thinking of these types is ``bound`` to all that was sent before it.
    """

    name: str
    provider: str
    history: str
    paths: frozenset[str]
    read: Callable[[Json], RequestFacts]
    transcript: Callable[[], Transcript]
    reply: Callable[[], StreamedReply]
    refuse: Callable[[int, str], Json]
    version: str = ""
    beside: frozenset[str] = field(default_factory=frozenset)
    counting: frozenset[str] = field(default_factory=frozenset)
    text: str = "text"
    merged: bool = True
    bound: frozenset[str] = field(default_factory=frozenset)

    def refusal(self, status: int, said: str) -> bytes:
        """Return an error as clients of this API read it."""
        return json.dumps(self.refuse(status, said)).encode()


def openai_error(status: int, said: str) -> Json:
    """Return an error as clients of OpenAI's APIs read it."""
    kind = KINDS.get(status, "server_error")
    return {"error": {"message": said, "type": kind, "param": None, "code": None}}


# An API's names for our own refusals.
KINDS: Mapping[int, str] = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
    404: "not_found_error", 405: "invalid_request_error", 413: "request_too_large",
    415: "invalid_request_error", 426: "invalid_request_error", 429: "rate_limit_error",
}  # fmt: skip
