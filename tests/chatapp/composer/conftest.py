"""The workspace that messages name files of."""

from pathlib import Path

import pytest

from chatapp.tools.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty workspace, beside a secret."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    return Workspace(folder)
