"""Read recorded cases of Roo Code, and its stored messages, as the engine's own types.

Where the engine answers otherwise on purpose, `vectors/otherwise.json` has its answer, by function,
reason and case.
"""

import functools
import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from condense.messages import Content, Message, OpaqueBlock, Tags, content_from_api

FOLDER = Path(__file__).parent / "vectors"

OTHERWISE = json.loads((FOLDER / "otherwise.json").read_text("utf-8"))

type Case = dict[str, Any]


def recorded(name: str) -> list[Case]:
    """Return every case of one function with what Roo answered."""
    return list(json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes())))


@functools.cache
def cases(name: str) -> list[Case]:
    """Return every case of one function with what the engine is to answer."""
    ours = {
        case: answer for told in OTHERWISE.get(name, {}).values() for case, answer in told.items()
    }
    return [
        {**case, "output": _instead(case["output"], ours.get(case["name"]))}
        for case in recorded(name)
    ]


def _instead(roos: Any, ours: Any) -> Any:
    """Return Roo's answer with ours in its place, or in place of some of its parts."""
    if isinstance(roos, dict):
        return {**roos, **(ours or {})}
    return roos if ours is None else ours


def each(name: str) -> Callable[[Callable[[Case], None]], Callable[[], None]]:
    """Make one test of what every recorded case of a function shows; each that fails is named."""

    def make(check: Callable[[Case], None]) -> Callable[[], None]:
        def test() -> None:
            failures = [failure for case in cases(name) for failure in failed(check, case)]
            if failures:
                raise ExceptionGroup(f"{name}: {len(failures)} cases", failures)

        test.__doc__ = check.__doc__
        return test

    return make


def failed(check: Callable[[Case], None], case: Case) -> list[Exception]:
    """Return why a case fails, with its name; nothing where it does not."""
    try:
        check(case)
    except Exception as error:  # noqa: BLE001 - the other cases are shown, too
        error.add_note(case["name"])
        return [error]
    return []


def message(data: dict[str, Any], index: int = 0) -> Message:
    """Read one stored message; its id is its place in the list, its seq one more."""
    role, content = data.get("role"), _content(data)
    if role not in {"user", "assistant"}:
        role = "assistant"  # an encrypted reasoning item stands alone and has no role
    return Message(role, content, id=str(index), seq=index + 1, tags=_tags(data, index))


def messages(found: Iterable[dict[str, Any]]) -> tuple[Message, ...]:
    """Read a stored history."""
    return tuple(message(data, index) for index, data in enumerate(found))


def _content(data: dict[str, Any]) -> Content:
    content = data.get("content")
    if "role" not in data:
        return (OpaqueBlock({key: value for key, value in data.items() if key != "ts"}),)
    if content is None:
        return ()
    return content_from_api(content if isinstance(content, str | list) else str(content))


def _tags(data: dict[str, Any], index: int) -> Tags:
    summary, marker = data.get("isSummary") is True, bool(data.get("isTruncationMarker"))
    return Tags(
        condense_id=(data.get("condenseId") or f"summary-{index}") if summary else None,
        condense_parent=data.get("condenseParent") or None,
        truncation_id=(data.get("truncationId") or f"marker-{index}") if marker else None,
        truncation_parent=data.get("truncationParent") or None,
    )


def said(found: Iterable[Message]) -> list[tuple[str, Content]]:
    """Return what of messages can be compared: role and content."""
    return [(item.role, item.content) for item in found]


def expected(output: Iterable[int | dict[str, Any]], given: Sequence[Message]) -> list[Message]:
    """Return recorded output messages; a number stands for one of those given."""
    return [given[item] if isinstance(item, int) else message(item) for item in output]
