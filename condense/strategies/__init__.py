"""Ways to make the context smaller, one per file, imported when first used."""

from importlib import import_module
from typing import Any

from condense.strategies.base import Kit, Strategy

REGISTRY = {
    "clear": "condense.strategies.clear.Clear",
    "fresh_start": "condense.strategies.fresh_start.FreshStart",
    "keep_recent": "condense.strategies.keep_recent.KeepRecent",
    "ledger": "condense.strategies.ledger.LedgerAlone",
    "sliding_window": "condense.strategies.sliding_window.SlidingWindow",
}

__all__ = ["REGISTRY", "Kit", "Strategy", "load_strategy"]


def load_strategy(name: str, **options: Any) -> Strategy:
    """Return the strategy of that name, or at that dotted path; ``options`` are its constructor's.

    Raises LookupError for a name that is neither registered nor dotted.
    """
    path = REGISTRY.get(name, name)
    module, _, attribute = path.rpartition(".")
    if not module:
        raise LookupError(f"No strategy {name!r}; there are {', '.join(REGISTRY)}.")
    strategy: Strategy = getattr(import_module(module), attribute)(**options)
    return strategy
