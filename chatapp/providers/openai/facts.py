"""What the vendor says of a call's usage, as far as it is of the documented shape."""

from collections.abc import Mapping
from typing import Any

import condense
from chatapp.providers.sealed import MOST_TOKENS


def usage_of(chunk: Mapping[Any, Any]) -> condense.Usage | None:
    """Return what a chunk reports as used, None where it says nothing of that.

    What was read from the cache, and written to it, is part of the prompt's number.
    """
    for given in (chunk.get("usage"), _inner(chunk.get("x_groq"), "usage")):
        if isinstance(given, Mapping):
            prompt = _number(given.get("prompt_tokens"))
            details = given.get("prompt_tokens_details")
            read = min(prompt, _number(_inner(details, "cached_tokens")))
            written = min(prompt - read, _number(_inner(details, "cache_write_tokens")))
            output = _number(given.get("completion_tokens"))
            if prompt or output:
                return condense.Usage(prompt - read - written, output, read, written)
    return None


def _inner(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _number(value: object) -> int:
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else 0
