"""Ways to make the context smaller, one per file named after it, imported when first used.

A strategy is a class with the ``name`` of its file; see :class:`condense.Strategy`. ``label`` and
``description`` describe it to people, ``takes`` names the user's settings for its constructor.
Other packages offer theirs as entry points of the group ``palimpsest.strategies``, and an
application registers its own.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, Protocol, cast

from condense.budget.situation import Kind
from condense.reduction.strategy import Strategy
from condense.registry import Entry, Registry

logger = logging.getLogger(__name__)

GROUP = "palimpsest.strategies"


class Described(Protocol):
    """The attributes of a strategy's class by which people choose it."""

    name: ClassVar[str]
    kind: ClassVar[Kind]
    label: ClassVar[str]
    description: ClassVar[str]
    takes: ClassVar[tuple[str, ...]]


def _files() -> Iterator[Entry[type[Described]]]:
    for module in iter_modules(__path__):
        yield Entry(module.name, partial(_find, module.name))


def _find(name: str) -> type[Described]:
    """Return the class in the file of that name."""
    classes = vars(import_module(f"{__name__}.{name}")).values()
    (found,) = [one for one in classes if getattr(one, "name", "") == name]
    return cast(type[Described], found)


_registry: Registry[type[Described]] = Registry("strategy", _files, group=GROUP)


def built_in_strategies() -> Sequence[type[Described]]:
    """Return the classes of all strategies that come with this package, by name."""
    return [entry.load() for entry in _files()]


def known_strategies() -> Sequence[type[Described]]:
    """Return the classes of all strategies there are, the highest priority first, then by name.

    One of another package that lacks its attributes for people is left out, and logged.
    """
    found = _registry.all()
    for strategy in found:
        if missing := _missing(strategy):
            logger.warning("the strategy %s has no %s", strategy, missing)
    return [strategy for strategy in found if not _missing(strategy)]


def register_strategy(strategy: type[Any], *, priority: float = 0) -> type[Any]:
    """Register a class by its ``name``, for people to choose; return it, as a decorator does.

    Raises TypeError if it lacks an attribute that people or the ladder need.
    """
    if missing := _missing(strategy):
        raise TypeError(f"{strategy.__qualname__} is no strategy: it has no {missing}.")
    _registry.register(strategy.name, strategy, priority=priority)
    return strategy


def _missing(strategy: type[Any]) -> str:
    wanted = (*Described.__annotations__, "prompt_for", "reduce")
    return ", ".join([name for name in wanted if not hasattr(strategy, name)])


def unregister_strategy(name: str) -> None:
    """Remove a registered strategy; a built-in one of that name is available again."""
    _registry.unregister(name)


def load_strategy(
    name: str, settings: Mapping[str, Any] | None = None, /, **options: Any
) -> Strategy:
    """Return the strategy of that name, or at that dotted path; ``options`` are its constructor's.

    Of a user's ``settings`` it is made with those that it ``takes``. Raises LookupError, with the
    names that there are, for one that is neither.
    """
    if "." not in name or name in _registry.names():
        made: Any = _registry.get(name)
    else:
        module, _, attribute = name.rpartition(".")
        try:
            made = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            there = ", ".join(sorted(_registry.names()))
            raise LookupError(
                f"No strategy at {name!r}: {error}; by name there are {there}."
            ) from error
    takes = getattr(made, "takes", ())
    taken = {key: value for key, value in (settings or {}).items() if key in takes}
    return cast(Strategy, made(**taken, **options))
