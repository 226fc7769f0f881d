"""Limits and prices of known models: what a new profile starts with.

Claude's figures are those of Anthropic's model overview and pricing pages at platform.claude.com
and of the anthropic SDK 2.11's list of models, read on 2026-11-21. Claude Fable 5.2 was too new
for the copy of the pages at hand: its figures are those that price lists kept from these pages
agree on. Prices are USD per million tokens; a cache write is one that lives for five minutes.

They are a starting point: a profile keeps its own numbers, which the user can change.
"""

from dataclasses import asdict, dataclass, field
from decimal import Decimal

import condense

_MILLION = 1_000_000
_CLAUDE_OUTPUT = 128_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One model a profile may name, with limits in tokens and prices in USD per million."""

    provider: str
    model: str
    name: str
    context_window: int
    max_output: int
    prices: condense.Prices = field(default_factory=condense.Prices)
    binds_thinking: bool = False
    """Whether the vendor refuses a thinking block once anything before it has changed."""

    @property
    def figures(self) -> dict[str, int | Decimal]:
        """Limits and prices by the names they have in a profile."""
        prices = {f"price_{name}": price for name, price in asdict(self.prices).items()}
        return {"context_window": self.context_window, "max_output": self.max_output, **prices}


def _claude(
    model: str,
    name: str,
    prices: str,
    *,
    window: int = _MILLION,
    max_output: int = _CLAUDE_OUTPUT,
    binds_thinking: bool = True,
) -> Entry:
    """Return a Claude model; ``prices`` are input, output, cache read, cache write."""
    return Entry(
        provider="anthropic",
        model=model,
        name=name,
        context_window=window,
        max_output=max_output,
        prices=condense.Prices(*map(Decimal, prices.split())),
        binds_thinking=binds_thinking,
    )


MODELS: tuple[Entry, ...] = (
    _claude("claude-opus-5-5", "Claude Opus 5.5", "4 20 0.20 5"),
    _claude("claude-sonnet-5-5", "Claude Sonnet 5.5", "2 10 0.10 2.50"),
    # A longer prompt costs five times as much per token; this window keeps below it.
    _claude(
        "claude-haiku-5-5",
        "Claude Haiku 5.5 (up to 100,000 tokens)",
        "0.10 0.50 0.01 0.125",
        window=100_000,
        max_output=32_000,
    ),
    _claude("claude-fable-5-2", "Claude Fable 5.2", "8 40 0.20 10"),
    _claude("claude-fable-5-1", "Claude Fable 5.1", "10 50 0.25 12.50"),
    _claude("claude-opus-5", "Claude Opus 5", "5 25 0.50 6.25", binds_thinking=False),
    _claude("claude-sonnet-5", "Claude Sonnet 5", "2 10 0.20 2.50", binds_thinking=False),
    _claude(
        "claude-haiku-4-5",
        "Claude Haiku 4.5",
        "1 5 0.10 1.25",
        window=200_000,
        max_output=64_000,
        binds_thinking=False,
    ),
    # Small, so that a condensation can be seen within a few messages.
    Entry("offline", "offline", "Offline stand-in", context_window=16_000, max_output=4_000),
)


def find(model: str) -> Entry | None:
    """Return what is known about a model, None for one that is not listed."""
    return next((entry for entry in MODELS if entry.model == model), None)


def default_for(provider: str) -> Entry:
    """Return the model that a new profile of ``provider`` starts with."""
    return next(entry for entry in MODELS if entry.provider == provider)
