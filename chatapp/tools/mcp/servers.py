"""An MCP server as its owner describes it, and its tools as a model sees them.

All that a server says of its tools is a stranger's words.
"""

import enum
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import condense
from chatapp.agent.ports import Access, ToolPolicy, ToolSpec
from chatapp.tools.long_outputs import plain

if TYPE_CHECKING:
    from mcp_types import Tool

# Bytes of one message of a server, which is parsed while nothing else runs and may be the largest
# image; and of all that it sends before it is asked again.
MAX_MESSAGE = 5 * 1024 * 1024
MAX_ANSWER = 16 * 1024 * 1024
TOO_MUCH = condense.noop("It sends more than this server takes. Ask it for less at once.")

# Tools of one server, and characters of a server's description.
MAX_TOOLS = 100
MAX_DESCRIPTION = 2_000
MAX_SCHEMA = 20_000
MAX_SCHEMA_DEPTH = 20

# Characters of a tool's name that providers take. None of our tools has the separator in it.
MAX_NAME = 64
TOOL_SEPARATOR = "__"
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST = 8

# Argument names that providers take, and keys that they refuse at the top of a schema.
_ARGUMENT = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NOT_AT_THE_TOP = frozenset({"$schema", "$id", "oneOf", "anyOf", "allOf", "not", "if"})

HIDDEN = "[hidden]"
# Characters. A shorter value is no secret, and would be found in other words.
_LEAST_SECRET = 6


class Way(enum.StrEnum):
    """The ways to reach a server."""

    HTTP = "http"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Server:
    """An MCP server; after a change of any other field than ``key``, connections are made anew."""

    key: int  # its identity
    name: str
    way: Way
    address: str  # a URL or a command
    # Headers of a URL, variables of a command.
    secrets: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def hide(self, text: str) -> str:
        """Return the server's text without its own secrets."""
        for _name, value in self.secrets:
            # A server may repeat the second part of "Bearer abc".
            for part in (value.strip(), *value.split()):
                if len(part) > _LEAST_SECRET:
                    text = text.replace(part, HIDDEN)
        return text


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool; ``tool`` is its name on the server, ``name`` its name for the model."""

    tool: str
    name: str
    description: str
    schema: Mapping[str, Any]
    read_only: bool = False

    def spec(self, server: Server) -> ToolSpec:
        """Return the tool's spec for the model; it is asked about, unless the user changes that."""
        # A command whose tool says that it only reads is believed in so far as no files are kept
        # before it is called.
        reads = Access.READ if self.read_only else Access.EXECUTE
        return ToolSpec(
            name=self.name,
            description=f"A tool of the MCP server {server.name}. {self.description}".strip(),
            input_schema=self.schema,
            access=Access.NETWORK if server.way is Way.HTTP else reads,
            policy=ToolPolicy.ASK,
        )


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools that can be offered, and the names of those that can't."""

    definitions: tuple[Definition, ...]
    left_out: tuple[str, ...] = ()


def listing_of(server: Server, tools: "Iterable[Tool]") -> Listing:
    """Return a server's tools without its secrets.

    A tool is left out whose name holds a secret, or a character that can't be seen.
    """
    found: dict[str, Definition] = {}
    left_out: list[str] = []
    for tool in tools:
        schema = _fit(tool.input_schema, server)
        shown = server.hide(_line(tool.name))
        unfit = server.hide(tool.name) != tool.name or not tool.name.isprintable()
        if schema is None or unfit or tool.name in found or len(found) >= MAX_TOOLS:
            left_out.append("".join(filter(str.isprintable, shown))[:MAX_NAME])
            continue
        said = _line(tool.description or "")
        found[tool.name] = Definition(
            tool=tool.name,
            name=name_for(server.name, tool.name, {one.name for one in found.values()}),
            description=server.hide(said)[:MAX_DESCRIPTION],
            schema=schema,
            read_only=bool(getattr(tool.annotations, "read_only_hint", False)),
        )
    return Listing(tuple(found.values()), tuple(left_out))


def name_for(server: str, tool: str, taken: Iterable[str] = ()) -> str:
    """Return a name that every provider takes, and that no other tool has."""
    fit = _UNFIT.sub("_", tool)
    name = f"{server}{TOOL_SEPARATOR}{fit}"
    if fit == tool and len(name) <= MAX_NAME and name not in taken:
        return name
    digest = hashlib.sha256(tool.encode(errors="surrogatepass")).hexdigest()[:_DIGEST]
    return f"{name[: MAX_NAME - _DIGEST - 1]}_{digest}"


def _line(text: str) -> str:
    return plain(text.encode(errors="replace")).strip()


def _fit(schema: Any, server: Server) -> dict[str, Any] | None:
    """Return a schema as providers take it, without secrets; None if that is impossible.

    The server itself still checks the constraints that are removed.
    """
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return None
    if not _is_simple(schema):
        return None
    kept = {name: one for name, one in schema.items() if name not in _NOT_AT_THE_TOP}
    fit: dict[str, Any] = {"type": "object", "properties": {}, **_hidden(kept, server)}
    arguments = fit["properties"]
    if not isinstance(arguments, dict) or not all(map(_ARGUMENT.fullmatch, arguments)):
        return None
    # Providers check before all else that it is a JSON Schema of some length.
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - it comes with the SDK

    # Compiling a pattern raises the last two: brackets nested too deep, or a count too high.
    with suppress(SchemaError, ValueError, RecursionError, OverflowError):
        # The size first: validating takes milliseconds for each part of a schema.
        if len(json.dumps(fit, allow_nan=False)) <= MAX_SCHEMA:
            Draft202012Validator.check_schema(fit)
            return cast("dict[str, Any]", condense.well_formed_json(fit))
    return None


def _hidden(part: Any, server: Server) -> Any:
    """Return a part of a schema without the server's secrets, at any depth."""
    if isinstance(part, str):
        return server.hide(part)
    if isinstance(part, dict):
        return {_hidden(name, server): _hidden(one, server) for name, one in part.items()}
    return [_hidden(one, server) for one in part] if isinstance(part, list) else part


def _is_simple(part: Any, depth: int = 0) -> bool:
    """Return True if a schema's depth is limited and all its references are inside it."""
    if depth > MAX_SCHEMA_DEPTH:
        return False
    if isinstance(part, dict):
        target = part.get("$ref", "#")
        inside = not isinstance(target, str) or target.startswith("#")
        return inside and all(_is_simple(one, depth + 1) for one in part.values())
    return not isinstance(part, list) or all(_is_simple(one, depth + 1) for one in part)
