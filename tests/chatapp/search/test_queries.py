"""What somebody looks for, and where a text has it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.search.queries import EXCERPT, Query, excerpt, fold


def found_in(text: str, words: str) -> list[str]:
    """Return the pieces of a text's excerpt that were looked for."""
    return [piece for piece, is_found in excerpt(text, Query.read(words)) if is_found]


@pytest.mark.parametrize(
    ("words", "phrases"),
    [
        ("one two", (("one",), ("two",))),
        ('"one two" three', (("one", "two"), ("three",))),
        ('"never closed', (("never", "closed"),)),
        ("user_id src/parser.py", (("user", "id"), ("src", "parser", "py"))),
        ("上下文 API", (("上", "下", "文"), ("API",))),
        ("-- != \0 ( ) *", ()),
        ("", ()),
    ],
)
def test_words_stand_alone_and_what_is_joined_stays_together(
    words: str, phrases: tuple[tuple[str, ...], ...]
) -> None:
    """By quotation marks, or because there is no space in it."""
    assert Query.read(words).phrases == phrases


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ("The parser parses.", "pars", ["pars", "pars"]),
        ("start art Art", "art it", ["art", "Art"]),
        ("a café, a CAFE", "café", ["café", "CAFE"]),
        ("user_id and user id and userid", "user_id", ["user_id", "user id"]),
        ("船长把罗盘藏起来了。", "罗盘", ["罗盘"]),
        ("用Django的ORM", "django", ["Django"]),
        ("nothing of it", "heliotrope", []),
    ],
)
def test_what_was_found_is_marked(text: str, words: str, found: list[str]) -> None:
    """As the index finds it: from the beginning of a word, whatever its case and accents."""
    assert found_in(text, words) == found


def test_an_excerpt_shows_what_stands_around() -> None:
    """With a whole word at its beginning, on one line, and as long as a line or two."""
    text = "far before " * 50 + "just here\n\n  heliotrope   after it " + "far after " * 50
    pieces = excerpt(text, Query.read("heliotrope"))
    line = "".join(piece for piece, _found in pieces)
    assert "here heliotrope after it" in line
    assert line.startswith(("…far ", "…before "))
    assert line.endswith("…")
    assert len(line) <= EXCERPT + 2


@given(text=st.text(), words=st.text(min_size=1))
def test_every_text_and_every_query_makes_an_excerpt(text: str, words: str) -> None:
    """No text is too odd, and nothing of it changes but its spaces."""
    query = Query.read(words)
    assert len(fold(text)) == len(text)
    if query:
        line = "".join(piece for piece, _found in excerpt(text, query))
        assert line.strip("…").strip() in re.sub(r"\s+", " ", text)
        re.compile(query.expression.replace("*", ""))


def test_a_long_query_is_cut() -> None:
    """Nobody types that much to find something."""
    assert len(Query.read("word " * 1_000).phrases) == 40
