"""Prices: the tokens that a model call consumed, and their cost."""

from dataclasses import dataclass
from decimal import Decimal

MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, as the provider reported them.

    As in Anthropic's API, ``input`` leaves out tokens read from or written to the prompt cache.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def prompt(self) -> int:
        """Tokens of the whole prompt, cached parts included."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        """Tokens the context held once the reply was written."""
        return self.prompt + self.output

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum of two calls."""
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
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

    @property
    def are_set(self) -> bool:
        """True if any price is above 0."""
        return any((self.input, self.output, self.cache_read, self.cache_write))

    def cost(self, usage: Usage) -> Decimal:
        """Return the exact cost of one call in USD; several calls are added up as costs."""
        times = Surcharge(0)
        if self.surcharge and usage.prompt > self.surcharge.above:
            times = self.surcharge
        return (
            self.cache_write * times.cache_write * usage.cache_write
            + self.cache_read * times.cache_read * usage.cache_read
            + self.input * times.input * usage.input
            + self.output * times.output * usage.output
        ) / MILLION
