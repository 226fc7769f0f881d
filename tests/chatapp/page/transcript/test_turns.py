"""Turns that failed or were cut, as rows of the transcript."""

import pytest

import condense
from chatapp.conversations import rewind
from chatapp.models import Conversation, Turn, message_store
from chatapp.page.transcript import row_pages
from chatapp.page.transcript.rows import ContinuedRow, MessageRow, TurnRow
from chatapp.turns import lifecycle
from tests.chatapp.conftest import use_tools
from tests.chatapp.scripted_turns import (
    DONE,
    FAILED,
    INTERRUPTED,
    STOPPED,
    ask,
    end,
    go_on,
    regenerate,
    retry,
)


def turn_rows(conversation: Conversation) -> list[TurnRow]:
    """Return the rows of turns on the newest page."""
    return [row for row in row_pages.page(conversation).rows if isinstance(row, TurnRow)]


def answers(conversation: Conversation) -> list[MessageRow]:
    """Return the agent's rows on the newest page."""
    rows = row_pages.page(conversation).rows
    return [row for row in rows if isinstance(row, MessageRow) and row.role == "assistant"]


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        (FAILED, ("Turn failed", True, ("turn.retry",))),
        (INTERRUPTED, ("Interrupted", True, ("turn.continue", "turn.retry"))),
    ],
)
def test_a_turn_without_an_answer_is_a_row_that_can_be_taken_up(
    conversation: Conversation, status: Turn.Status, shown: tuple[object, ...]
) -> None:
    """After what was said in it, with the reason; the buttons go when one was pressed."""
    end(ask(conversation), status=status)
    said, row = row_pages.page(conversation).rows
    assert isinstance(said, MessageRow)
    assert (row.name, row.failed, row.commands) == shown
    assert row.turn.error in row.reason
    retry(conversation)
    assert [row.commands for row in turn_rows(conversation)] == [()]


@pytest.mark.parametrize(
    ("reason", "status", "cut", "commands"),
    [
        ("max_tokens", DONE, "The answer reached its longest allowed length here.", []),
        ("error", DONE, "The answer broke off here.", []),
        ("weather", DONE, "The provider ended the answer here: weather", []),
        ("end_turn", DONE, "", []),
        # It says so itself, once.
        ("stopped", STOPPED, "Stopped here.", []),
        # It is continued where it ends, so its turn offers to try again only.
        ("interrupted", INTERRUPTED, "The answer was interrupted here.", [("turn.retry",)]),
        # Its turn says so.
        ("declined", FAILED, "", [("turn.retry",)]),
    ],
)
def test_an_answer_that_was_cut_says_so_and_can_be_continued(
    conversation: Conversation,
    reason: str,
    status: Turn.Status,
    cut: str,
    commands: list[tuple[str, ...]],
) -> None:
    """A whole one can't."""
    end(ask(conversation), "Because it", stop_reason=reason, status=status)
    (answer,) = answers(conversation)
    assert (answer.cut, answer.repeatable) == (cut, True)
    assert answer.continuable is (bool(cut) and reason != "weather")
    assert [row.commands for row in turn_rows(conversation)] == commands


@pytest.mark.parametrize(
    ("status", "error", "shown"),
    [
        (STOPPED, "", ("Stopped", False, "You stopped it here.", ("turn.retry",))),
        # One that used up its steps is finished, and can go on.
        (DONE, "50 steps.", ("Stopped", False, "50 steps.", ("turn.continue",))),
    ],
)
def test_a_turn_that_ended_before_its_answer_says_so(
    conversation: Conversation, status: Turn.Status, error: str, shown: tuple[object, ...]
) -> None:
    """One line, which is no failure."""
    turn = ask(conversation)
    use_tools(conversation, 1, turn=turn)
    lifecycle.finish_turn(turn=turn, status=status, error=error)
    (row,) = turn_rows(conversation)
    assert (row.name, row.failed, row.reason, row.commands) == shown


def test_a_failed_turn_stays_where_it_was_when_more_is_said(conversation: Conversation) -> None:
    """On record, and with nothing to do any more."""
    end(ask(conversation), status=FAILED)
    end(retry(conversation), status=FAILED)
    end(ask(conversation, "Hello?"), "Here I am.")
    kinds = [type(row) for row in row_pages.page(conversation).rows]
    assert kinds == [MessageRow, TurnRow, TurnRow, MessageRow, MessageRow]
    assert [row.commands for row in turn_rows(conversation)] == [(), ()]


def test_a_failed_turn_is_rewound_with_its_message_and_comes_back_with_it(
    conversation: Conversation,
) -> None:
    """It has no place without it."""
    end(ask(conversation), status=FAILED)
    record = rewind.rewind_conversation(conversation=conversation, first_hidden_seq=1)
    (rewound,) = row_pages.page(conversation).rows
    assert [type(row) for row in rewound.rows] == [MessageRow, TurnRow]
    rewind.undo_rewind(rewind=record)
    (row,) = turn_rows(conversation)
    assert row.commands == ("turn.retry",)


def test_an_answer_is_continued_once_with_a_quiet_line(conversation: Conversation) -> None:
    """What asked the model to go on is no message of the user."""
    end(ask(conversation), "Because it", stop_reason="stopped")
    end(go_on(conversation), "is so.")
    kinds = [type(row) for row in row_pages.page(conversation).rows]
    assert kinds == [MessageRow, MessageRow, ContinuedRow, MessageRow]
    assert [row.continuable for row in answers(conversation)] == [False, False]


def test_an_answer_that_is_a_picture_can_be_asked_for_again(conversation: Conversation) -> None:
    """It says nothing in words."""
    turn = ask(conversation)
    picture = condense.ImageBlock({"type": "base64", "media_type": "image/png", "data": "iVBORw0="})
    said = condense.Message(role="assistant", content=(picture,))
    message_store.append_message(conversation.pk, said, tokens=1, turn=turn)
    end(turn)
    (answer,) = answers(conversation)
    assert answer.repeatable
    regenerate(conversation, answer.seq)
    assert answers(conversation) == []


def test_an_answer_has_no_actions_while_its_turn_runs(conversation: Conversation) -> None:
    """Neither for it nor for its versions."""
    turn = ask(conversation)
    use_tools(conversation, 1, "I look.", turn=turn)
    (answer,) = answers(conversation)
    assert (answer.repeatable, answer.continuable, answer.versions) == (False, False, None)
    end(turn, "Because.")
    assert [row.repeatable for row in answers(conversation)] == [False, True]
