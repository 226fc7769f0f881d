"""What background jobs of these tests are, whoever runs them."""

from collections import deque
from collections.abc import Iterator

import pytest

from chatapp.background_jobs import JOBS
from tests.chatapp.background_jobs import played_jobs


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Iterator[deque[str]]:
    """The words of jobs ``say``, ``wait`` and ``fail``, in their order."""
    for name in ("say", "wait", "fail"):
        monkeypatch.setitem(JOBS, name, f"{played_jobs.__name__}.{name}")
    yield played_jobs.said
    played_jobs.said.clear()
    played_jobs.begun.clear()
    played_jobs.go_on.clear()
