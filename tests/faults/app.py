"""Part of the server under test: it stands still where it is told, and says that it does."""

import asyncio
import itertools
import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.backends.signals import connection_created

from chatapp.agent.ports import NO_LINE, Line, ToolOutcome
from chatapp.tools import WorkspaceToolbox

FILE = "fault.json"
STANDS, DRAFTED, IN_TOOL = "FAULT", "DRAFT", "TOOL"
HELD = "hold.txt"


class Faults(AppConfig):
    """Looks at every statement of every connection."""

    name = "tests.faults"
    label = "faults"
    path = str(Path(__file__).parent)

    def ready(self) -> None:
        """Begin to look."""
        connection_created.connect(_look, weak=False)
        WorkspaceToolbox.run = _run_or_hold  # type: ignore[method-assign] # a tool that takes long
        _note_reading()


_read_at: deque[float] = deque(maxlen=1)


def _note_reading() -> None:
    """Have the writer of drafts note when it reads what it is about to store."""
    # It needs the models.
    from chatapp.storage.partial_replies import partial_replies  # noqa: PLC0415

    keep = partial_replies.keep

    def keep_and_note(number: int, read: Callable[[], Any], **details: Any) -> None:
        loop = threading.get_ident()

        def note_and_read() -> Any:
            # What closes a call reads its draft as well, in another thread, and stores no other.
            if threading.get_ident() == loop:
                _read_at.append(time.monotonic())
            return read()

        keep(number, note_and_read, **details)

    partial_replies.keep = keep_and_note  # type: ignore[method-assign] # as above


def _look(connection: Any, **_: object) -> None:
    connection.execute_wrappers.append(_pass_or_stand)


_counter = itertools.count(1)
_run = WorkspaceToolbox.run


async def _run_or_hold(
    toolbox: WorkspaceToolbox, name: str, arguments: Mapping[str, Any], line: Line = NO_LINE
) -> ToolOutcome:
    if arguments.get("path") == HELD:
        _say(IN_TOOL)
        await asyncio.Event().wait()
    return await _run(toolbox, name, arguments, line)


def _pass_or_stand(
    execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
) -> Any:
    fault = _armed()
    hit = bool(fault) and bool(re.search(fault["pattern"], sql)) and _is_due(fault)
    if hit and not fault["after"]:
        _stand()
    result = execute(sql, params, many, context)
    if hit:
        _stand()
    if "INTO chatapp_draftpiece" in sql:
        context["connection"].on_commit(lambda: _say(f"{DRAFTED} {_read_at[-1]}"))
    return result


def _armed() -> dict[str, Any]:
    try:
        return dict(json.loads((settings.DATA_DIR / FILE).read_text()))
    except OSError:
        return {}


def _is_due(fault: dict[str, Any]) -> bool:
    """Whether this is the statement that was meant, of those that match."""
    return next(_counter) == fault["number"]


def _stand() -> None:
    """Keep the thread that the statement is made in, for good."""
    _say(STANDS)
    threading.Event().wait()


def _say(word: str) -> None:
    print(word, flush=True)
