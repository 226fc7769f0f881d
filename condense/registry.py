"""Registries by name: a package's own things, those of other packages, and registered ones."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib.metadata import entry_points
from operator import attrgetter

logger = logging.getLogger(__name__)

# An installed plug-in does not replace an entry of the package.
INSTALLED = -1


@dataclass(frozen=True, slots=True)
class Entry[T]:
    """A loader of the thing with a name; of several entries, the highest priority counts."""

    name: str
    load: Callable[[], T]
    priority: float = 0


class Registry[T]:
    """The things of one ``kind``, by name; a later registration counts before an earlier one.

    ``group`` is the entry points' group in which other packages offer theirs. Registered things
    count before those of the package, and these before entry points, unless a priority says
    otherwise.
    """

    def __init__(
        self, kind: str, built_in: Callable[[], Iterable[Entry[T]]], *, group: str = ""
    ) -> None:
        self.kind = kind
        self.group = group
        self._built_in = built_in
        self._registered: list[Entry[T]] = []

    def register(self, name: str, thing: T, *, priority: float = 0) -> None:
        """Register ``thing`` under ``name``; one of a higher priority still counts before it."""
        self._registered.append(Entry(name, lambda: thing, priority))
        self.__dict__.pop("_entries", None)

    def unregister(self, name: str) -> None:
        """Remove the registrations of ``name``; raise LookupError if there are none."""
        left = [entry for entry in self._registered if entry.name != name]
        if len(left) == len(self._registered):
            raise LookupError(f"No {self.kind} {name!r} was registered.")
        self._registered = left
        self.__dict__.pop("_entries", None)

    def names(self) -> tuple[str, ...]:
        """Return all names: the highest priority first, and of one priority by the alphabet."""
        found = self._entries
        return tuple(sorted(found, key=lambda name: (-found[name].priority, name)))

    def get(self, name: str) -> T:
        """Return the thing with this name; raise LookupError with the known names."""
        if entry := self._entries.get(name):
            return entry.load()
        names = sorted(self._entries)
        close = get_close_matches(name, names, n=1)
        guess = f" Did you mean {close[0]!r}?" if close else ""
        raise LookupError(f"No {self.kind} {name!r}; there are {', '.join(names)}.{guess}")

    def all(self) -> list[T]:
        """Return all things; one that fails to load is logged and left out."""
        found: list[T] = []
        for name in self.names():
            try:
                found.append(self.get(name))
            except Exception:
                logger.warning("the %s %s cannot be loaded", self.kind, name, exc_info=True)
        return found

    @cached_property
    def _entries(self) -> dict[str, Entry[T]]:
        """The entry that counts for each name."""
        points = entry_points(group=self.group) if self.group else ()
        installed = [Entry[T](point.name, point.load, INSTALLED) for point in points]
        every = (*installed, *self._built_in(), *self._registered)
        return {entry.name: entry for entry in sorted(every, key=attrgetter("priority"))}
