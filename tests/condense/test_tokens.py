"""Counting tokens: exact, cached, and without any dependency or network."""

import os
import socket
import subprocess
import sys
import threading

import pytest

from condense.messages import Content, ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from condense.tokens import (
    CachedCounter,
    CharacterCounter,
    TiktokenCounter,
    TokenCount,
    count_message,
    load_encoding,
)


class Recorder:
    """A counter that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Content] = []

    def count(self, content: Content) -> int:
        """Count one token for each question."""
        self.asked.append(content)
        return len(self.asked)


def test_the_vocabulary_is_never_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes out of an installed package; the user's own cache folder is left alone."""

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/nonexistent")
    load_encoding.cache_clear()
    assert TiktokenCounter(factor=1, encoding="cl100k_base").count("hello world") == 2
    assert os.environ["TIKTOKEN_CACHE_DIR"] == "/nonexistent"


def test_the_vocabulary_is_loaded_once_whatever_the_number_of_threads() -> None:
    """All threads count, and all count the same."""
    load_encoding.cache_clear()
    found: list[int] = []
    counter = TiktokenCounter()
    threads = [
        threading.Thread(target=lambda: found.append(counter.count("one two three")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [5] * 8


def test_text_of_special_tokens_is_ordinary_text() -> None:
    """Nobody can end the model's turn from within a message."""
    assert TiktokenCounter(factor=1).count("<|endoftext|>") > 1


def test_a_long_run_of_one_character_is_counted_quickly() -> None:
    """No quadratic case that a hostile message could use; half a million take a moment."""
    assert TiktokenCounter().count("a" * 500_000) > 0


def test_text_that_is_not_valid_unicode_is_counted() -> None:
    """A tool may print half a surrogate pair."""
    assert TiktokenCounter().count("\ud83d") > 0


def test_the_light_counter_takes_four_characters_for_a_token() -> None:
    """Rounded up, over all blocks together."""
    counter = CharacterCounter()
    assert counter.count("") == 0
    assert counter.count("12345") == 2
    assert counter.count((TextBlock("12"), TextBlock("34"))) == 1
    assert counter.count((ImageBlock({"type": "url", "url": "x"}),)) == 300
    assert counter.count((ToolUseBlock("a", "read", {"path": "x"}), ToolResultBlock("a"))) > 5


def test_a_cached_counter_asks_once_for_equal_content() -> None:
    """Also when the content is another object, as after a database query."""
    inner = Recorder()
    counter = CachedCounter(inner)
    asked = [(TextBlock("a"), ToolUseBlock("x", "read", {"p": object})), "a", (TextBlock("a"),)]
    first = [counter.count(content) for content in asked]
    again = [counter.count(content) for content in (tuple(asked[0]), "a", (TextBlock("a"),))]
    assert first == again == [1, 2, 3]


def test_a_cached_counter_forgets_what_was_not_asked_for_longest() -> None:
    """Memory stays bounded."""
    inner = Recorder()
    counter = CachedCounter(inner, size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        counter.count(text)
    assert inner.asked == ["a", "b", "c", "b"]


def test_a_message_that_knows_its_tokens_is_not_counted() -> None:
    """What a provider reported is better than an estimate."""
    inner = Recorder()
    assert count_message(Message("user", "a", tokens=7), inner) == 7
    assert count_message(Message("user", "a", tokens=0), inner) == 0
    assert inner.asked == []
    assert count_message(Message("user", "a"), inner) == 1


def test_a_sum_is_measured_only_where_both_parts_are() -> None:
    """One estimate makes the sum an estimate."""
    measured, estimated = TokenCount(5, measured=True), TokenCount(2)
    assert measured + measured == TokenCount(10, measured=True)
    assert measured + estimated == TokenCount(7, measured=False)


def test_importing_the_counters_loads_no_tokenizer() -> None:
    """The first count pays for it, not the start of the program."""
    code = "import condense.tokens, sys; sys.exit('tiktoken' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
