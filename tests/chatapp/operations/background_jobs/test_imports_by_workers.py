"""An import is sent to one process, worked on by another one, and outlasts that."""

from pathlib import Path
from typing import Any

import pytest

from tests.chatapp.operations.background_jobs.processes import Start

pytestmark = pytest.mark.postgresql("workers take their jobs from it")


def chat(title: str) -> dict[str, Any]:
    """Return a conversation of an export of ChatGPT."""
    content = {"content_type": "text", "parts": [title]}
    message = {"author": {"role": "user"}, "content": content}
    node = {"id": "a", "parent": None, "children": [], "message": message}
    return {"title": title, "mapping": {"a": node}}


def test_an_import_of_a_killed_worker_is_gone_on_with_by_another(start: Start) -> None:
    """What was imported stays, the rest comes once, and no file is left."""
    writer, worker = start(), start(1, jobs=("import_files", "say"))
    folder = writer.ask({"send": [chat("first"), chat("second")]}, "sent")
    assert worker.hear("began") == "second"
    # However long it takes, it is in no other job's way.
    writer.ask({"enqueue": [{"name": "say", "word": "meanwhile"}]}, "enqueued")
    assert worker.hear("said") == "meanwhile"
    worker.kill()
    assert writer.ask("imports", "imports") == [1, False, "first"]
    worker = start(1)
    # A worker that is stopped before its job is over leaves that to others.
    while writer.ask("count", "jobs"):
        pass
    worker.end()
    assert writer.ask("imports", "imports") == [2, True, "first", "second"]
    assert not Path(folder).exists()
