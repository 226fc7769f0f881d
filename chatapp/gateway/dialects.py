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
    """The facts in a request's body: its history, its session, and the answer that it follows."""

    items: Sequence[Any]
    system: str = ""
    tools: Sequence[str] = ()
    session: str = ""
    follows: str = ""
    is_part: bool = False  # the provider has the rest of its history
    is_summary: bool = False  # its answer stands in place of its history
    keeps_thinking: bool = False  # results of tools are refused without the thinking before


@dataclass(frozen=True, slots=True)
class Dialect:
    """An API of a vendor, as far as the gateway has to know it."""

    name: str
    provider: str
    history: str  # field with the history of a request
    paths: frozenset[str]  # requests to these are recorded
    read: Callable[[Json], RequestFacts]
    transcript: Callable[[], Transcript]  # takes items of a history one by one
    reply: Callable[[], StreamedReply]  # takes the events of an answer
    refuse: Callable[[int, str], Json]  # writes an error of our own
    version: str = ""  # possible end of a profile's address; paths begin with it
    beside: frozenset[str] = field(default_factory=frozenset)  # paths only passed on
    counting: frozenset[str] = field(default_factory=frozenset)  # those that count tokens
    text: str = "text"  # type of a part that is text
    merged: bool = True  # one more text becomes part of a string
    # Types of thinking that are bound to all that was sent before.
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
