"""Turns that are taken up again: tried again, and continued."""

import pytest

from chatapp.agent.prompts import CONTINUE
from chatapp.conversations import rewind
from chatapp.models import Conversation, Message, Turn, errors
from tests.chatapp.conftest import use_tools
from tests.chatapp.scripted_turns import FAILED, STOPPED, ask, end, go_on, retry, seen


def test_a_failed_turn_is_tried_again_with_the_message_it_has(conversation: Conversation) -> None:
    """It is not sent twice, and the turn that failed stays on record."""
    failed = end(ask(conversation, "Why?"), status=FAILED)
    again = retry(conversation)
    assert seen(conversation) == ["Why?"]
    assert (again.origin, again.question_seq) == (Turn.Origin.RETRIED, failed.question_seq)
    assert Turn.objects.filter(status=FAILED, error="No luck.", rewind_parent=None).count() == 1


def test_nothing_is_tried_again_that_did_not_fail(conversation: Conversation) -> None:
    """Say, in another tab where it was done already, or what went with a rewind."""
    with pytest.raises(errors.Refused, match="nothing to try again"):
        retry(conversation)
    end(ask(conversation), "Because.")
    with pytest.raises(errors.Refused, match="nothing to try again"):
        retry(conversation)
    with pytest.raises(errors.Refused, match="nothing to continue"):
        go_on(conversation)
    assert Turn.objects.count() == 1
    failed = end(ask(conversation, "Why?"), status=FAILED)
    rewind.rewind_conversation(conversation=conversation, first_hidden_seq=failed.question_seq)
    with pytest.raises(errors.Refused, match="nothing to try again"):
        retry(conversation)


@pytest.mark.parametrize("reason", ["stopped", "error", "max_tokens"])
def test_a_cut_answer_is_continued_from_its_last_word(
    conversation: Conversation, reason: str
) -> None:
    """The model keeps what it wrote and is asked to go on."""
    end(ask(conversation, "Why?"), "Because it", stop_reason=reason)
    turn = go_on(conversation)
    assert seen(conversation) == ["Why?", "Because it", CONTINUE]
    assert turn.origin == Turn.Origin.CONTINUED
    assert Message.objects.get(seq=turn.question_seq).asks_to_continue


def test_a_turn_that_stopped_between_tools_goes_on_without_a_word(
    conversation: Conversation,
) -> None:
    """The results are there to be answered: nothing has to be said."""
    turn = ask(conversation, "Why?")
    use_tools(conversation, 1, turn=turn)
    end(turn, status=STOPPED)
    again = go_on(conversation)
    assert Message.objects.count() == 3
    assert again.question_seq == turn.question_seq
