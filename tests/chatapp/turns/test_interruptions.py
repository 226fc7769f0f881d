"""What a process leaves in the middle is ended with all that is known of it, once."""

import json
import uuid
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

import condense
from chatapp.conversations import conversations
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    ModelCall,
    Process,
    Profile,
    ToolRun,
    Turn,
    message_store,
)
from chatapp.models.processes import this_process
from chatapp.page.transcript import row_pages
from chatapp.page.transcript.rows import MessageRow, TurnRow
from chatapp.turns import crash_recovery, turns_without_message
from tests.chatapp.observers import live_elsewhere
from tests.chatapp.runs import named
from tests.chatapp.scripted_turns import ask, elsewhere, end, go_on, retry
from tests.chatapp.two_connections import beside

WORDS = "Once upon a time there was"


def call_of(turn: Turn, *blocks: dict[str, str], **columns: object) -> ModelCall:
    """Put an open call on record, with its draft."""
    return ModelCall.objects.create(
        conversation_id=turn.conversation_id,
        turn=turn,
        draft=json.dumps(blocks),
        usage_measured=False,
        **{"purpose": "chat", "tokens_estimated": 100, **named(turn.profile), **columns},
    )


def wrote(text: str) -> dict[str, str]:
    """Return a block of text as a draft has it."""
    return {"type": "text", "text": text}


def last(conversation: Conversation) -> Message:
    """Return the newest message."""
    row = conversation.messages.newest()
    assert row
    return row


def results(conversation: Conversation) -> dict[str, str]:
    """Return what the newest message answers, by call."""
    said = message_store.to_engine(last(conversation))
    return {one.tool_use_id: str(one.content) for one in said.tool_results}


@pytest.fixture
def conversation(conversation: Conversation) -> Conversation:
    """A conversation whose model costs something."""
    Profile.objects.update(price_input=Decimal(3), price_output=Decimal(15))
    conversation.refresh_from_db()
    return conversation


def test_what_was_written_of_an_answer_becomes_its_message(conversation: Conversation) -> None:
    """With its call, whose use is estimated and marked so."""
    turn = elsewhere(ask(conversation))
    call = call_of(turn, wrote(WORDS))
    assert crash_recovery.recover().closed == {conversation.pk}
    row, call = last(conversation), ModelCall.objects.get(pk=call.pk)
    assert (row.content[0]["text"], row.stop_reason) == (WORDS, "interrupted")
    assert (call.message, call.status, call.draft) == (row, "interrupted", "")
    assert (call.tokens_input, call.usage_measured) == (100, False)
    assert call.tokens_output == 6
    assert call.cost == (100 * 3 + 6 * 15) / Decimal(1_000_000)
    assert "server stopped" in call.error
    turn.refresh_from_db()
    assert (turn.status, turn.last_seq) == (Turn.Status.INTERRUPTED, row.seq)
    assert "server stopped" in turn.error


def test_pieces_of_an_answer_are_put_together(conversation: Conversation) -> None:
    """Each from where it differs from those before it; then they are gone."""
    call = call_of(elsewhere(ask(conversation)))
    whole = json.dumps([wrote(WORDS)])
    cut = whole.index(WORDS) + 5
    for at, text in ((0, f'{whole[:cut]}"}}]'), (cut, whole[cut:])):
        call.pieces.create(at=at, text=text)
    crash_recovery.recover()
    assert last(conversation).content[0]["text"] == WORDS
    assert not call.pieces.exists()


def test_what_the_provider_reported_is_taken_at_its_word(conversation: Conversation) -> None:
    """Only what it did not report is estimated; a call that was only begun leaves no message."""
    turn = elsewhere(ask(conversation))
    call = call_of(
        turn,
        {"type": "thinking", "text": ""},
        tokens_input=40,
        tokens_cache_read=7,
        tokens_output=1,
    )
    crash_recovery.recover()
    call.refresh_from_db()
    assert (call.tokens_input, call.tokens_cache_read, call.tokens_output) == (40, 7, 1)
    assert last(conversation).role == "user"


THOUGHT = {"type": "thinking", "text": "Where might it be?"}
HALF_A_CALL = {"type": "tool_use", "id": "a", "name": "read_file", "text": '{"path": "sec'}


def shown(conversation: Conversation) -> list[tuple[str, str]]:
    """Return what people see of the last message, part by part."""
    rows = row_pages.page(conversation).rows
    row = next(one for one in reversed(rows) if isinstance(one, MessageRow))
    assert row.role == "assistant"
    return [(getattr(part, "label", ""), getattr(part, "text", "")) for part in row.parts]


