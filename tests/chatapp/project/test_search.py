"""What somebody looks for, and where a text has it."""

import json
import re
import unicodedata
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chatapp.models.message_index import searchable_text, visible_text
from chatapp.project.search import EXCERPT, Query, excerpt, fold, words_of


def found_in(text: str, words: str) -> list[str]:
    """Return the pieces of a text's excerpt that were looked for."""
    return [piece for piece, is_found in excerpt(text, Query.read(words)) if is_found]


def test_words_stand_alone_and_what_is_joined_stays_together() -> None:
    """By quotation marks, or because there is no space in it."""
    for words, phrases in (
        ("one two", (("one",), ("two",))),
        ('"one two" three', (("one", "two"), ("three",))),
        ('"never closed', (("never", "closed"),)),
        ("user_id src/parser.py", (("user", "id"), ("src", "parser", "py"))),
        ("-- != \0 ( ) *", ()),
        ("word " * 1_000, (("word",),) * 40),
        ("wörds用Django的", (("wörds", "用", "Django", "的"),)),
    ):
        assert Query.read(words).phrases == phrases


def test_what_was_found_is_marked() -> None:
    """As the index finds it: from the beginning of a word, whatever its case and accents."""
    for text, words, found in (
        ("The parser parses.", "pars", ["pars", "pars"]),
        ("start art Art", "art it", ["art", "Art"]),
        ("a café, a CAFE", "café", ["café", "CAFE"]),
        ("re\u0301sume\u0301", "resume", ["résumé"]),
        ("user_id and user id and userid", "user_id", ["user_id", "user id"]),
        ("用Django的ORM", "django", ["Django"]),
        ("nothing of it", "heliotrope", []),
    ):
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
    """No text is too odd, and nothing of it changes but its spaces, and letters in two parts."""
    query = Query.read(words)
    assert len(fold(text)) == len(text)
    if query:
        line = "".join(piece for piece, _found in excerpt(text, query))
        whole = re.sub(r"\s+", " ", unicodedata.normalize("NFC", text))
        assert line.strip("…").strip() in whole
        assert all(words_of(word) for phrase in query.phrases for word in phrase)


IMAGE = {"type": "image", "source": {"type": "base64", "data": "aGVsaW90cm9wZQ=="}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_a_message_is_found_by_what_its_row_shows() -> None:
    """Not by names of fields, by identifiers or by encoded data."""
    for content, text in (
        ("plain words", "plain words"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ([{"type": "thinking", "thinking": "hm", "signature": "c2VjcmV0"}], "hm"),
        (
            [{"type": "tool_use", "id": "c1", "name": "run", "input": {"a": "x", "b": ["y", 3]}}],
            "x\ny",
        ),
        ([{"type": "tool_result", "tool_use_id": "c1", "content": "its text"}], "its text"),
        ([{"type": "tool_result", "content": [{"type": "text", "text": "seen"}, IMAGE]}], "seen"),
        ([IMAGE, {"type": "redacted_thinking", "data": "eHl6"}], ""),
        ([{**IMAGE, "beside": {"kind": "image", "name": "photo.png"}}], "[photo.png]"),
        (None, ""),
    ):
        assert visible_text(content) == text


@given(content=JSON)
def test_whatever_is_stored_can_be_indexed(content: Any) -> None:
    """An error here would keep a message from being stored."""
    searchable_text(json.dumps(content)).encode()
    searchable_text(json.dumps([content])).encode()


def test_what_is_broken_or_bottomless_is_not_found_but_stored() -> None:
    """Half a surrogate becomes a question mark."""
    for content in ("", "{", '"\\ud800 half"', "[" * 100_000 + "]" * 100_000):
        assert searchable_text(content) in {"", "? half"}
