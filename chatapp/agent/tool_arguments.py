"""Arguments of tool calls as models write them, with harmless slips and without."""

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

# The key of arguments that are no JSON object.
UNPARSED = "_unparsed"
# Characters of arguments that are read, which takes less than a second.
LONGEST_ARGUMENTS = 2_000_000
ARGUMENTS_CUT = (
    "The arguments were cut at the limit of a reply. The tool did not run. Write less at once."
)
WRONG = "These arguments are no JSON object: {why}. The tool did not run. Send one JSON object."
_FENCE = re.compile(r"```\w*\s*(.*?)\s*```", re.DOTALL)
# Strings, so that their contents are passed over, and commas before an end.
_SLIPS = re.compile(r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*[}\]])', re.DOTALL)
_ESCAPES = re.compile(r'(\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|(\\)')
# NaN and the infinities, which are no JSON, are no integers either.
_DECODER = json.JSONDecoder(strict=False, parse_constant=int)


def read_arguments(text: str) -> dict[str, Any]:
    """Return a call's arguments; keep anything but a JSON object under ``UNPARSED``."""
    value = read_value(text)
    return value if isinstance(value, dict) else {UNPARSED: text}


def read_value(text: str) -> object:
    """Return the value of JSON with harmless slips, None for anything else."""
    with suppress(ValueError, RecursionError, StopIteration):
        return _read(text)
    return None


def explain(text: str) -> str:
    """Return the sentence for the model about arguments that could not be read."""
    why, end = "they are another value", text.rstrip()
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        why = str(error)[:100]
        # An escape or a word may be cut.
        is_late = getattr(error, "pos", -9) >= len(end) - 6 and not end.endswith("}")
        if is_late or why.startswith("Unterminated"):
            return ARGUMENTS_CUT
    return WRONG.format(why=why)


def _read(text: str, depth: int = 4) -> object:
    """Return the value of JSON with harmless slips; never make up a missing part."""
    text = text.strip() if depth and len(text) <= LONGEST_ARGUMENTS else "too long"
    text = fenced[1] if (fenced := _FENCE.fullmatch(text)) else text
    value, end, text = next(_values(text or "{}"))
    rest = text[end:].strip() if text[end:].lstrip()[:1] != "<" else ""
    # Models repeat the value or its end, put an empty object before it, or add a remark.
    is_remark = isinstance(value, dict) and not re.search(r'[{\["]', rest)
    if rest and not is_remark and not text[:end].endswith(rest):
        again = _read(rest, depth - 1)
        if value and again not in (value, {}):
            raise ValueError(rest)
        value = value or again
    match value:
        case str(inner) | {"_unparsed": str(inner)} if value != text:
            return _read(inner, depth - 1)
        case [dict(only)]:
            return only
    return value or {}


def _values(text: str) -> Iterator[tuple[Any, int, str]]:
    """Yield values that a text may mean, each with its end and its JSON."""
    for spelled in (
        lambda: text,
        lambda: _SLIPS.sub(lambda slip: _ESCAPES.sub(r"\1\2\2", slip[1] or ""), text),
        lambda: json.loads(f'"{text}"'),
        # As Python writes it, which takes its time to read.
        lambda: json.dumps(ast.literal_eval(text[:100_000]), allow_nan=False),
    ):
        with suppress(ValueError, SyntaxError, TypeError, MemoryError):
            said = spelled()
            yield *_DECODER.raw_decode(said), said
