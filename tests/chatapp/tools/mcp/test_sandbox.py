"""Servers that are commands, in bubblewrap: they see the workspace and the system, and no more."""

import json
import shutil
from pathlib import Path

import pytest

from chatapp.tools import shell
from chatapp.tools.mcp.pool import pool
from chatapp.tools.mcp.servers import HIDDEN
from tests.chatapp.tools.mcp import small_server
from tests.chatapp.tools.mcp.conftest import User, command


@pytest.mark.skipif(shell.bubblewrap() is None, reason="bubblewrap is not installed")
async def test_in_bubblewrap_a_server_sees_its_workspace_and_the_system(
    folder: Path, tmp_path: Path
) -> None:
    """It gets its variables, no other file of this machine, and no end of a pipe but its own."""
    (tmp_path / "secret").touch()
    shutil.copy(small_server.__file__, folder)
    user = User(command("python3 small_server.py"), folder)
    seen = json.loads((await user.call("look", path=str(tmp_path / "secret"))).text)
    assert (seen["token"], seen["folder"], seen["found"]) == (HIDDEN, str(folder), False)
    # Its own three, and the one that lists them.
    assert seen["descriptors"] == 4
    await pool().close()
