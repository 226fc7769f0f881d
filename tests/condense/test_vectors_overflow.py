"""Recorded provider errors: which of them say that the context window is exceeded."""

import re
from typing import Any

from condense.writing.overflow import is_context_overflow
from tests.condense.roo import Case, Deviation, assert_same, cases, each, share_that_agrees


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


def everything(case: Case) -> str:
    """Return all a recorded error says, as text to search."""
    return str(case["input"]["error"])


def layers(case: Case) -> list[dict[str, Any]]:
    """Return the objects of a recorded error, the outermost first."""
    found: list[dict[str, Any]] = []
    rest = [case["input"]["error"].get("value", case["input"]["error"].get("fields"))]
    while rest:
        item = rest.pop(0)
        if isinstance(item, dict):
            found.append(item)
            rest.extend(item.values())
    return found


def has_no_usable_status(case: Case) -> bool:
    """Whether the outermost object has no numeric status that Roo looks at."""
    outer = layers(case)[:1]
    return not any(isinstance(item.get(key), int) for item in outer for key in ("status", "code"))


def is_too_large(case: Case) -> bool:
    """Whether it is an HTTP 413, in number or name."""
    return any(item.get("status") == 413 for item in layers(case)) or "too_large" in everything(
        case
    )


def is_in_other_words(case: Case) -> bool:
    """Whether a vendor's sentence or code for it is one that Roo does not know."""
    words = (
        r"reduce the length|too long|too large|maximum prompt length|context size|context limit"
        r"|longer than|exceed\w* .*(maximum|limit|context)|context_length_exceeded|to keep"
    )
    return re.search(words, everything(case), re.IGNORECASE) is not None


def is_about_a_parameter_or_credential(case: Case) -> bool:
    """Whether a smaller context would mend nothing."""
    parameter = re.search(r"max_(\w+_)?tokens|output tokens|rate", everything(case))
    context = re.search(r"context|prompt|input|too (long|many)", everything(case), re.IGNORECASE)
    return parameter is not None or context is None


FOUND_HERE = [
    Deviation("An error in mid-stream or rewrapped has no status.", has_no_usable_status),
    Deviation("HTTP 413 says it too.", is_too_large),
    Deviation("Vendors have other words for it.", is_in_other_words),
]
FOUND_BY_ROO = [
    Deviation("A parameter or credential is at fault.", is_about_a_parameter_or_credential)
]


def answer(case: Case) -> bool:
    """Return the engine's answer to a recorded error."""
    return is_context_overflow(built(case["input"]["error"]))


@each("checkContextWindowExceededError")
def test_an_overflow_is_recognised_where_roo_recognises_one(case: Case) -> None:
    """And where vendors say it in words or places that Roo does not look at."""
    ours = answer(case)
    assert_same(case, ours, case["output"], FOUND_HERE if ours else FOUND_BY_ROO)


def test_most_recorded_errors_agree() -> None:
    """Most deviations are overflows that Roo misses."""
    found = cases("checkContextWindowExceededError")
    assert share_that_agrees(answer(case) == case["output"] for case in found) > 0.6
    missed = [case for case in found if case["output"] and not answer(case)]
    assert len(missed) < len(found) / 10
