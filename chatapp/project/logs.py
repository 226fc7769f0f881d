"""Log lines that are one line each and carry places, not contents: as text, or as JSON."""

import json
import logging
import re
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, ContextVar
from datetime import UTC, datetime
from types import MappingProxyType, TracebackType

# A secret is part of such an address, or stands in any query.
SECRET_PLACE = re.compile(
    r"(/(?:sign-in|invitations|s|account/password/reset/key|account/confirm-email)/+)[^/\s]+"
)
QUERY = re.compile(r"(/[^\s?]*\?)\S+")
# asyncio's message about a task that nobody waited for quotes its exception.
QUOTED = re.compile(r"(exception=\w+)\(.*")

ExceptionInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)

_ids: ContextVar[Mapping[str, str]] = ContextVar("ids", default=MappingProxyType({}))


def begin(**ids: object) -> None:
    """Replace the ids of each log line of this context from now on."""
    _ids.set({})
    note(**ids)


def note(**ids: object) -> None:
    """Add ids to each log line of this context from now on."""
    _ids.set({**_ids.get(), **{name: str(one) for name, one in ids.items() if one}})


@contextmanager
def within(**ids: object) -> Iterator[None]:
    """Add ids to each log line until the end of the block, in its tasks and threads."""
    token = _ids.set(_ids.get())
    note(**ids)
    try:
        yield
    finally:
        _ids.reset(token)


def carried() -> Context:
    """Return a context that has nothing of this one but the ids of its log lines."""
    context = Context()
    context.run(_ids.set, _ids.get())
    return context


def request_id() -> str:
    """Return the id of the current request, "" outside of one."""
    return _ids.get().get("request", "")


class OneLineFormatter(logging.Formatter):
    """Folds a record into one line, takes secrets out, and ends it with the ids in force."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        line = _without_secrets(super().format(record))
        about = " ".join(f"{name}={one}" for name, one in _ids.get().items())
        return f"{line} [{about}]" if about else line

    def formatException(self, ei: ExceptionInfo) -> str:  # noqa: N802 - logging's own name
        """Return the exception's type and its places in the code, innermost first."""
        # The exception's text is left out: it may quote a message or a key.
        kind, _, trace = ei
        frames = reversed(traceback.extract_tb(trace))
        places = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames)
        return f"{kind.__name__ if kind else 'no exception'} at {places}"


class JsonFormatter(OneLineFormatter):
    """Formats a record as one JSON object, in one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return time, level, logger, message, ids and exception as one JSON object."""
        told: dict[str, str] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _without_secrets(record.getMessage()),
            **_ids.get(),
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told)


def _without_secrets(text: str) -> str:
    line = text.replace("\r", "").replace("\n", " | ")
    for secret in (SECRET_PLACE, QUERY, QUOTED):
        line = secret.sub(r"\1…", line)
    return line
