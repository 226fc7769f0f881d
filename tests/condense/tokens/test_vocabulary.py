"""The tokenizer: offline, loaded once, exact however long the text is."""

import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from condense.tokens.counters import TEXT_PIECE, EncodingName, count_text, load_encoding, split_text

NASTY = st.text(alphabet="aB\u00e9\u4e2d1'/;}.\\ \t\r\n\x0b\u2028\u0301\U0001f9e0", max_size=80)


def test_the_vocabulary_is_never_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes out of an installed package; the user's own cache folder is left alone."""

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/nonexistent")
    load_encoding.cache_clear()
    assert count_text("hello world", "cl100k_base") == 2
    assert os.environ["TIKTOKEN_CACHE_DIR"] == "/nonexistent"


def test_a_vocabulary_that_was_tampered_with_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sha256 is checked before it is used, and nothing else is fetched in its place."""

    def refuse(*_: object) -> None:
        raise ConnectionError

    monkeypatch.setattr("condense.tokens.counters.gzip.decompress", lambda _packed: b"IQ== 0\n")
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    load_encoding.cache_clear()
    # tiktoken keeps what it loaded before, in a registry of its own.
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})
    with pytest.raises(OSError, match=r".*"):
        load_encoding("cl100k_base")


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@given(text=NASTY, size=st.integers(1, 20))
def test_a_text_counted_in_pieces_takes_as_many_tokens_as_in_one(
    name: EncodingName, text: str, size: int
) -> None:
    """It is cut where no token can span the cut; a piece without such a place has a bound."""
    encoding = load_encoding(name)
    pieces = [*split_text(text, size)]
    assert "".join(pieces) == text
    assert all(size <= len(piece) <= 2 * size for piece in pieces[:-1])
    assert len(pieces[-1]) <= size
    if all(len(piece) < 2 * size for piece in pieces[:-1]):
        whole = len(encoding.encode_ordinary(text))
        assert sum(len(encoding.encode_ordinary(piece)) for piece in pieces) == whole


@pytest.mark.parametrize("unit", [" ", "\u3000", "\t", "a", "x9", "word "])
def test_no_text_is_too_long_for_the_tokenizer(unit: str) -> None:
    """It panics over a million spaces in one piece."""
    text = unit * (1_000_000 // len(unit))
    assert count_text(text, "o200k_base") >= len(text) / 128


def test_a_long_text_is_counted_as_exactly_as_a_short_one() -> None:
    """On several threads, with a result that does not depend on them."""
    text = "def f(x):\n    return x  # \u4e2d\n\nclass A:\n    pass\n" * 5_000
    assert len(text) > 2 * TEXT_PIECE
    assert count_text(text, "o200k_base") == len(load_encoding("o200k_base").encode_ordinary(text))
