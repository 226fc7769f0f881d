"""The agent's tools: each works with the one thing that it names, and reaches nothing else.

Each tool is a file with the same three things in it: ``Arguments``, ``SPEC`` and ``run``. A file of
this folder that has a ``SPEC`` is a tool; nothing else names it. The type of what ``run`` takes
first says what the tool works with: the workspace's files, or a port of ``ports``. One that writes
has a ``preview`` too, which says what would change.
"""

import asyncio
import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Protocol, cast, get_type_hints

from chatapp.agent.errors import LeftWaiting, ToolError, TurnEnded
from chatapp.agent.tool_port import NO_LINE, Access, Line, Policy, ToolOutcome, ToolSpec
from chatapp.tools.arguments import parse_arguments
from chatapp.tools.workspace import Workspace, WritableWorkspace, quote

__all__ = ["Foreign", "Offers", "WorkspaceToolbox", "tool_specs"]

_logger = logging.getLogger(__name__)


class Foreign(Protocol):
    """A tool that has no file here: somebody else's, of an MCP server."""

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model is told about it."""
        ...

    async def run(self, arguments: Mapping[str, Any], line: Line) -> ToolOutcome:
        """Run one call; raise ToolError. The arguments are as the model wrote them."""
        ...


# What a tool may ask for, by its type, made for one call.
Offers = Mapping[type[Any], Callable[[Line], Any]]
_NOTHING: Offers = {}
_UNTOLD: Mapping[str, Policy] = {}
_NONE: Mapping[str, Foreign] = {}


class _Tool(Protocol):
    """What a tool's file holds."""

    @property
    def SPEC(self) -> ToolSpec: ...  # noqa: N802 - a constant of the file

    @property
    def Arguments(self) -> type[Any]: ...  # noqa: N802 - a class of the file

    @property
    def run(self) -> Callable[[Any, Any], str | ToolOutcome | Awaitable[str | ToolOutcome]]: ...


def _find_tools() -> Iterator[_Tool]:
    for name in sorted(found.name for found in iter_modules(__path__)):
        module = import_module(f"{__name__}.{name}")
        if hasattr(module, "SPEC"):
            yield cast(_Tool, module)


_TOOLS = {tool.SPEC.name: tool for tool in _find_tools()}


def tool_specs() -> dict[str, ToolSpec]:
    """Return all tools that there are, by name."""
    return {name: tool.SPEC for name, tool in _TOOLS.items()}


@functools.cache
def _asked_for(name: str) -> type[Any]:
    """Return what a tool works with."""
    first = next(iter(inspect.signature(_TOOLS[name].run).parameters))
    asked: type[Any] = get_type_hints(_TOOLS[name].run)[first]
    return asked


class WorkspaceToolbox:
    """The tools for the folder ``root``; implements the loop's Toolbox.

    ``offers`` are the ports besides the folder; ``policies`` say by name which tools may run;
    ``foreign`` are the tools besides our own, by name.
    """

    def __init__(
        self,
        root: Path,
        *,
        offers: Offers = _NOTHING,
        policies: Mapping[str, Policy] = _UNTOLD,
        foreign: Mapping[str, Foreign] = _NONE,
    ) -> None:
        """Open nothing yet: the folder is looked at when a tool runs."""
        self._workspace = WritableWorkspace(root)
        self._offers: Offers = {
            Workspace: lambda _line: self._workspace,
            WritableWorkspace: lambda _line: self._workspace,
            **offers,
        }
        self._policies = policies
        self._foreign = foreign
        self._tools = {name: tool for name, tool in _TOOLS.items() if self._is_offered(name)}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools the model may call."""
        foreign = (tool.spec for tool in self._foreign.values())
        allowed = (spec for spec in foreign if self.policy(spec.name) is not Policy.DENY)
        return (*(tool.SPEC for tool in self._tools.values()), *allowed)

    def _is_offered(self, name: str) -> bool:
        return self.policy(name) is not Policy.DENY and _asked_for(name) in self._offers

    def policy(self, name: str) -> Policy:
        """Return whether a tool may run, has to be asked for, or may not."""
        spec = self._spec(name)
        default = spec.default_policy if spec else Policy.ALLOW
        return self._policies.get(name, default)

    def access(self, name: str) -> Access:
        """Return what a tool does to the world."""
        spec = self._spec(name)
        return spec.access if spec else Access.READ

    def _spec(self, name: str) -> ToolSpec | None:
        if name in self._foreign:
            return self._foreign[name].spec
        return _TOOLS[name].SPEC if name in _TOOLS else None

    def holds(self, path: str) -> bool:
        """Whether the tools could read this path now; asks the disk."""
        return self._workspace.holds(path)

    async def run(
        self, name: str, arguments: Mapping[str, Any], line: Line = NO_LINE
    ) -> ToolOutcome:
        """Run one call in a thread; every failure comes back as an outcome with ``is_error``."""
        try:
            said = await self._run(name, arguments, line)
            return ToolOutcome(said) if isinstance(said, str) else said
        except ToolError as error:
            return ToolOutcome(str(error), is_error=True)
        except (LeftWaiting, TurnEnded):
            # Not the call has ended, but the turn.
            raise
        except Exception:
            # The text of an unknown error may name folders of this machine.
            _logger.exception("A tool failed: %s", quote(name))
            return ToolOutcome("The tool failed unexpectedly; the server's log says more.", True)

    async def _run(self, name: str, arguments: Mapping[str, Any], line: Line) -> str | ToolOutcome:
        if name in self._foreign and self.policy(name) is not Policy.DENY:
            return await self._foreign[name].run(arguments, line)
        tool = self._find(name)
        parsed = parse_arguments(tool.Arguments, arguments)
        given = self._offers[_asked_for(name)](line)
        if inspect.iscoroutinefunction(tool.run):
            return cast("str | ToolOutcome", await tool.run(given, parsed))
        return cast("str | ToolOutcome", await asyncio.to_thread(tool.run, given, parsed))

    def _find(self, name: str) -> _Tool:
        tool = self._tools.get(name)
        if tool is None:
            names = ", ".join(spec.name for spec in self.specs)
            raise ToolError(f"There is no tool {quote(name)}. Tools: {names}.")
        return tool

    async def preview(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return what a call would change, "" where it can't be told; raise ToolError."""
        if name in self._foreign:
            return ""
        tool = self._find(name)
        parsed = parse_arguments(tool.Arguments, arguments)
        show = getattr(tool, "preview", None)
        if show is None:
            return ""
        return cast(str, await asyncio.to_thread(show, self._workspace, parsed))
