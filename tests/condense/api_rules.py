"""The Messages API's rules for a request, as one assertion for any test."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.standin.rules import violations

TOOL = {"name": "read_file", "input_schema": {"type": "object"}}


def assert_valid_request(messages: Sequence[Mapping[str, Any]], tools_present: bool = True) -> None:
    """Fail with the API's words unless it would accept these messages."""
    body = {"model": "claude-opus-4-8", "max_tokens": 1, "messages": list(messages)}
    assert violations({**body, "tools": [TOOL]} if tools_present else body) == []
