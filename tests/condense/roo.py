"""Read recorded cases of Roo Code, and its stored messages, as the engine's own types."""

import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from condense.history.effective_history import effective_history, messages_since_last_summary
from condense.messages import Content, Message, OpaqueBlock, Tags, content_from_api

FOLDER = Path(__file__).parent / "vectors"

type Case = dict[str, Any]


def cases(name: str) -> list[Case]:
    """Return every recorded case of one function, from however many files there are."""
    files = sorted([*FOLDER.glob(f"{name}*.json"), *FOLDER.glob(f"{name}*.json.gz")])
    return [case for file in files for case in json.loads(_text(file))]


def _text(file: Path) -> str:
    return gzip.decompress(file.read_bytes()).decode() if file.suffix == ".gz" else file.read_text()


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


@dataclass(frozen=True)
class Deviation:
    """A rule by which the engine answers otherwise than Roo: the reason, where, and its answer."""

    reason: str
    applies: Callable[[Case], bool]
    answer: Callable[[Case], Any]


def assert_same(case: Case, ours: Any, roos: Any, deviations: Sequence[Deviation] = ()) -> None:
    """Fail unless the answer is Roo's or, where a deviation applies, the one that it gives."""
    found = next((deviation for deviation in deviations if deviation.applies(case)), None)
    expected = found.answer(case) if found else roos
    assert ours == expected, (case["name"], found.reason if found else "as in Roo")


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


def hides_some(case: Case) -> bool:
    """Whether the model sees less than everything since the last summary."""
    history = messages(case["input"]["messages"])
    return said(effective_history(history)) != said(messages_since_last_summary(history))


def expected(output: Iterable[int | dict[str, Any]], given: Sequence[Message]) -> list[Message]:
    """Return recorded output messages; a number stands for one of those given."""
    return [given[item] if isinstance(item, int) else message(item) for item in output]
