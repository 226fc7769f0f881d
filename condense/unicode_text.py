"""Text and JSON as every store and every wire can carry them.

A model may write half a surrogate pair, ``NaN`` or a thousand brackets; a file's name may hold
bytes that are no UTF-8. None of it can be stored, sent or shown. It is mended once, at the
entrance.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from condense.sentences import Sentence, change_texts

# Levels of JSON that are kept; SQLite reads a thousand, and nobody needs as many.
DEEPEST = 200
TOO_DEEP = "[nested too deeply]"
# Invisible signs that turn the text around after them, or end such a part.
_TURNS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
# All that shows nothing of itself, without the joiners that some scripts write.
_UNSEEN = re.compile(
    r"[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    r"\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e00ff]"
)


def well_formed(text: str) -> str:
    """Return text that UTF-8 and a database can carry; other characters become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        # Two halves that came apart make one character again.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "\ufffd")


def upright(name: str) -> str:
    """Return a name without characters that reverse the direction of text."""
    return name if name.isascii() else name.translate(_TURNS)


def with_unseen(text: str) -> str:
    """Return text with its unseen characters written as escapes, as in JSON."""
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def well_formed_json(value: Any, *, depth: int = 0) -> Any:
    """Return a JSON value with texts, numbers and a depth that strict JSON can carry."""
    if isinstance(value, str):
        is_made = isinstance(value, Sentence)
        return change_texts(value, well_formed) if is_made else well_formed(value)
    if isinstance(value, Mapping | list | tuple) and depth >= DEEPEST:
        return TOO_DEEP
    if isinstance(value, Mapping):
        return {
            well_formed(str(key)): well_formed_json(item, depth=depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [well_formed_json(item, depth=depth + 1) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
