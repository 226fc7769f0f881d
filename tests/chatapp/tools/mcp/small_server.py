"""A small MCP server to run as a command: it needs no package, and so it starts in no time.

It speaks the protocol before 2026, and prints what is no message as well.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Where it says that it was told to stop.
CANCELLED = "cancelled.txt"
# What adding comes to in a process in which it was changed.
CHANGED = "changed"

# Pages of its list, if it is told to have them.
PAGES = 30

changes: list[str] = []


def add(a: int, b: int) -> str:
    """Add two numbers."""
    return CHANGED if changes else str(a + b)


def change() -> str:
    """Have another tool do something else."""
    changes.append(CHANGED)
    return CHANGED


def die() -> str:
    """End in the middle of a call."""
    print("out of cheese", file=sys.stderr)
    sys.exit(3)


def flood(size: int) -> str:
    """Return so many letters."""
    return "x" * size


def look(path: str = "") -> str:
    """Return what the server was given, and what it sees."""
    seen = {
        "variables": sorted(os.environ),
        "token": os.environ.get("TOKEN"),
        "command": sys.argv,
        "folder": str(Path.cwd()),
        "found": bool(path) and Path(path).exists(),
        "descriptors": len([*Path("/proc/self/fd").iterdir()]),
    }
    return json.dumps(seen)


def steps() -> str:
    """Be done, after a word on how far it is."""
    return "done"


def hang() -> str:
    """Say that it is called, and never answer."""
    return ""


TOOLS = {tool.__name__: tool for tool in (add, change, die, flood, hang, look, steps)}
PROGRESS = {"steps": (1, 2, "half of it"), "hang": (0, 1, "begun")}


def listed(name: str) -> dict[str, Any]:
    """Return a tool as it is listed."""
    numbers = {"a": {"type": "integer"}, "b": {"type": "integer"}} if name == "add" else {}
    return {
        "name": name,
        "description": TOOLS[name].__doc__,
        "inputSchema": {"type": "object", "properties": numbers},
        "annotations": {"readOnlyHint": name == "add"},
    }


def answer(method: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request, or None for what it does not know."""
    match method:
        case "initialize":
            version, about = params["protocolVersion"], {"name": "small", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list" if sys.argv[1:] == ["pages"]:
            page = int(params.get("cursor") or 1)
            more = {"nextCursor": str(page + 1)} if page < PAGES else {}
            return {"tools": [listed("add") | {"name": f"add{page}"}], **more}
        case "tools/list":
            return {"tools": [*map(listed, TOOLS)]}
        case "tools/call":
            text = TOOLS[params["name"]](**params["arguments"])
            return {"content": [{"type": "text", "text": text}]}
    return None


def send(message: Mapping[str, Any]) -> None:
    """Write one message."""
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    """Answer what is asked, until nothing more comes."""
    print("ready, and this is no message", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        method, params = asked["method"], asked.get("params") or {}
        if method == "notifications/cancelled":
            Path(CANCELLED).touch()
        if "id" not in asked:
            continue
        name = params.get("name")
        if name in PROGRESS:
            said = dict(zip(("progress", "total", "message"), PROGRESS[name], strict=True))
            said["progressToken"] = params["_meta"]["progressToken"]
            send({"method": "notifications/progress", "params": said})
        if name != "hang":
            result = answer(method, params)
            error = {"code": -32601, "message": "no such method"}
            send({"id": asked["id"], **({"result": result} if result else {"error": error})})


if __name__ == "__main__":
    main()
