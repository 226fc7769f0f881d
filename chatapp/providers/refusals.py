"""Refusals: what a server says that it does not take, learnt for the requests after it."""

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from chatapp.agent.ports import Model

# Of one request: a server that refuses more takes none. Characters of a refusal that are read.
MOST_CHANGES, LONGEST = 12, 2_000
# Tokens: a number below it is no limit of a reply.
LEAST = 99
_NUMBER = re.compile(r"(?<![\w.-])\d+(?![\w-])")
_EXCLUSIVE = re.compile(r"less than \d|exclusive\)")


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that servers refuse: the trait of a request that says so, and in which words."""

    trait: str
    value: Any
    said: tuple[re.Pattern[str], ...]
    once: bool = False

    def values(self, said: str, had: int) -> Iterator[Any]:
        """Yield what the trait is from now on where a sentence is about it."""
        for found in filter(None, (pattern.search(said) for pattern in self.said)):
            match self.value:
                case "{number}":
                    if 0 < (number := int(found["number"])) < had:
                        yield number
                case "{least}":
                    numbers = map(int, _NUMBER.findall(said, found.start()))
                    most = min((one for one in numbers if LEAST < one < had), default=had // 2)
                    yield most - bool(_EXCLUSIVE.search(said))
                case "{field}":
                    yield found["field"]
                case value:
                    yield had // 2 if value == "{half}" else value


def _table(name: str) -> Any:
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text("utf-8"))


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules, in the order in which they are tried."""
    table = _table("refusals.toml")

    def pattern(said: str) -> re.Pattern[str]:
        for name, words in table["words"].items():
            said = said.replace("{" + name + "}", words)
        return re.compile(said, re.IGNORECASE | re.DOTALL)

    return tuple(Rule(**{**one, "said": tuple(map(pattern, one["said"]))}) for one in table["rule"])


@cache
def habits(url: str, model: str) -> Mapping[str, Any]:
    """Return what is known beforehand of a server and one of its models."""
    asked = {"host": url, "model": model}
    found: dict[str, Any] = {}
    for one in _table("vendors.toml")["vendor"]:
        if all(re.search(one.get(name, ""), value, re.IGNORECASE) for name, value in asked.items()):
            found |= one
    return found


def origin_of(provider: str, url: str, model: str) -> str:
    """Return the name of a model at a server, from which neither can be read."""
    return hashlib.sha256(f"{provider} {url.rstrip('/')} {model}".encode()).hexdigest()[:16]


def shown(refused: Mapping[str, Any]) -> list[str]:
    """Return what was refused in the words of APIs, for people."""
    words = _table("refusals.toml")["shown"]
    return [words[name].format(value=value) for name, value in refused.items() if name in words]


class Learning:
    """What a writer of requests knows of its server: its ``traits``, which refusals change.

    ``had`` says how many of a trait's things the last request had: it was not refused for none.
    """

    def __init__(
        self, traits: Any, provider: str, model: Model, refused: dict[str, Any] | None, url: str
    ) -> None:
        self.model, self.refused = model, {} if refused is None else refused
        self.origin = origin_of(provider, url, model.name)
        self.had: dict[str, int] = {}
        known = {**habits(url, model.name), **self.refused}
        self.use(replace(traits, **{k: v for k, v in known.items() if hasattr(traits, k)}))

    def use(self, traits: Any) -> None:
        """Write requests with these from now on."""
        self.traits = traits

    def adapt(self, said: str, left_out: set[str]) -> bool:
        """Leave out from now on what a refusal is about; False where it is about nothing such.

        ``left_out`` has what was tried for this request.
        """
        for rule in rules() if len(left_out) < MOST_CHANGES else ():
            had = self.had.get(rule.trait, 1) if hasattr(self.traits, rule.trait) else 0
            for value in rule.values(said[:LONGEST], had) if had else ():
                changed, tried = {rule.trait: value}, f"{rule.trait}={value}"
                if getattr(self.traits, rule.trait) != value and tried not in left_out:
                    left_out.add(tried)
                    self.use(replace(self.traits, **changed))
                    self.refused |= {} if rule.once else changed
                    return True
        return False
