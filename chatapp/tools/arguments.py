"""Arguments of a tool: a dataclass makes both the model's schema and the check of a call."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields
from typing import Any, get_args, get_type_hints

from chatapp.agent.errors import ToolError

# The name of a type in JSON Schema and in a sentence.
_KINDS = {
    str: ("string", "a text"),
    int: ("integer", "a whole number"),
    bool: ("boolean", "true or false"),
}


def argument(description: str, *, default: Any = MISSING, minimum: int | None = None) -> Any:
    """Declare an argument: a dataclass field with its description for the model."""
    about: dict[str, Any] = {"description": description}
    if minimum is not None:
        about["minimum"] = minimum
    if default not in (MISSING, None):
        about["default"] = default
    return field(default=default, metadata=about)


def schema_of(declared: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a dataclass made of :func:`argument` fields."""
    kinds = _types_of(declared)
    return {
        "type": "object",
        "properties": {
            one.name: {"type": _KINDS[kinds[one.name]][0], **one.metadata}
            for one in fields(declared)
        },
        "required": [one.name for one in fields(declared) if one.default is MISSING],
        "additionalProperties": False,
    }


def parse_arguments[T](declared: type[T], given: Mapping[str, Any]) -> T:
    """Return the arguments as the dataclass; raise ToolError with their fault."""
    known = {one.name: one for one in fields(declared)}  # type: ignore[arg-type]
    if given.keys() - known.keys():
        raise ToolError(f"Unknown argument. This tool takes: {', '.join(known)}.")
    kinds = _types_of(declared)
    present = {name: value for name, value in given.items() if value is not None}
    for name, one in known.items():
        if name in present:
            present[name] = _check(one, kinds[name], present[name])
        elif one.default is MISSING:
            raise ToolError(f"The argument {name!r} is missing.")
    return declared(**present)


def _check(declared: "Field[Any]", kind: type, value: Any) -> Any:
    """Return the value as its type; JSON makes no difference between 5 and 5.0."""
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not kind:
        raise ToolError(f"The argument {declared.name!r} must be {_KINDS[kind][1]}.")
    minimum = declared.metadata.get("minimum")
    if minimum is not None and value < minimum:
        raise ToolError(f"The argument {declared.name!r} must be at least {minimum}.")
    return value


def _types_of(declared: type[Any]) -> dict[str, type]:
    """Return each field's type; "or None" only says that it may be left out."""
    return {
        name: next(kind for kind in (*get_args(hint), hint) if kind is not type(None))
        for name, hint in get_type_hints(declared).items()
    }
