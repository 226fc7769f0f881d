"""Prices: the tokens that a model call consumed, and their cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from math import prod

MILLION = Decimal(1_000_000)
# To write to the cache for an hour costs twice the input's price, for five minutes 1.25 times: the
# difference as a part of the latter, by
# platform.claude.com/docs/en/build-with-claude/prompt-caching.
HOUR = Decimal("0.6")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, as the provider reported them."""

    input: int = 0  # not read from or written to the prompt cache, as in Anthropic's API
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_hour: int = 0  # of those written, the ones that stay for an hour
    charged: Decimal | None = None  # USD, if the provider has reported it
    # Counts of other facts that it bills by: the name of its tier, or searches.
    terms: Mapping[str, int] = field(default_factory=dict)
    beside: tuple["Usage", ...] = ()  # billed, but not counted among the others

    @property
    def counts(self) -> dict[str, int]:
        """The tokens by their price's name."""
        own = ("input", "output", "cache_read", "cache_write")
        return {name: getattr(self, name) for name in own}

    @property
    def prompt(self) -> int:
        """Tokens of the whole prompt, cached parts included."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        """Tokens the context held once the reply was written."""
        return self.prompt + self.output

    def __add__(self, other: "Usage") -> "Usage":
        """Return the tokens of two calls; costs are added up as costs."""
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.cache_hour + other.cache_hour,
        )


@dataclass(frozen=True, slots=True)
class Surcharge:
    """Factors on the price of each token when the prompt is longer than ``above`` tokens."""

    above: int
    input: Decimal = Decimal(1)
    output: Decimal = Decimal(1)
    cache_read: Decimal = Decimal(1)
    cache_write: Decimal = Decimal(1)


@dataclass(frozen=True, slots=True)
class Prices:
    """USD per million tokens; zero if a provider does not charge."""

    input: Decimal = Decimal(0)
    output: Decimal = Decimal(0)
    cache_read: Decimal = Decimal(0)
    cache_write: Decimal = Decimal(0)
    surcharge: Surcharge | None = None
    times: Mapping[str, Decimal] = field(default_factory=dict)  # factors of some terms
    fees: Mapping[str, Decimal] = field(default_factory=dict)  # USD for each of other terms

    @property
    def are_set(self) -> bool:
        """True if any price is above 0."""
        return any((self.input, self.output, self.cache_read, self.cache_write))

    def covers(self, usage: Usage) -> bool:
        """Return True if the cost of a call is known: it was charged, or its terms are known."""
        known = self.times.keys() | self.fees.keys()
        return usage.charged is not None or usage.terms.keys() <= known

    def cost(self, usage: Usage) -> Decimal:
        """Return the exact cost of one call in USD; several calls are added up as costs.

        A charge by the provider is the cost, whatever the prices are. Unknown terms change nothing.
        """
        if usage.charged is not None:
            return usage.charged
        times = prod([self.times[name] for name in usage.terms if name in self.times])
        fees = [each * usage.terms.get(name, 0) for name, each in self.fees.items()]
        tokens = sum(map(self._list_price, (usage, *usage.beside)), Decimal(0))
        return sum(fees, times * tokens)

    def _list_price(self, usage: Usage) -> Decimal:
        """Return the cost of tokens by the list."""
        more = Surcharge(0)
        if self.surcharge and usage.prompt > self.surcharge.above:
            more = self.surcharge
        return (
            self.cache_write * more.cache_write * (usage.cache_write + HOUR * usage.cache_hour)
            + self.cache_read * more.cache_read * usage.cache_read
            + self.input * more.input * usage.input
            + self.output * more.output * usage.output
        ) / MILLION
