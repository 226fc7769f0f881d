"""What of a message can be found."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.search.queries import searchable_text, space_out, visible_text

IMAGE = {"type": "image", "source": {"type": "base64", "data": "aGVsaW90cm9wZQ=="}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain words", "plain words"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ([{"type": "thinking", "thinking": "hm", "signature": "c2VjcmV0"}], "hm"),
        (
            [{"type": "tool_use", "id": "c1", "name": "run", "input": {"a": "x", "b": ["y", 3]}}],
            "x\ny",
        ),
        ([{"type": "tool_result", "tool_use_id": "c1", "content": "its text"}], "its text"),
        (
            [{"type": "tool_result", "content": [{"type": "text", "text": "seen"}, IMAGE]}],
            "seen",
        ),
        ([IMAGE, {"type": "redacted_thinking", "data": "eHl6"}], ""),
        ([{**IMAGE, "beside": {"kind": "image", "name": "photo.png"}}], "[photo.png]"),
        ([], ""),
        (None, ""),
    ],
)
def test_a_message_is_found_by_what_its_row_shows(content: Any, text: str) -> None:
    """Not by names of fields, by identifiers or by encoded data."""
    assert visible_text(content) == text


def test_characters_that_may_be_words_stand_alone() -> None:
    """So that each can be found in the middle of what is written without spaces."""
    assert space_out("用Django的").split() == ["用", "Django", "的"]
    assert space_out("plain wörds") == "plain wörds"


@given(content=JSON)
def test_whatever_is_stored_can_be_indexed(content: Any) -> None:
    """An error here would keep a message from being stored."""
    searchable_text(json.dumps(content)).encode()
    searchable_text(json.dumps([content])).encode()


@pytest.mark.parametrize("content", ["", "{", '"\\ud800 half"', "[" * 100_000 + "]" * 100_000])
def test_what_is_broken_or_bottomless_is_not_found_but_stored(content: str) -> None:
    """Half a surrogate becomes a question mark."""
    assert searchable_text(content) in {"", "? half"}
