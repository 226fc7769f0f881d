"""What people ask of a turn is a row: heard once, by whichever process the turn is in."""

import uuid
from typing import Any

import pytest
from django.test import override_settings

from chatapp.conversations.context.condense_requests import (
    CondenseRequest,
    CondenseScope,
    read_request,
)
from chatapp.models import Conversation, Turn, TurnRequest
from chatapp.models.turns import claim
from chatapp.turns import crash_recovery, turns_without_message
from tests.chatapp.conftest import Say
from tests.chatapp.scripted_turns import ask, elsewhere, end

pytestmark = pytest.mark.django_db

Kind = TurnRequest.Kind


def request(asked: Turn, kind: TurnRequest.Kind = Kind.STOP, **rest: Any) -> bool:
    """Ask for something."""
    return TurnRequest.objects.ask(kind, conversation_id=asked.conversation_id, **rest)


def test_a_request_stands_while_its_turn_is_not_over(conversation: Conversation) -> None:
    """By the turn's id or nonce, or of whichever is not over; never of another."""
    turn = ask(conversation)
    assert [request(turn, turn=one) for one in (turn.pk, turn.nonce, None)] == [True] * 3
    assert not request(turn, turn=uuid.uuid4())
    assert TurnRequest.objects.filter(turn=turn).count() == 3
    end(turn)
    later = ask(conversation)
    assert not request(turn, turn=turn.pk)
    assert request(later)
    assert TurnRequest.objects.filter(turn=turn).count() == 3


def test_a_conversation_without_a_turn_is_asked_nothing(conversation: Conversation) -> None:
    """There is nothing that could hear it."""
    assert not TurnRequest.objects.ask(Kind.STOP, conversation_id=conversation.pk)


def test_the_same_request_again_is_the_same(conversation: Conversation) -> None:
    """It stands as it was, also once it was taken."""
    turn, nonce = ask(conversation), uuid.uuid4()
    assert request(turn, Kind.CONDENSE, nonce=nonce, details={"focus": "ships"})
    assert TurnRequest.objects.take([*TurnRequest.objects.all()])
    assert request(turn, Kind.CONDENSE, nonce=nonce, details={"focus": "birds"})
    row = TurnRequest.objects.get()
    assert (row.details, row.taken_at is None) == ({"focus": "ships"}, False)
    assert row.created_at <= row.taken_at


def hear() -> list[TurnRequest]:
    """Return what is asked of the turns of this process."""
    return [*TurnRequest.objects.untaken(Turn.objects.held())]


def test_a_process_hears_what_is_asked(conversation: Conversation) -> None:
    """In the order in which it was asked, until it is taken; once."""
    turn = ask(conversation)
    request(turn, Kind.CONDENSE)
    request(turn, Kind.CANCEL_CONDENSING)
    asked = hear()
    assert [one.kind for one in asked] == [Kind.CONDENSE, Kind.CANCEL_CONDENSING]
    assert TurnRequest.objects.take(asked[:1]) == asked[:1]
    assert TurnRequest.objects.take(asked) == asked[1:]
    assert TurnRequest.objects.take(asked) == TurnRequest.objects.take([]) == hear() == []


def test_a_process_hears_nothing_of_turns_that_are_not_its_own(conversation: Conversation) -> None:
    """Nor does it take what is asked of them."""
    turn = ask(conversation)
    request(turn)
    asked = [*TurnRequest.objects.untaken([turn.pk])]
    elsewhere(turn)
    assert Turn.objects.held() == {}
    assert TurnRequest.objects.take(asked) == []
    Turn.objects.update(owner=turn.owner, attempt=2)
    assert Turn.objects.held() == {turn.pk: 2}
    end(Turn.objects.get())
    assert Turn.objects.held() == {}
    assert TurnRequest.objects.take(asked) == []
    assert TurnRequest.objects.get().taken_at is None


def test_each_turn_hears_its_own_requests(conversation: Conversation) -> None:
    """And no other is heard where nothing is listened for."""
    turn = ask(conversation)
    request(turn)
    assert [*TurnRequest.objects.untaken([])] == []
    assert [*TurnRequest.objects.untaken([uuid.uuid4()])] == []
    assert [one.turn for one in TurnRequest.objects.untaken([turn.pk])] == [turn]


@pytest.mark.parametrize("claimed", [True, False])
def test_whoever_claims_a_condensation_knows_what_it_is_of(
    conversation: Conversation, say: Say, claimed: bool
) -> None:
    """And nobody else is told of it: it is what the turn was opened for."""
    for number in range(6):
        say("user" if number % 2 == 0 else "assistant", f"No. {number}")
    request = CondenseRequest(uuid.uuid4(), "ships", review=True, scope=CondenseScope(1, 2))
    with override_settings(CLUSTER=not claimed):
        run = turns_without_message.start_condensing(conversation, request)
    assert run
    assert (run.turn.owner == "", run.turn.attempt) == (not claimed, int(claimed))
    turn = claim(run.turn.pk, int(claimed))
    assert turn
    assert read_request(turn) == request
    assert hear() == []
    assert Turn.objects.asking().count() == 0
    turn.wait()
    elsewhere(turn)
    (taken,) = crash_recovery.recover().taken
    assert taken.request == request


@pytest.mark.django_db(transaction=True)
def test_what_is_refused_leaves_no_request(conversation: Conversation) -> None:
    """As of a conversation in which there is nothing to condense."""
    request = CondenseRequest(uuid.uuid4())
    with pytest.raises(turns_without_message.Refused):
        turns_without_message.start_condensing(conversation, request)
    assert (Turn.objects.count(), TurnRequest.objects.count()) == (0, 0)
