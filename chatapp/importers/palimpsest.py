"""Conversations that Palimpsest has written, with all that is on record of them: docs/export.md."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chatapp.exchange import FORMAT, Beside, Piece, Unusable
from chatapp.exchange.files import Sample, read_whole

LABEL = "Palimpsest"

# What is no list.
_SINGLE = {"format", "exported_at", "conversation"}


def recognise(sample: Sample) -> bool:
    """Whether it says so at its beginning."""
    return '"format"' in sample.head[:200] and "palimpsest conversation" in sample.head[:200]


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield the messages, and then the rest; raise Unusable where anything is not as written."""
    try:
        told = json.loads(read_whole(path), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Unusable("The file is damaged: it is no JSON.") from error
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise Unusable(f"The file is of no form that is known here: that is “{FORMAT}”.")
    sections = {name: _objects(name, one) for name, one in told.items() if name not in _SINGLE}
    yield from sections.pop("messages", ())
    sections = {"conversation": _objects("conversation", [told.get("conversation")]), **sections}
    yield from (Beside(name, item) for name, items in sections.items() for item in items)


def _objects(name: str, value: Any) -> list[dict[str, Any]]:
    if not (isinstance(value, list) and all(isinstance(one, dict) for one in value)):
        raise Unusable(f"The file is damaged: {name} is not what it has to be.")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(constant)  # NaN and the infinities are no JSON
