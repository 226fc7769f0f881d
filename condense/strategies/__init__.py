"""Ways to make the context smaller, one per file named after it, imported when first used.

A strategy is a class with the ``name`` of its file; see :class:`condense.Strategy`. ``label`` and
``description`` say in words what it does, ``takes`` which of a user's wishes it is made with.
"""

import functools
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, Protocol, cast

from condense.reducing import Kit, Strategy
from condense.situation import Kind

__all__ = ["BuiltIn", "Kit", "Strategy", "built_in_strategies", "load_strategy"]


class BuiltIn(Protocol):
    """What the strategies of this package say about themselves."""

    name: ClassVar[str]
    kind: ClassVar[Kind]
    label: ClassVar[str]
    description: ClassVar[str]
    takes: ClassVar[tuple[str, ...]]


@functools.cache
def _names() -> tuple[str, ...]:
    return tuple(module.name for module in iter_modules(__path__))


def built_in_strategies() -> Sequence[type[BuiltIn]]:
    """Return the classes of all strategies that come with this package, by name."""
    return [_find(name) for name in _names()]


def load_strategy(name: str, **options: Any) -> Strategy:
    """Return the strategy of that name, or at that dotted path; ``options`` are its constructor's.

    Raises LookupError for a name that is neither built in nor dotted.
    """
    if name in _names():
        made: Strategy = cast(Any, _find(name))(**options)
        return made
    module, _, attribute = name.rpartition(".")
    if not module:
        raise LookupError(f"No strategy {name!r}; there are {', '.join(_names())}.")
    strategy: Strategy = getattr(import_module(module), attribute)(**options)
    return strategy


def _find(name: str) -> type[BuiltIn]:
    """Return the class in the file of that name."""
    classes = vars(import_module(f"{__name__}.{name}")).values()
    return cast(type[BuiltIn], next(one for one in classes if getattr(one, "name", "") == name))
