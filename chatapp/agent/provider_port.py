"""The provider port: one model call at a time, and the facts of each call."""

import enum
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import condense
from chatapp.agent import events
from chatapp.agent.tool_port import ToolSpec


class Purpose(enum.StrEnum):
    """What a model call is for."""

    CHAT = "chat"
    SUMMARY = "summary"
    TITLE = "title"


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What a provider says about a call besides its reply.

    ``cache_miss`` is why it could not read the prompt from its cache, ``missed_tokens`` how much of
    it; ``transformations`` are the changes it made to what was sent.
    """

    request_id: str = ""
    reply_id: str = ""
    cache_miss: str = ""
    missed_tokens: int | None = None
    transformations: tuple[Mapping[str, Any], ...] = ()


NO_FACTS = CallFacts()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model; ``messages`` are shaped as the Messages API accepts them.

    ``previous_reply`` is the provider's name for the reply before this one. With ``compaction`` the
    reply is to be the provider's own compaction of the messages, by that instruction.
    """

    system: str
    messages: tuple[condense.Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    purpose: Purpose = Purpose.CHAT
    previous_reply: str = ""
    compaction: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """The model a profile names, with its limits in tokens and its prices in USD.

    With ``caches_prompts`` a request that begins like the last one is read from a cache. ``effort``
    is how much it shall think, one of the specs' EFFORTS, "" for what it does by itself. One that
    ``compacts`` can be asked for a compaction.
    """

    name: str
    context_window: int
    max_output: int
    prices: condense.Prices = field(default_factory=condense.Prices)
    supports_images: bool = True
    caches_prompts: bool = False
    temperature: float | None = None
    effort: str = ""
    compacts: bool = False


class Provider(Protocol):
    """A vendor's API for one model."""

    @property
    def model(self) -> Model:
        """The model that answers."""

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Return the prompt's size in tokens as the vendor counts it, None where it cannot."""

    def stream(self, request: ModelRequest) -> AsyncIterator[events.StreamEvent]:
        """Yield the reply as it is written, :class:`events.ReplyCompleted` last.

        Each request is yielded before it is sent, as :class:`events.SentRequest`.
        Usage is yielded as soon as it is known, so that a call that breaks off is still accounted
        for. Raises ProviderError, or ContextOverflow when the prompt does not fit.
        """
