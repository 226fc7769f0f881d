"""Names are looked for only in words that may be one, and all of them are found."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from condense.notes import user_words
from condense.notes.user_words import names_in

TEXTS = st.text(alphabet="aBc1\u00e9\u4e2d_./-#:`,( \n\thtps0f\u2028\x1c\u0301\u01c5", max_size=40)


@settings(max_examples=500, deadline=None)
@given(TEXTS)
def test_leaving_plain_words_out_loses_no_name(text: str) -> None:
    """The same names in the same order as in the whole text."""
    found = Counter(match.group().rstrip(".,:;!?()") for match in user_words._NAMES.finditer(text))
    names = [name for name, _ in found.most_common() if len(name) >= user_words.SHORTEST]
    assert names_in(text) == tuple(user_words.one_line(name, user_words.NAME) for name in names)


def test_names_stand_among_plain_words_and_in_quotes() -> None:
    """A quoted one may hold spaces."""
    text = "Please look at `git status` and Src/main.py, where parseInput fails for ABC-12 today."
    assert set(names_in(text)) == {"git status", "Src/main.py", "parseInput", "ABC-12"}
