"""What a condensation starts from, and what it comes to."""

import enum
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from condense.budget import Budget
from condense.messages import Json, Message
from condense.tokens import TokenCount, TokenCounter
from condense.usage import Usage

Environment = Callable[[], Awaitable[str]]


class Trigger(enum.StrEnum):
    """Why the context is looked at."""

    AUTO = "auto"
    """Before a request; does something only where the budget says so."""
    FORCED = "forced"
    """The provider said that the request does not fit; its word counts."""
    MANUAL = "manual"
    """The user asked for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One conversation at the moment its context is looked at.

    ``effective`` is what the model sees, in reading order, and ``tokens`` its current size with
    ``system`` and ``tools`` (JSON specs). ``history`` is the whole tagged history where the caller
    has it: directives that a truncation hid are found there. ``automatic`` is the user's switch,
    ``prompt`` replaces the condensing prompt unless blank, ``focus`` is what a manual run should
    keep above all. ``environment`` is awaited only when its text is used.
    """

    effective: tuple[Message, ...]
    tokens: TokenCount
    budget: Budget
    trigger: Trigger = Trigger.AUTO
    system: str = ""
    tools: tuple[Json, ...] = ()
    history: tuple[Message, ...] = ()
    automatic: bool = True
    prompt: str = ""
    focus: str = ""
    environment: Environment | None = None

    @property
    def is_over(self) -> bool:
        """Whether the context exceeds what a request may hold."""
        return self.budget.exceeds(self.tokens.value)

    def fixed_tokens(self, counter: TokenCounter) -> int:
        """Return the estimated size of what every request repeats: system prompt and tools."""
        return counter.count(self.system) + self.tools_tokens(counter)

    def tools_tokens(self, counter: TokenCounter) -> int:
        """Return the estimated size of the tool specs, as compact JSON."""
        if not self.tools:
            return 0
        return counter.count(json.dumps(self.tools, separators=(",", ":"), ensure_ascii=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """A smaller context, ready to be applied: nothing is changed until the caller does so.

    ``message`` is the summary or the marker to insert, its seq still unset, and ``hidden`` the ids
    it hides, in reading order. Both token counts are of the whole request, system prompt and
    tools included, and in the same unit. ``prompt`` is the instruction that was sent, ``analysis``
    the model's scratch text, which nobody sends again; ``notes`` are sentences for people.
    """

    kind: Literal["condensed", "truncated"]
    strategy: str
    message: Message
    hidden: tuple[str, ...]
    tokens_before: TokenCount
    tokens_after: TokenCount
    summary: str = ""
    analysis: str = ""
    prompt: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: Decimal = Decimal(0)
    notes: tuple[str, ...] = ()


def replace_hidden(
    effective: Sequence[Message], hidden: Sequence[str], message: Message
) -> tuple[Message, ...]:
    """Return the history with ``message`` standing where the last hidden one stood."""
    ids = frozenset(hidden)
    last = max(index for index, one in enumerate(effective) if one.id in ids)
    before = (one for one in effective[: last + 1] if one.id not in ids)
    return (*before, message, *effective[last + 1 :])
