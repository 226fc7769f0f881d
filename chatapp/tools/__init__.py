"""The agent's tools: they read the files of one conversation's workspace and nothing else.

Each tool is a file with the same three things in it: ``Arguments``, ``SPEC`` and ``run``. A file of
this folder that has a ``SPEC`` is a tool; nothing else names it.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Protocol, cast

from chatapp.agent.errors import ToolError
from chatapp.agent.ports import ToolOutcome, ToolSpec
from chatapp.tools.arguments import parse_arguments
from chatapp.tools.workspace import Workspace, quote

__all__ = ["WorkspaceToolbox"]

_logger = logging.getLogger(__name__)


class _Tool(Protocol):
    """What a tool's file holds."""

    @property
    def SPEC(self) -> ToolSpec: ...  # noqa: N802 - a constant of the file

    @property
    def Arguments(self) -> type[Any]: ...  # noqa: N802 - a class of the file

    def run(self, workspace: Workspace, arguments: Any, /) -> str: ...


def _find_tools() -> Iterator[_Tool]:
    for name in sorted(found.name for found in iter_modules(__path__)):
        module = import_module(f"{__name__}.{name}")
        if hasattr(module, "SPEC"):
            yield cast(_Tool, module)


_TOOLS = tuple(_find_tools())


class WorkspaceToolbox:
    """The tools for the folder ``root``; implements the loop's Toolbox."""

    specs: tuple[ToolSpec, ...] = tuple(tool.SPEC for tool in _TOOLS)

    def __init__(self, root: Path) -> None:
        """Open nothing yet: the folder is looked at when a tool runs."""
        self._workspace = Workspace(root)
        self._tools = {tool.SPEC.name: tool for tool in _TOOLS}

    def holds(self, path: str) -> bool:
        """Whether the tools could read this path now; asks the disk."""
        return self._workspace.holds(path)

    async def run(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Run one call in a thread; every failure comes back as an outcome with ``is_error``."""
        try:
            return ToolOutcome(await asyncio.to_thread(self._run, name, arguments))
        except ToolError as error:
            return ToolOutcome(str(error), is_error=True)
        except Exception:
            # The text of an unknown error may name folders of this machine.
            _logger.exception("A tool failed: %s", quote(name))
            return ToolOutcome("The tool failed unexpectedly; the server's log says more.", True)

    def _run(self, name: str, arguments: Mapping[str, Any]) -> str:
        tool = self._tools.get(name)
        if tool is None:
            raise ToolError(f"There is no tool {quote(name)}. Tools: {', '.join(self._tools)}.")
        return tool.run(self._workspace, parse_arguments(tool.Arguments, arguments))
