"""The settings that a process would see in an environment."""

import os
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ROOT

Load = Callable[..., dict[str, Any]]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Load:
    """Return the settings that a fresh process sees in an environment."""

    def load(**environment: str) -> dict[str, Any]:
        with monkeypatch.context() as patch:
            for name in os.environ:
                patch.delenv(name)
            for name, value in {"DATA_DIR": str(tmp_path), **environment}.items():
                patch.setenv(name, value)
            return runpy.run_path(str(ROOT / "chatapp" / "settings.py"))

    return load
