"""Claude's models, with their limits and prices.

The figures are those of Anthropic's model overview and pricing pages at platform.claude.com and of
the anthropic SDK 2.11's list of models, read on 2026-11-21. Claude Fable 5.2 was too new for the
copy of the pages at hand: its figures are those that price lists kept from these pages agree on.
Which of them compact on demand is as its page on that lists them.
Prices are USD per million tokens; a cache write is one that lives for five minutes.

They are a starting point: a profile keeps its own numbers, which the user can change.
"""

from decimal import Decimal

import condense
from chatapp.providers.specs import ModelSpec, ProviderSpec

_MILLION = 1_000_000
_MAX_OUTPUT = 128_000
_FIVEFOLD = Decimal(5)


def _claude(
    model: str,
    name: str,
    prices: str,
    surcharge: condense.Surcharge | None = None,
    *,
    window: int = _MILLION,
    max_output: int = _MAX_OUTPUT,
    compacts: bool = True,
) -> ModelSpec:
    """Return a model; ``prices`` are input, output, cache read, cache write."""
    prompt, output, cache_read, cache_write = map(Decimal, prices.split())
    listed = condense.Prices(prompt, output, cache_read, cache_write, surcharge)
    return ModelSpec(model, name, window, max_output, listed, compacts)


SPEC = ProviderSpec(
    name="anthropic",
    label="Anthropic",
    factory="chatapp.providers.anthropic.provider:AnthropicProvider",
    profile_name="Claude",
    url="https://api.anthropic.com",
    key_variable="ANTHROPIC_API_KEY",
    url_variable="ANTHROPIC_BASE_URL",
    caches_prompts=True,
    # The API has no temperature any more.
    takes_effort=True,
    # Its pricing page, Claude 4, tool choice "auto".
    tool_prompt_tokens=346,
    models=(
        _claude("claude-opus-5-5", "Claude Opus 5.5", "4 20 0.20 5"),
        _claude("claude-sonnet-5-5", "Claude Sonnet 5.5", "2 10 0.10 2.50"),
        _claude(
            "claude-haiku-5-5",
            "Claude Haiku 5.5",
            "0.10 0.50 0.01 0.125",
            condense.Surcharge(100_000, _FIVEFOLD, _FIVEFOLD, _FIVEFOLD, _FIVEFOLD),
        ),
        _claude("claude-fable-5-2", "Claude Fable 5.2", "8 40 0.20 10", compacts=False),
        _claude("claude-fable-5-1", "Claude Fable 5.1", "10 50 0.25 12.50"),
        _claude("claude-opus-5", "Claude Opus 5", "5 25 0.50 6.25"),
        _claude("claude-sonnet-5", "Claude Sonnet 5", "2 10 0.20 2.50"),
        _claude(
            "claude-haiku-4-5",
            "Claude Haiku 4.5",
            "1 5 0.10 1.25",
            window=200_000,
            max_output=64_000,
            compacts=False,
        ),
    ),
)

# These refuse a thinking block once anything before it has changed.
BINDING_THINKING = frozenset(
    {
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-fable-5-2",
        "claude-fable-5-1",
    }
)

# These take a system message behind one of the user's. Of Sonnet 5, what is known disagrees.
LATE_SYSTEM = BINDING_THINKING | {"claude-opus-5"}

# These think as they see fit, between tool calls too; others are given a number of tokens for it.
ADAPTIVE_THINKING = BINDING_THINKING | {"claude-opus-5", "claude-sonnet-5"}
