"""Many strings are found in a text exactly where a search for each would find it."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from condense.receipts.lookup import stand_in

# Few letters, so that strings are found; signs that join words and that part them.
TEXT = st.text("ab_1é. /-\n", max_size=60)
NEEDLES = st.lists(st.tuples(st.text("ab_1é. /-", min_size=1, max_size=8), st.booleans()))


@settings(max_examples=500, deadline=None)
@given(TEXT, NEEDLES)
def test_it_finds_what_a_search_for_each_string_finds(
    text: str, needles: list[tuple[str, bool]]
) -> None:
    """Anywhere, or as whole words."""
    assert stand_in(text, needles) == [
        bool(re.search(rf"(?<!\w){re.escape(needle)}(?!\w)", text)) if whole else needle in text
        for needle, whole in needles
    ]


def test_a_part_of_a_word_is_found_unless_it_must_be_whole() -> None:
    """A command is cut after sixty characters, in the middle of a word."""
    text = "go test ./internal/store_test.go"
    needles = [("go test ./internal/sto", False), ("st", False), ("store_test.go", True)]
    assert stand_in(text, needles) == [True, True, True]
    assert stand_in(text, [("store", True), ("st", True)]) == [False, False]


def test_a_string_of_common_words_is_found() -> None:
    """Where each of its words stands in too many places, the text is searched for it."""
    text = "ab ba " * 1_000 + "ab ab"
    assert stand_in(text, [("ab ab", True), ("b a", False), ("b a", True)]) == [True, True, False]
    assert stand_in(text, [("ab", True), ("ba ba", True)]) == [True, False]
