"""What the vendor says about a call besides its reply, as far as it is of the documented shape."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from chatapp.providers.sealed import LONGEST_NAME, MOST_TOKENS

MOST_TRANSFORMATIONS, LARGEST_TRANSFORMATION = 100, 1_000


def facts_of(event: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the fields of ``CallFacts`` that a message's beginning or end tells."""
    return dict(_facts(event))


def _facts(event: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    match event:
        case {"id": str(name)}:
            yield "reply_id", name[:LONGEST_NAME]
    match event:
        case {"diagnostics": {"cache_miss_reason": {"type": str(reason), **more}}}:
            yield "cache_miss", reason[:LONGEST_NAME]
            missed = more.get("cache_missed_input_tokens")
            if type(missed) is int and 0 <= missed <= MOST_TOKENS:
                yield "missed_tokens", missed
    match event:
        case {"input_transformations": [*found]} if found:
            kept = [one for one in found[:MOST_TRANSFORMATIONS] if _is_small(one)]
            yield "transformations", tuple(kept)


def _is_small(one: object) -> bool:
    return isinstance(one, Mapping) and len(json.dumps(one)) <= LARGEST_TRANSFORMATION
