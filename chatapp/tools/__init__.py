"""The agent's tools: each works with one kind of thing, such as the workspace's files.

Each tool is a file with the same three things in it: ``Arguments``, ``SPEC`` and ``run``. A file of
this folder that has a ``SPEC`` is a tool; nothing else names it. The type of ``run``'s first
argument decides the object that the tool works with: the workspace's files, or a port of ``ports``.
One that writes has a ``preview`` too, which returns the changes.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast, get_type_hints

from chatapp.agent.errors import LeftWaiting, ToolError, TurnEndedElsewhere
from chatapp.agent.ports import NO_LINE, Access, Line, ToolOutcome, ToolPolicy, ToolSpec
from chatapp.tools.arguments import parse_arguments, schema_of
from chatapp.tools.shell import Shell
from chatapp.tools.workspace import Workspace, WritableWorkspace, quote

if TYPE_CHECKING:
    from chatapp.tools.mcp.pool import RemoteTool

_logger = logging.getLogger(__name__)


# Parts that a tool may ask for, by their type, made for one call.
Offers = Mapping[type[Any], Callable[[Line], Any]]
_NONE: Mapping[Any, Any] = MappingProxyType({})


_FILES = [import_module(f"{__name__}.{file.name}") for file in iter_modules(__path__)]
_TOOLS = {file.SPEC.name: file for file in _FILES if hasattr(file, "SPEC")}
TOOL_SPECS = {
    name: replace(tool.SPEC, input_schema=schema_of(tool.Arguments))
    for name, tool in _TOOLS.items()
}
# The type of the first argument of each tool's ``run``.
_WORKS_WITH = {name: next(iter(get_type_hints(tool.run).values())) for name, tool in _TOOLS.items()}


class WorkspaceToolbox:
    """The tools for the folder ``root``; implements the loop's Toolbox.

    ``offers`` are the ports besides the folder; ``policies`` say by name which tools may run;
    ``foreign`` are the tools besides our own, by name. The folder is looked at when a tool runs.
    ``specs`` are the tools that the model may call.
    """

    def __init__(
        self,
        root: Path,
        *,
        offers: Offers = _NONE,
        policies: Mapping[str, ToolPolicy] = _NONE,
        foreign: Mapping[str, "RemoteTool"] = _NONE,
    ) -> None:
        self.root = root
        self._offers: Offers = {
            Workspace: lambda _line: self._workspace,
            WritableWorkspace: lambda _line: self._workspace,
            **offers,
        }
        self._foreign = foreign
        self._known = TOOL_SPECS | {name: tool.spec for name, tool in foreign.items()}
        defaults = {name: spec.default_policy for name, spec in self._known.items()}
        self._policies: dict[str, ToolPolicy] = {**defaults, **policies}
        usable = [one for one in self._known if one in foreign or _WORKS_WITH[one] in self._offers]
        self.usable = frozenset(usable)
        self._names = [one for one in usable if self._policies[one] is not ToolPolicy.DENY]
        self.specs: tuple[ToolSpec, ...] = tuple([self._known[name] for name in self._names])

    @cached_property
    def _workspace(self) -> WritableWorkspace:
        """The folder's files, for the first call that works with them."""
        return WritableWorkspace(self.root)

    def policy(self, name: str) -> ToolPolicy:
        """Return the user's policy for a tool: run, ask or deny; an unknown tool is denied."""
        return self._policies.get(name, ToolPolicy.DENY)

    def access(self, name: str) -> Access:
        """Return a tool's access to the world; an unknown tool counts as one that executes."""
        return self._known[name].access if name in self._known else Access.EXECUTE

    def uses_folder(self, name: str) -> bool:
        """Return True for a tool that uses the workspace, or that is unknown."""
        ours = (Workspace, WritableWorkspace, Shell)
        return name in self._foreign or _WORKS_WITH.get(name) in ours

    def holds(self, path: str) -> bool:
        """Return True if the tools could read this path now; reads the disk."""
        return self._workspace.holds(path)

    async def run(
        self, name: str, arguments: Mapping[str, Any], line: Line = NO_LINE
    ) -> ToolOutcome:
        """Run one call in a thread; every failure comes back as an outcome with ``is_error``."""
        try:
            self._check(name)
            if name in self._foreign:
                return await self._foreign[name].run(arguments, line)
            tool = _TOOLS[name]
            parsed = parse_arguments(tool.Arguments, arguments)
            given = self._offers[_WORKS_WITH[name]](line)
            said: str | ToolOutcome
            if inspect.iscoroutinefunction(tool.run):
                said = await tool.run(given, parsed)
            else:
                said = await asyncio.to_thread(tool.run, given, parsed)
            return ToolOutcome(said) if isinstance(said, str) else said
        except ToolError as error:
            return ToolOutcome(str(error), is_error=True)
        except (LeftWaiting, TurnEndedElsewhere):
            # The turn has ended, not only the call.
            raise
        except Exception:
            # The text of an unknown error may name folders of this machine.
            _logger.exception("A tool failed: %s", quote(name))
            return ToolOutcome("The tool failed unexpectedly; the server's log says more.", True)

    def _check(self, name: str) -> None:
        if name not in self._names:
            names = ", ".join(self._names)
            raise ToolError(f"There is no tool {quote(name)}. Tools: {names}.")

    async def preview(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return a call's changes as text, "" if they are not known in advance; raise ToolError."""
        if name in self._foreign:
            return ""
        self._check(name)
        parsed = parse_arguments(_TOOLS[name].Arguments, arguments)
        show = getattr(_TOOLS[name], "preview", None)
        return cast(str, await asyncio.to_thread(show, self._workspace, parsed)) if show else ""