def test_thinking_and_half_a_call_are_shown_and_not_sent(conversation: Conversation) -> None:
    """The model is sent the words between them: the rest is signed, or complete, or nothing."""
    turn = elsewhere(ask(conversation))
    call = call_of(turn, THOUGHT, wrote(WORDS), HALF_A_CALL)
    crash_recovery.recover()
    call.refresh_from_db()
    assert message_store.to_engine(last(conversation)).content == (condense.TextBlock(WORDS),)
    written = sum(len(block["text"]) for block in (THOUGHT, wrote(WORDS), HALF_A_CALL))
    assert call.tokens_output > 6
    assert len(call.draft) > written
    thought, words, half = shown(conversation)
    assert (thought, words) == (("", THOUGHT["text"]), ("", ""))
    label = "The model was still writing a call of read_file. It never ran."
    assert half == (label, HALF_A_CALL["text"])


@pytest.mark.parametrize("block", [THOUGHT, HALF_A_CALL])
@pytest.mark.parametrize("how", [go_on, retry])
def test_a_turn_is_taken_up_of_which_only_people_see_something(
    conversation: Conversation, block: dict[str, str], how: Callable[[Conversation], Turn]
) -> None:
    """There is nothing to go on from: the model is asked the same again, and nothing else."""
    turn = elsewhere(ask(conversation))
    call_of(turn, block)
    crash_recovery.recover()
    assert [text for _, text in shown(conversation)] == [block["text"]]
    (row,) = [row for row in row_pages.page(conversation).rows if isinstance(row, TurnRow)]
    assert row.commands == ("turn.continue", "turn.retry")
    taken_up = how(conversation)
    sent = condense.shape_request(message_store.read_effective(conversation.pk))
    assert [(message.role, message.text) for message in sent] == [("user", "Why?")]
    end(taken_up, "The end.")


def test_each_tool_call_is_answered_with_what_is_known(conversation: Conversation) -> None:
    """One has a result, one may have run, one was not begun; the texts are kept once.

    A result of an earlier step answers no later call, also where a model uses the same id again.
    """
    turn, now = elsewhere(ask(conversation)), timezone.now()
    ToolRun.objects.create(turn=turn, call_id="waiting", name="x", finished_at=now)
    names = ("done", "begun", "waiting")
    calls = tuple(condense.ToolUseBlock(name, "read_file", {}) for name in names)
    reply = condense.Message(role="assistant", content=calls)
    message_store.append_message(conversation.pk, reply, tokens=5, turn=turn)
    now = timezone.now()
    ToolRun.objects.create(turn=turn, call_id="done", name="x", text="42", finished_at=now)
    ToolRun.objects.create(turn=turn, call_id="begun", name="x")
    crash_recovery.recover()
    told = results(conversation)
    assert told["done"] == "42"
    assert told["begun"] == condense.INTERRUPTED
    assert "may have run" in told["begun"]
    assert told["waiting"].startswith("Not run")
    assert not ToolRun.objects.exclude(text="").exists()


def test_a_turn_whose_answer_is_whole_came_to_its_end(conversation: Conversation) -> None:
    """There is nothing to continue or to try again."""
    turn = elsewhere(ask(conversation))
    reply = condense.Message(role="assistant", content=(condense.TextBlock("All of it."),))
    message_store.append_message(
        conversation.pk, reply, tokens=5, turn=turn, stop_reason="end_turn"
    )
    assert crash_recovery.recover().closed == {conversation.pk}
    turn.refresh_from_db()
    assert (turn.status, turn.error, turn.last_seq) == (Turn.Status.SUCCEEDED, "", 2)


def test_an_attempt_to_condense_is_closed_with_its_cost(conversation: Conversation) -> None:
    """Its open call is estimated from what was to be condensed; no summary is made of it."""
    begun = turns_without_message.open_condensing(conversation=conversation, nonce=uuid.uuid4())
    assert begun
    turn = elsewhere(begun)
    attempt = Condensation.objects.create(
        conversation=conversation,
        turn=turn,
        at_seq=0,
        kind="condensed",
        threshold=1,
        context_window=1,
        allowed=1,
        tokens_before=1_000,
        tokens_before_measured=False,
    )
    call_of(turn, wrote(WORDS), purpose="summary", condensation=attempt, tokens_estimated=None)
    crash_recovery.recover()
    attempt.refresh_from_db()
    assert (attempt.status, attempt.cost_measured) == ("failed", False)
    assert attempt.cost == (1_000 * 3 + 6 * 15) / Decimal(1_000_000)
    assert not conversation.messages.exists()


