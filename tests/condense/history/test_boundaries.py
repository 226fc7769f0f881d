"""Where a history may be cut."""

import pytest

from condense.history.boundaries import nearest_cut, safe_cuts, unread_tail
from condense.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock


def history(script: str) -> list[Message]:
    """Return messages from words: u, a, a:x calls x, u:x answers x; a:xy calls both."""
    return [step(word) for word in script.split()]


def step(word: str) -> Message:
    """Return one message of a script."""
    who, _, ids = word.partition(":")
    if who == "u":
        results = tuple(ToolResultBlock(id_, "done") for id_ in ids)
        return Message("user", results or "hello")
    return Message("assistant", (TextBlock("well"), *(ToolUseBlock(i, "read", {}) for i in ids)))


@pytest.mark.parametrize(
    ("script", "cuts"),
    [
        ("", (0,)),
        ("u a u", (0, 1, 2, 3)),
        ("u a:x u:x a", (0, 1, 3, 4)),
        ("u a:xy u:x u:y a", (0, 1, 4, 5)),
        ("u a:x u u:x a", (0, 1, 4, 5)),
        ("u a:x u a", (0, 1, 2, 3, 4)),
        ("u u:x a", (0, 1, 2, 3)),
        ("u a:x u:x a:x u:x", (0, 1, 3, 5)),
        ("u a:x u:x a u:x", (0, 1, 3, 4, 5)),
        ("a:x a:y u:x u:y", (0, 4)),
    ],
)
def test_no_safe_cut_parts_a_call_from_its_result(script: str, cuts: tuple[int, ...]) -> None:
    """Ids used again in a later turn, orphans and pending calls included."""
    assert safe_cuts(history(script)) == cuts


@pytest.mark.parametrize(
    ("script", "start"),
    [
        ("", 0),
        ("u", 0),
        ("u u", 0),
        ("u a", 2),
        ("u a u", 2),
        ("u a u u", 2),
        ("u a:x", 1),
        ("u a:x u:x", 1),
        ("u a:x u", 1),
        ("u a:x u:x u", 1),
        ("u a:x a u:x", 1),
        ("u a:x u:x a", 4),
        ("u a:x u:x a u", 4),
    ],
)
def test_the_unread_tail_is_what_follows_the_last_reply_and_a_reply_that_waits(
    script: str, start: int
) -> None:
    """Pending calls and unread results keep their call beside them."""
    assert unread_tail(history(script)) == start


def test_the_nearest_cut_is_the_lower_of_two_and_stays_in_range() -> None:
    """Hiding less is the smaller mistake."""
    cuts = (0, 1, 3, 5, 8)
    assert nearest_cut(cuts, 4, low=0, high=8) == 3
    assert nearest_cut(cuts, 7, low=0, high=8) == 8
    assert nearest_cut(cuts, 7, low=0, high=7) == 5
    assert nearest_cut(cuts, 2, low=2, high=2) is None


def test_a_hundred_thousand_messages_are_one_pass() -> None:
    """The work is linear, also with an id that every turn uses again."""
    long = history("u a:x u:x a:x") * 25_000
    assert len(safe_cuts(long)) == 75_001
