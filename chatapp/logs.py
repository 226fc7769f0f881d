"""Log lines that are one line each and carry places, not contents."""

import logging
import re
import traceback
from types import TracebackType

SIGN_IN_TOKEN = re.compile(r"(/sign-in/)[^/\s]+")

ExceptionInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


class OneLineFormatter(logging.Formatter):
    """Folds a record into one line and takes sign-in tokens out."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        line = super().format(record).replace("\r", "").replace("\n", " | ")
        return SIGN_IN_TOKEN.sub(r"\1…", line)

    def formatException(self, ei: ExceptionInfo) -> str:  # noqa: N802 - logging's own name
        """Return the exception's type and where it was raised, innermost first."""
        # The exception's text is left out: it may quote a message or a key.
        kind, _, trace = ei
        frames = reversed(traceback.extract_tb(trace))
        places = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames)
        return f"{kind.__name__ if kind else 'no exception'} at {places}"
