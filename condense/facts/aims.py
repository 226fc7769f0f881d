"""What commands are about, to tell whether one that went well settles another's failure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from condense.facts.shell import MOVES, is_lookup, parts_of

_WORD = re.compile(r"[A-Za-z][\w:-]*")
_RUNNERS = {"run", "exec", "-m"}
# Messages and other quoted words name no target; what chooses among tests does.
_QUOTED = re.compile(r"(?<!-k )(?<!-run )(?<!-t )(?<!--grep )(?<!-g )(['\"])[^'\"]*+(?:\1|$)")
_EVERYTHING = {".", "./", "./...", "...", "*"}


@dataclass(frozen=True, slots=True)
class Aim:
    """A kind of command, as ``go test``, and the names and paths that it is run for."""

    family: str
    names: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()

    def covers(self, other: "Aim") -> bool:
        """Whether this runs at least what the other one runs."""
        if self.family != other.family or not self.names <= other.names:
            return False
        if not self.paths:
            return True
        return bool(other.paths) and all(_within(path, self.paths) for path in other.paths)


def aims_of(command: str) -> frozenset[Aim]:
    """Return what each part of a line is about; looking something up is about nothing."""
    parts = parts_of(_QUOTED.sub("", command.partition("\n")[0]))
    return frozenset(aim for words in parts if (aim := _aim(words)).family)


def settles(done: Iterable[Aim], failed: Iterable[Aim]) -> bool:
    """Whether all that failed, or may have, was done since."""
    done, failed = [*done], [*failed]
    return bool(failed) and all(any(one.covers(other) for one in done) for other in failed)


def _aim(words: list[str]) -> Aim:
    named = [word for word in words if word in _RUNNERS or _WORD.fullmatch(word)]
    if not named or words[0] in MOVES or is_lookup(" ".join(words[:4])):
        return Aim("")
    kind = named[: 3 if len(named) > 1 and named[1] in _RUNNERS else 2]
    targets = frozenset(_targets(word for word in words if word not in kind))
    paths = frozenset(word for word in targets if "/" in word or "." in word)
    shown = frozenset(path.removesuffix("/...").rstrip("/") for path in paths - _EVERYTHING)
    return Aim(" ".join(kind), targets - paths - _EVERYTHING, shown)


def _targets(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        flag, _, value = word.partition("=")
        target = value if flag.startswith("-") else word
        if target and not target.isdigit() and not set(target) & set("<>&"):
            yield target


def _within(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