def test_what_a_process_works_on_that_lives_is_left_alone(conversation: Conversation) -> None:
    """Here or elsewhere, however long it takes; a process that gave a sign again lives."""
    mine = ask(conversation)
    assert crash_recovery.recover().found == 0
    elsewhere(mine)
    live_elsewhere()
    assert crash_recovery.recover().found == 0
    Process.objects.all().delete()
    assert crash_recovery.recover().closed == {conversation.pk}


def test_a_turn_whose_record_is_damaged_is_looked_at_again(conversation: Conversation) -> None:
    """What was closed or taken over with it is not forgotten for that."""
    call_of(elsewhere(ask(conversation)))
    ModelCall.objects.update(draft="7")
    for _ in range(2):
        done = crash_recovery.recover()
        assert (done.found, done.closed) == (1, set())


def test_a_sign_of_life_at_the_last_moment_keeps_a_turn(conversation: Conversation) -> None:
    """Its process was silent when those that are left were looked for."""
    turn = elsewhere(ask(conversation))

    def revive(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if 'FROM "chatapp_conversation"' in sql and not Process.objects.exists():
            live_elsewhere()
        return execute(sql, *rest)

    with connection.execute_wrapper(revive):
        done = crash_recovery.recover()
    assert (done.found, done.closed) == (1, set())
    turn.refresh_from_db()
    assert not turn.is_over


def test_a_turn_of_this_process_that_it_does_not_run_is_ended(conversation: Conversation) -> None:
    """Its end could not be saved."""
    looked, turn = timezone.now(), ask(conversation)
    assert crash_recovery.close_unsaved([turn.pk]) == set()
    assert crash_recovery.close_unsaved([], conversation, looked) == set()
    assert crash_recovery.close_unsaved([], conversation) == {conversation.pk}
    assert crash_recovery.close_unsaved([]) == set()
    turn.refresh_from_db()
    assert "could not be saved" in turn.error


def test_turns_of_an_ended_process_are_closed_in_pieces(
    alice: User, django_assert_num_queries: object
) -> None:
    """Pages see the first ones soon, and the process does something else in between."""
    for _ in range(3):
        elsewhere(ask(conversations.start_conversation(owner=alice)))
    first, second, third = (crash_recovery.recover(2) for _ in range(3))
    assert [len(one.closed) for one in (first, second, third)] == [2, 1, 0]
    assert not first.closed & second.closed
    assert not Turn.objects.unfinished().exists()


@pytest.mark.postgresql("SQLite locks no rows")
@pytest.mark.django_db(transaction=True)
def test_what_somebody_has_locked_keeps_no_other_turn_from_being_closed(alice: User) -> None:
    """It is closed later."""
    held, free = (conversations.start_conversation(owner=alice) for _ in range(2))
    for one in (held, free):
        elsewhere(ask(one))
    hold = partial(Conversation.objects.select_for_update().get, pk=held.pk)
    _row, done = beside(hold, crash_recovery.recover)
    assert done.closed == {free.pk}
    assert crash_recovery.recover().closed == {held.pk}


def test_a_process_takes_over_what_waits_in_another_that_is_gone(
    conversation: Conversation,
) -> None:
    """It goes on waiting here."""
    turn = elsewhere(ask(conversation), status=Turn.Status.WAITING)
    (run,) = crash_recovery.recover().taken
    assert (run.turn, run.turn.owner, run.turn.attempt) == (turn, this_process(), 2)
    assert crash_recovery.recover().found == 0


def test_a_damaged_draft_keeps_no_call_open(conversation: Conversation) -> None:
    """Neither its turn nor a call for a title, which a start closes before any turn begins."""
    turn = ask(conversation)
    for columns in ({"turn": turn}, {"purpose": "title"}):
        call = ModelCall.objects.create(conversation=conversation, **columns)
        call.pieces.create(at=0, text="[damaged")
    elsewhere(turn)
    assert crash_recovery.recover().closed == {conversation.pk}
    crash_recovery.close_left()
    assert {one.status for one in ModelCall.objects.all()} == {ModelCall.Status.INTERRUPTED}
