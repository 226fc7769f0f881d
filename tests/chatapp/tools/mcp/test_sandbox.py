"""Servers that are commands, in bubblewrap: they see the workspace and the system, and no more."""

import ast
import textwrap
from pathlib import Path

import pytest

from chatapp.tools import shell
from chatapp.tools.mcp.pool import pool
from chatapp.tools.mcp.servers import HIDDEN
from tests.chatapp.tools.mcp.conftest import User, command

# Of the protocol before 2026, with nothing but what every Python has.
SERVER = """
import json, os, sys

def answer(method, params):
    if method == "initialize":
        version, about = params["protocolVersion"], {"name": "small", "version": "1"}
        return {"protocolVersion": version, "capabilities": {}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
    if method == "tools/call":
        seen = [os.environ["TOKEN"], os.getcwd(), os.path.exists(%r), os.listdir("/proc/self/fd")]
        return {"content": [{"type": "text", "text": repr(seen)}]}

print("ready, and this is no message")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        result = answer(asked["method"], asked.get("params"))
        error = {"code": -32601, "message": "no such method"}
        said = {"result": result} if result else {"error": error}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}), flush=True)
"""


@pytest.mark.skipif(shell.bubblewrap() is None, reason="bubblewrap is not installed")
async def test_in_bubblewrap_a_server_sees_its_workspace_and_the_system(
    folder: Path, tmp_path: Path
) -> None:
    """It gets its variables, no other file of this machine, and no end of a pipe but its own."""
    (tmp_path / "secret").touch()
    (folder / "server.py").write_text(textwrap.dedent(SERVER) % str(tmp_path / "secret"))
    user = User(command("python3 server.py"), folder)
    outcome = await user.call("look")
    token, place, found, descriptors = ast.literal_eval(outcome.text)
    assert (token, place, found) == (HIDDEN, str(folder), False)
    # Its own three, and the one that lists them.
    assert len(descriptors) == 4
    await pool().close()
