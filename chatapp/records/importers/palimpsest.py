"""Conversations that Palimpsest has written, with all their records: docs/export.md."""

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import ijson
from django.utils.translation import gettext_lazy

from chatapp.records.transfer import FORMAT, Beside, Piece, Unusable, transcript_files
from condense import noop, say

LABEL = "Palimpsest"
WHERE = gettext_lazy("A conversation's menu > Share or export > JSON.")

DAMAGED = noop("The file is damaged: {section} is not what it has to be.")
UNKNOWN_FORM = say("The file is of no form that is known here: that is “{form}”.", form=FORMAT)

# Keys whose value is no list of objects.
_SINGLE: dict[str, type] = {"format": str, "exported_at": str, "conversation": dict}
# Python makes integers of a few more digits, and words may have as many.
MOST_DIGITS = 4_000
_LONG = re.compile(rb"\d{%d}" % MOST_DIGITS)


def recognise(sample: transcript_files.Sample) -> bool:
    """Return True if the file's beginning names this format."""
    return '"format"' in sample.head[:200] and "palimpsest conversation" in sample.head[:200]


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield messages and the other items; raise Unusable, possibly late, for a damaged file.

    No more than one item is held at a time.
    """
    told = dict[str, Any]()
    try:
        simply = _has_long_digits(path)
        with transcript_files.opened(path) as file:
            for section, item in _items(
                transcript_files.BoundedFile(file, transcript_files.LARGEST), simply=simply
            ):
                if section == "format" and item != FORMAT:
                    raise Unusable(UNKNOWN_FORM)
                if section in _SINGLE:
                    told[section] = item
                elif section == "messages":
                    yield item
                else:
                    yield Beside(section, item)
    except (ijson.JSONError, ValueError) as error:
        raise Unusable(noop("The file is damaged: it is no JSON.")) from error
    except transcript_files.DAMAGED as error:
        raise Unusable(noop("The compressed file is damaged or cut off.")) from error
    if "format" not in told:
        raise Unusable(UNKNOWN_FORM)
    if "conversation" not in told:
        raise Unusable(DAMAGED.format(section="conversation"))
    yield Beside("conversation", told["conversation"])


def _has_long_digits(path: Path) -> bool:
    """Return True if the file may have an integer too long for Python: the parser crashes on it."""
    with transcript_files.opened(path) as unbounded:
        file, before = transcript_files.BoundedFile(unbounded, transcript_files.LARGEST), b""
        while data := file.read(transcript_files.SAMPLED_BYTES):
            before = before[-MOST_DIGITS:] + data
            if _LONG.search(before):
                return True
    return False


def _items(file: transcript_files.BoundedFile, *, simply: bool) -> Iterator[tuple[str, Any]]:
    """Yield the values of a file's object with their keys, and each item of a list by itself."""
    depth, level, section, values = 0, 0, "", 0
    builder: Any = None
    for event, value in transcript_files.limit_depth(
        ijson.basic_parse(file, use_float=simply, buf_size=transcript_files.PARSED_AT_ONCE)
    ):
        opens, closes = event.startswith("start_"), event.startswith("end_")
        if builder is None:
            if depth == 0 and event != "start_map":
                raise Unusable(UNKNOWN_FORM)
            in_object = depth == 1 and section not in _SINGLE
            if depth == 0 or closes or (in_object and event == "start_array"):
                depth += opens - closes
                continue
            if depth == 1 and event == "map_key":
                section = value
                continue
            level, builder, values = depth, ijson.ObjectBuilder(), 0
            file.begin_item()
        values += 1
        if values > transcript_files.MOST_VALUES:
            raise Unusable(transcript_files.TOO_LARGE)
        builder.event(event, float(value) if isinstance(value, Decimal) else value)
        depth += opens - closes
        if depth == level:
            item, builder = builder.value, None
            kind, at = (_SINGLE[section], 1) if section in _SINGLE else (dict, 2)
            if not isinstance(item, kind) or level != at:
                raise Unusable(DAMAGED.format(section=section))
            yield section, item
