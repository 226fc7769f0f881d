"""Refusals: what a server says that it does not take, learnt for the requests after it."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import resources
from typing import Any

Json = dict[str, Any]

# Of one request: a server that refuses more takes none.
MOST_CHANGES = 12


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that servers refuse: the trait of a writer that says so, and in which words."""

    trait: str
    value: Any
    shown: str
    said: tuple[re.Pattern[str], ...]
    once: bool = False

    def values(self, said: str, had: int) -> Iterator[Any]:
        """Yield what the trait is from now on, where a sentence is about it."""
        for found in filter(None, (pattern.search(said) for pattern in self.said)):
            groups = found.groupdict()
            match self.value:
                case "{field}":
                    yield groups.get("field") or "thinking"
                case "{number}" | "{below}":
                    number = (
                        int(groups["number"]) if "number" in groups else int(groups["below"]) - 1
                    )
                    if 0 < number < had:
                        yield number
                case "{half}":
                    yield had // 2
                case value:
                    yield value


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules, in the order in which they are tried."""
    text = resources.files(__package__).joinpath("refusals.toml").read_text("utf-8")
    table = tomllib.loads(text)

    def pattern(said: str) -> re.Pattern[str]:
        for name, words in table["words"].items():
            said = said.replace("{" + name + "}", words)
        return re.compile(said, re.IGNORECASE | re.DOTALL)

    return tuple(Rule(**{**one, "said": tuple(map(pattern, one["said"]))}) for one in table["rule"])


@cache
def _vendors() -> list[tuple[re.Pattern[str], re.Pattern[str], Json]]:
    text = resources.files(__package__).joinpath("vendors.toml").read_text("utf-8")
    return [
        (re.compile(one.pop("host"), re.I), re.compile(one.pop("model", ""), re.I), one)
        for one in tomllib.loads(text)["vendor"]
    ]


def habits(url: str, model: str) -> Json:
    """Return what is known beforehand of a vendor's server and one of its models."""
    found: Json = {}
    for host, name, known in _vendors():
        if host.search(url) and name.search(model):
            found |= known
    return found


def with_known[T](traits: T, *known: Mapping[str, Any]) -> T:
    """Return traits with what is known of them; what they do not have is passed over."""
    names = {one.name for one in fields(traits)}  # type: ignore[arg-type]
    merged = {name: value for one in known for name, value in one.items() if name in names}
    return replace(traits, **merged)  # type: ignore[type-var]


def learn(traits: Any, said: str, had: Mapping[str, int], left_out: set[str]) -> Rule | None:
    """Return the rule that a sentence is about, with its value; None where it is about nothing.

    ``had`` says how many of a trait's things the request had; one without any was not refused for
    them. ``left_out`` has what was tried for this request.
    """
    for rule in rules() if len(left_out) < MOST_CHANGES else ():
        if not hasattr(traits, rule.trait) or not had.get(rule.trait, 1):
            continue
        for value in rule.values(said, had.get(rule.trait, 0)):
            tried = f"{rule.trait}={value}"
            if getattr(traits, rule.trait) != value and tried not in left_out:
                left_out.add(tried)
                return replace(rule, value=value)
    return None


def shown(refused: Mapping[str, Any]) -> list[str]:
    """Return what was refused in the words of APIs, for people."""
    words = {(rule.trait, rule.value): rule.shown for rule in reversed(rules())}
    own = {rule.trait: rule.shown for rule in reversed(rules())}
    found = [
        words.get((trait, value), own.get(trait, trait)).format(value=value)
        for trait, value in refused.items()
    ]
    return sorted({*found})
