"""Which tool results a later one makes superfluous."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from condense.folding import paths_read
from condense.history.pairs import AnsweredCall


def superseded(given: Sequence[AnsweredCall]) -> frozenset[int]:
    """Return the places of reads whose files were all read again later, as much or more."""
    found: set[int] = set()
    later: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for index in reversed(range(len(given))):
        answer = given[index]
        paths, asked = paths_read(answer.call), answer.call.input
        if not paths or not isinstance(asked, Mapping):
            continue
        news = [path for path in paths if not any(_covers(one, asked) for one in later[path])]
        if not news:
            found.add(index)
        if not answer.result.is_error:
            for path in news:
                later[path].append(asked)
    return frozenset(found)


def _covers(again: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Whether a later read asked for the same with no further limits, such as a range of lines."""
    return all(name in asked and asked[name] == value for name, value in again.items())
