"""Refusals: parts of a request that a server does not take, learnt for the requests after it."""

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache, lru_cache
from importlib import resources
from itertools import chain
from typing import Any

import condense
from chatapp.agent.ports import Model

# Of one request: a server that refuses more takes none. Characters of a refusal that are read.
MOST_CHANGES, LONGEST = 12, 2_000
NO_MORE_IMAGES = "[An image, left out here: the server takes no more of them in a request]"
# Also with commas between its thousands, but for those of a range.
_NUMBER = re.compile(r"(?<![\w.-])(?:(?<!\[)\d{1,3}(?:,\d{3})+(?![\d,])|\d+)(?![\w-])")
_LEAST = 100


@cache
def table(name: str) -> Any:
    """Return a table of this folder, with its words in place of their names."""
    text = resources.files(__package__).joinpath(name).read_text("utf-8")
    for word, pattern in tomllib.loads(text).get("words", {}).items():
        text = text.replace("{" + word + "}", pattern)
    return tomllib.loads(text, parse_float=Decimal)


def _values(rule: Mapping[str, Any], said: str, had: int) -> Iterator[Any]:
    """Yield the new values of a rule's trait for a sentence about it."""
    patterns = [re.search(one, said, re.IGNORECASE | re.DOTALL) for one in rule["said"]]
    for found in filter(None, patterns):
        match rule["value"]:
            case "{number}":
                if 0 <= (number := int(found["number"])) < had:
                    yield number
            case "{least}":
                # No reply is limited to fewer tokens.
                told = _NUMBER.findall(said, found.start())
                numbers = [int(one.replace(",", "")) for one in told]
                most = min((one for one in numbers if _LEAST <= one < had), default=had // 2)
                yield most - bool(re.search(r"less than \d|exclusive\)", said))
            case "{field}":
                yield found["field"]
            case value:
                yield had // 2 if value == "{half}" else value


@lru_cache(1_000)
def habits(url: str, model: str) -> Mapping[str, Any]:
    """Return the known habits of a server and one of its models."""
    asked = {"host": url, "model": model}
    found: dict[str, Any] = {}
    for one in table("vendors.toml")["vendor"]:
        if all(re.search(one.get(name, ""), value, re.IGNORECASE) for name, value in asked.items()):
            for trait, value in one.items():
                known = found.get(trait, {})
                found[trait] = {**known, **value} if isinstance(value, dict) else value
    return found


def origin_of(provider: str, url: str, model: str) -> str:
    """Return the name of a model at a server, from which neither can be read."""
    return hashlib.sha256(f"{provider} {url.rstrip('/')} {model}".encode()).hexdigest()[:16]


def shown(refused: Mapping[str, Any]) -> list[str]:
    """Return refused traits in the words of APIs, for people."""
    words = table("refusals.toml")["shown"]
    return [words[name].format(value=value) for name, value in refused.items() if name in words]


class Learning:
    """A writer's knowledge of its server: the ``traits`` of requests, which refusals change.

    ``had`` has the number of each trait's parts in the last request: it was not refused for a part
    it lacked.
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

    def newest_images(self, messages: Sequence[condense.Message]) -> Sequence[condense.Message]:
        """Return the messages with as many images as the server takes, and text for older ones."""
        blocks = chain.from_iterable(condense.flat_blocks(one.content) for one in messages)
        had = sum(isinstance(one, condense.ImageBlock) for one in blocks)
        excess = had - self.traits.most_images
        self.had["most_images"] = had - max(0, excess)

        def kept(block: condense.Block) -> condense.Block:
            nonlocal excess
            if excess <= 0 or not isinstance(block, condense.ImageBlock):
                return block
            excess -= 1
            return condense.TextBlock(NO_MORE_IMAGES)

        return condense.change_blocks(messages, kept) if excess > 0 else messages

    def adapt(self, said: str, left_out: set[str]) -> bool:
        """Leave out the refused part from now on; False for a refusal of nothing that is known.

        ``left_out`` has the parts that were tried for this request.
        """
        rules = table("refusals.toml")["rule"] if len(left_out) < MOST_CHANGES else ()
        for rule in [one for one in rules if hasattr(self.traits, one["trait"])]:
            had = self.had.get(trait := rule["trait"], 1)
            for value in _values(rule, said[:LONGEST], had) if had else ():
                if getattr(self.traits, trait) != value and f"{trait}={value}" not in left_out:
                    left_out.add(f"{trait}={value}")
                    self.use(replace(self.traits, **{trait: value}))
                    self.refused |= {} if rule.get("once") else {trait: value}
                    return True
        return False
