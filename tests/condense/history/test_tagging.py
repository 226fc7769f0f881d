"""Condense, truncate, rewind and undo: tags come and go, messages stay."""

from dataclasses import replace

import pytest

from condense.errors import NothingToCondense, RedoRefused, UndoRefused, UnknownMessage
from condense.history.boundaries import unread_tail
from condense.history.effective_history import effective_history
from condense.history.tags import (
    hide_behind,
    plan_truncation,
    redo,
    rewind,
    truncate,
    undo,
    undo_rewind,
)
from condense.messages import Message, Tags, ToolResultBlock, ToolUseBlock
from tests.growth import LINEAR, assert_cheap

History = tuple[Message, ...]


def talk(count: int) -> History:
    """Return m1 to m<count>, the user's and the model's in turn."""
    return tuple(
        Message("user" if n % 2 else "assistant", f"text {n}", id=f"m{n}", seq=n)
        for n in range(1, count + 1)
    )


def summary(name: str, seq: int = 0) -> Message:
    """Return a summary."""
    return Message("user", f"summary {name}", id=name, seq=seq, tags=Tags(condense_id=name))


def ids(messages: History) -> list[str]:
    """Return the ids, in order."""
    return [message.id for message in messages]


def seen(messages: History) -> list[str]:
    """Return the ids of what the model sees."""
    return ids(effective_history(messages))


@pytest.fixture
def condensed() -> History:
    """Six messages, the first four behind a summary."""
    return hide_behind(talk(6), ["m1", "m2", "m3", "m4"], summary("s"))


def test_a_summary_stands_after_the_last_message_which_names_it(condensed: History) -> None:
    """With the next number, in reading order; what an earlier one hides keeps that parent."""
    assert ids(condensed) == ["m1", "m2", "m3", "m4", "s", "m5", "m6"]
    assert seen(condensed) == ["s", "m5", "m6"]
    assert condensed[4].order == (4, 7)
    assert condensed == tuple(sorted(condensed, key=lambda message: message.order))
    parents = [message.tags.condense_parent for message in condensed]
    assert parents == ["s"] * 4 + [None] * 3
    again = hide_behind(condensed, ["s", "m1", "m5"], summary("s2"))
    parents = {message.id: message.tags.condense_parent for message in again}
    assert (parents["m1"], parents["s"], parents["m5"]) == ("s", "s2", "s2")
    assert seen(again) == ["s2", "m6"]


def test_what_is_unknown_or_not_visible_cannot_be_hidden_nor_what_is_hidden_be_undone(
    condensed: History,
) -> None:
    """With a sentence that says so; of two undone, the later one goes first."""
    with pytest.raises(UnknownMessage, match="'m9'"):
        hide_behind(talk(3), ["m1", "m9"], summary("s"))
    with pytest.raises(NothingToCondense):
        hide_behind(condensed, ["m1", "m2"], summary("s2"))
    with pytest.raises(UndoRefused, match="already"):
        undo(undo(condensed, "s"), "s")
    with pytest.raises(UnknownMessage):
        undo(talk(3), "s")
    again = hide_behind(condensed, ["s", "m5"], summary("s2"))
    with pytest.raises(UndoRefused, match="later"):
        undo(again, "s")
    assert seen(undo(undo(again, "s2"), "s")) == ids(talk(6))


def test_a_cut_that_moves_does_not_reach_what_is_unread() -> None:
    """Rather nothing is hidden than a result the model never saw."""
    calls = tuple(ToolUseBlock(f"t{n}", "read", {}) for n in range(3))
    answers = tuple(Message("user", (ToolResultBlock(f"t{n}", "x"),)) for n in range(3))
    history = (Message("user", "go"), Message("assistant", calls), *answers)
    assert plan_truncation(history) == ()


def test_a_rewind_cannot_be_undone_once_something_new_is_written(condensed: History) -> None:
    """Two continuations would be mixed; it leaves a summary that was written before."""
    rewound = rewind(talk(4), "m3", rewind_id="r")
    with pytest.raises(UndoRefused):
        undo_rewind((*rewound, Message("user", "new", id="m5", seq=5)), "r")
    with pytest.raises(UnknownMessage):
        undo_rewind(rewound, "another")
    with pytest.raises(UnknownMessage):
        rewind(talk(3), "m9")
    longer = (*condensed, Message("user", "more", id="m8", seq=8))
    assert seen(rewind(longer, "m8")) == ["s", "m5", "m6"]
    with pytest.raises(UndoRefused):
        undo(rewind(condensed, "m5"), "s")


def condensed_talk(messages: int) -> History:
    """Return a conversation of so many messages after every operation on it."""
    result = truncate(talk(messages))
    end = unread_tail(effective_history(result.messages))
    hidden = ids(effective_history(result.messages)[:end])
    made = hide_behind(tuple(result.messages), hidden, summary("s"))
    assert seen(undo_rewind(rewind(made, f"m{messages // 2}", rewind_id="r"), "r")) == seen(made)
    undo(made, "s")
    return made


def test_every_operation_on_a_history_is_one_pass() -> None:
    """And the view of a condensed history far less."""
    assert_cheap(lambda: condensed_talk(1_600), lambda: condensed_talk(200), LINEAR)
    large = condensed_talk(1_600)

    def view() -> None:
        for _ in range(50):
            effective_history(large)

    assert_cheap(view, lambda: talk(1_600), 1)


def test_what_a_rewind_took_along_is_not_redone_before_that_is_undone() -> None:
    """Although all that it hid is in sight: it was written after the place that was gone back to.

    Once the rewind is undone, it stands for the same again.
    """
    made = hide_behind(talk(4), ["m1", "m2"], summary("s"))
    later = replace(talk(6)[5], seq=6)
    history = (*made, later)
    undone = undo(history, "s")
    rewound = rewind(undone, "s", rewind_id="r")
    assert ids(effective_history(rewound)) == ["m1", "m2", "m3", "m4"]
    with pytest.raises(RedoRefused):
        redo(rewound, "s")
    back = redo(undo_rewind(rewound, "r"), "s")
    assert effective_history(back) == effective_history(history)
