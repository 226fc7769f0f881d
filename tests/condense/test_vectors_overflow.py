"""Recorded provider errors: which of them say that the context window is exceeded."""

from typing import Any

from condense.summaries.summary_failures import is_context_overflow
from tests.condense.roo import Case, each


class RecordedError(Exception):
    """An exception with recorded attributes; reading ``broken`` raises."""

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(fields.get("message", ""))
        self.__dict__.update(fields)


def throwing(name: str) -> object:
    """Return an object of which one property raises when it is read."""

    def fail(_: object) -> None:
        raise RuntimeError(name)

    return type("Throwing", (), {name: property(fail)})()


def built(descriptor: dict[str, Any]) -> object:
    """Return the recorded error as a Python object."""
    match descriptor["kind"]:
        case "undefined":
            return None
        case "throwing-getter":
            return throwing(descriptor["property"])
        case "circular":
            value = dict(descriptor["value"])
            return value | {"self": value, "error": value.get("error", value)}
        case "value":
            return descriptor["value"]
        case kind:
            name = kind.rsplit(".", 1)[-1]
            error_class = type(name, (RecordedError,), {})
            return error_class(descriptor.get("fields", {}))


@each("checkContextWindowExceededError")
def test_an_overflow_is_recognised_where_roo_recognises_one(case: Case) -> None:
    """And where vendors say it in words or places that Roo does not look at."""
    assert is_context_overflow(built(case["input"]["error"])) is case["output"]
