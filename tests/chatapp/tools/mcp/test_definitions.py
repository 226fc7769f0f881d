"""What servers say of their tools: names, words and schemas of strangers, made fit for a model."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chatapp.agent.ports import Access, ToolPolicy
from chatapp.tools import TOOL_SPECS
from chatapp.tools.mcp.servers import (
    HIDDEN,
    MAX_DESCRIPTION,
    MAX_NAME,
    MAX_TOOLS,
    Definition,
    Server,
    Way,
    listing_of,
    name_for,
)
from tests.growth import assert_cheap

WEB = Server(1, "web", Way.HTTP, "https://example.org/mcp", (("Authorization", "Bearer sesame-1"),))
LOCAL = Server(2, "local", Way.COMMAND, "run it")


@dataclass
class Hints:
    """What a tool says it does."""

    read_only_hint: bool | None = None


@dataclass
class Tool:
    """A tool as it is listed."""

    name: str
    description: str | None = None
    input_schema: dict[str, Any] = field(default_factory=dict)
    annotations: Hints | None = None


def only(tool: Tool, server: Server = WEB) -> Definition | None:
    """Return what becomes of one tool."""
    listing = listing_of(server, [tool])
    assert len(listing.definitions) + len(listing.left_out) == 1
    return listing.definitions[0] if listing.definitions else None


@given(st.lists(st.text().filter(str.isprintable), unique=True, max_size=20))
def test_every_name_is_one_that_providers_take_and_no_other_has(names: list[str]) -> None:
    """Whatever a server calls its tools; none is one of ours."""
    listing = listing_of(WEB, [Tool(name) for name in names])
    given = [one.name for one in listing.definitions]
    assert len(given) == len({*given}) == len(names)
    assert all(len(name) <= MAX_NAME for name in given)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", name) for name in given)
    # Whatever else a server lists; the separator is in no name of ours.
    assert given == [name_for("web", name, {"web__x"} - {*given}) for name in names]
    assert not [name for name in TOOL_SPECS if "__" in name]


def test_a_description_is_cut_and_neither_it_nor_a_schema_holds_a_secret() -> None:
    """It is somebody else's text, and said to be; a tool with an argument named so is left out."""
    told = only(Tool("a", "\x1b[31mred\x1b[0m sesame-1 " + "x" * 10_000))
    assert told.description.startswith(f"red {HIDDEN} x")
    assert len(told.description) == MAX_DESCRIPTION
    assert told.spec(WEB).description.startswith("A tool of the MCP server web. red")
    told = {"type": "string", "description": "Not sesame-1.", "default": "sesame-1"}
    schema = {"properties": {"a": {**told, "enum": ["x", "Bearer sesame-1"]}}, "title": "sesame-1"}
    kept = only(Tool("a", input_schema=schema))
    assert "sesame-1" not in str(kept)
    assert kept.schema["properties"]["a"]["enum"] == ["x", HIDDEN]
    assert only(Tool("a", input_schema={"properties": {"sesame-1": {}}})) is None


def test_what_a_request_cannot_carry_is_left_out_and_said_to_be() -> None:
    """Too many tools, a name that is listed twice, and one that holds a secret."""
    tools = [Tool(f"t{number}") for number in range(MAX_TOOLS + 5)]
    listing = listing_of(WEB, [Tool("use_sesame-1_now"), Tool("t0", "first"), *tools])
    assert [one.tool for one in listing.definitions] == [one.name for one in tools[:MAX_TOOLS]]
    assert listing.definitions[0].description == "first"
    assert listing.left_out[:2] == (f"use_{HIDDEN}_now", "t0")
    assert len(listing.left_out) == 7


def test_a_tool_whose_name_holds_what_can_t_be_seen_is_left_out() -> None:
    """Pages show names as they are; what says so has none of it either."""
    for sign in ("\x1b[31m", "\x1b", "\x9b", "\n", "\u202e", "\ud800"):
        listing = listing_of(WEB, [Tool(f"de{sign}lete")])
        assert listing.definitions == ()
        assert "\x1b" not in listing.left_out[0]
        assert listing.left_out[0].isprintable()


def test_a_person_is_asked_about_every_tool_unless_they_decide_otherwise() -> None:
    """Whatever it says of itself; a command that says it only reads has no files kept for it."""
    for server, hints, access in (
        (WEB, None, Access.NETWORK),
        (WEB, Hints(read_only_hint=True), Access.NETWORK),
        (LOCAL, None, Access.EXECUTE),
        (LOCAL, Hints(read_only_hint=False), Access.EXECUTE),
        (LOCAL, Hints(read_only_hint=True), Access.READ),
    ):
        told = only(Tool("a", annotations=hints), server)
        spec = told.spec(server)
        assert (spec.access, spec.default_policy) == (access, ToolPolicy.ASK)


def test_a_schema_is_passed_on_as_providers_take_it() -> None:
    """What they refuse at its top the server checks; what is too long is not validated."""
    arguments = {"a": {"type": "string", "enum": ["x"]}}
    schema = {"$schema": "https://x", "anyOf": [{}], "properties": arguments, "required": ["a"]}
    told = only(Tool("a", input_schema=schema))
    assert told.schema == {"type": "object", "properties": arguments, "required": ["a"]}

    def listed(parts: int) -> Callable[[], object]:
        tool = Tool("a", input_schema={"properties": {"a": {"anyOf": [{}] * parts}}})
        return lambda: only(tool)

    assert_cheap(listed(10_000), listed(500), 1, "a long schema")


def nested(depth: int) -> dict[str, Any]:
    """Return a schema within a schema within a schema."""
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"properties": {"a": schema}}
    return schema


def test_a_schema_that_would_spoil_every_request_is_left_out() -> None:
    """With its tool: a provider refuses the whole request for it."""
    for schema in (
        {"type": "string"},
        {"type": "object", "properties": []},
        {"properties": {"not a name": {}}},
        {"properties": {"a" * 65: {}}},
        *(
            {"properties": {"a": argument}}
            for argument in (
                {"type": "nonsense"},
                {"$ref": "https://example.org/steal.json"},
                {"description": "x" * 30_000},
                {"default": float("nan")},
                {"pattern": "(a|" * 5_000},
                {"pattern": "a{99999999999999999999}"},
            )
        ),
        nested(500),
    ):
        assert only(Tool("a", input_schema=schema)) is None
