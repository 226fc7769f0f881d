"""Things by name: what comes with a package, what other packages bring, what is registered."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib.metadata import entry_points
from operator import attrgetter

logger = logging.getLogger(__name__)

# What comes with the package is not replaced by what happens to be installed beside it.
INSTALLED = -1


@dataclass(frozen=True, slots=True)
class Entry[T]:
    """One way to get what a name stands for; of several, that of the highest priority counts."""

    name: str
    load: Callable[[], T]
    priority: float = 0


class Registry[T]:
    """What there is of one ``kind``, by name; a later registration counts before an earlier one.

    ``group`` is the entry points' group in which other packages offer theirs. What is registered
    counts before what comes with the package, and that before entry points, unless a priority says
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
        """Have ``name`` stand for ``thing``, as long as nothing of a higher priority does."""
        self._registered.append(Entry(name, lambda: thing, priority))
        self.__dict__.pop("_entries", None)

    def unregister(self, name: str) -> None:
        """Forget what was registered under ``name``; raise LookupError where nothing was."""
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
        """Return what the name stands for; raise LookupError with the names that there are."""
        if entry := self._entries.get(name):
            return entry.load()
        names = sorted(self._entries)
        close = get_close_matches(name, names, n=1)
        guess = f" Did you mean {close[0]!r}?" if close else ""
        raise LookupError(f"No {self.kind} {name!r}; there are {', '.join(names)}.{guess}")

    def all(self) -> list[T]:
        """Return all there is; what another package fails to bring is logged and left out."""
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
