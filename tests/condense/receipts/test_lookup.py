"""Many strings are found in a text exactly where a search for each would find it."""

import re
import time

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


def test_a_long_text_is_read_once_for_all_strings() -> None:
    """A search for each of them would take a minute."""
    text = " ".join(f"src/module_{number}.py was read" for number in range(50_000))
    needles = [(f"module_{number}.py", True) for number in range(40_000, 60_000)]
    started = time.perf_counter()
    assert sum(stand_in(text, needles)) == 10_000
    assert time.perf_counter() - started < 10
