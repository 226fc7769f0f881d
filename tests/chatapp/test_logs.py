"""Log lines: one each, without contents."""

import logging
import sys

from chatapp.logs import OneLineFormatter


def line(message: str, *, with_exception: bool = False) -> str:
    """Return a record as the formatter writes it."""
    info = sys.exc_info() if with_exception else None
    record = logging.LogRecord("chatapp", logging.ERROR, "file.py", 1, message, (), info)
    return OneLineFormatter("{levelname} {message}", style="{").format(record)


def test_a_record_is_one_line() -> None:
    """A message with line breaks cannot pass for several records."""
    assert line("one\r\ntwo") == "ERROR one | two"


def test_an_exception_is_a_place_without_its_text() -> None:
    """The text of an exception may quote a message or a key."""
    try:
        raise ValueError("the user's words")
    except ValueError:
        text = line("failed", with_exception=True)
    assert "the user's words" not in text
    assert "ValueError at " in text
    assert "test_logs.py" in text
    assert "\n" not in text


def test_sign_in_tokens_are_taken_out() -> None:
    """Whoever reads the log cannot sign in with it."""
    assert line("Not Found: /sign-in/abc123/") == "ERROR Not Found: /sign-in/…/"
