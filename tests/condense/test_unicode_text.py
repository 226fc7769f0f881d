"""Words and JSON that no store and no wire would take, mended where they come in."""

import json
import math
from typing import Any

import pytest

from condense import well_formed, well_formed_json


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("caf\u00e9 \ud83d", "caf\u00e9 \ufffd"),
        ("\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        ("\ud83d" + "\ude00", "\U0001f600"),
        ("a\0b", "a\ufffdb"),
        *[(text, text) for text in ("", "\U0001f600", "line\n\ttab\x1b")],
    ],
)
def test_what_utf_8_or_a_database_cannot_carry_is_replaced(broken: str, mended: str) -> None:
    """Half a surrogate pair and NUL become U+FFFD, two halves a character, all else stays."""
    assert well_formed(broken) == mended


def test_json_that_is_not_strict_becomes_strict() -> None:
    """A model may write half a surrogate pair or NaN, keys included, and nest for ever."""
    value = {"path": "\ud83d", "\udc00": [{"size": math.nan}, 1.5, "\u00e9", None, -math.inf]}
    assert well_formed_json(value) == {
        "path": "\ufffd",
        "\ufffd": [{"size": "nan"}, 1.5, "\u00e9", None, "-inf"],
    }
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    text = json.dumps(well_formed_json({"a": deep}))
    assert 190 < text.count("[") < 210
    assert "nested too deeply" in text
