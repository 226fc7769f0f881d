"""Many strings are found in a text exactly where a search for each would find it."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from condense.receipts.lookup import MOST, find

# Few letters, so that strings are found; signs that join words and that part them.
TEXT = st.text("ab_1é. /-\n周五", max_size=60)
NEEDLES = st.lists(st.tuples(st.text("ab_1é. /-周五", min_size=1, max_size=8), st.booleans()))
JOINED = r"[^\W周五]"


@settings(max_examples=500, deadline=None)
@given(TEXT, NEEDLES)
def test_it_finds_what_a_search_for_each_string_finds(
    text: str, needles: list[tuple[str, bool]]
) -> None:
    """Anywhere, or as whole words; a script without spaces parts none."""

    def search(needle: str, whole: bool) -> list[int]:
        left = rf"(?<!{JOINED})" if re.match(JOINED, needle) else ""
        right = rf"(?!{JOINED})" if re.match(JOINED, needle[-1]) else ""
        sides = (left, right) if whole else ("", "")
        pattern = f"(?={sides[0]}{re.escape(needle)}{sides[1]})"
        return [match.start() for match in re.finditer(pattern, text)][:MOST]

    assert [list(places) for places in find(text, needles)] == [search(*one) for one in needles]


def test_a_part_of_a_word_is_found_unless_it_must_be_whole() -> None:
    """A command is cut after sixty characters, in the middle of a word."""
    text = "go test ./internal/store_test.go"
    needles = [("go test ./internal/sto", False), ("st", False), ("store_test.go", True)]
    assert all(find(text, needles))
    assert not any(find(text, [("store", True), ("st", True), ("", False)]))


def test_a_string_of_common_words_is_found() -> None:
    """Where each of its words stands in too many places, the text is searched for it."""
    text = "ab ba " * 1_000 + "ab ab"
    first, second, third = find(text, [("ab ab", True), ("a a", False), ("a a", True)])
    assert (list(first), len(second), list(third)) == ([6_000], MOST, [])
    assert find(text, [("ab", True)])[0][:2] == [0, 6]
