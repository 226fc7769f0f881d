"""Turns that only condense: asked for by hand, or begun while nobody says anything."""

import uuid

from django.db import transaction

import condense
from chatapp import errors
from chatapp.condensation.threshold import is_cheaper
from chatapp.context.condense_requests import CondenseRequest, Scope, find_chosen
from chatapp.context.turn_context import TurnContext, read_run, read_terms
from chatapp.live.context_bar import forecast
from chatapp.models import Conversation, Turn, message_store
from chatapp.turns.lifecycle import locked_for_new_turn, open_turn


@transaction.atomic
def start_condensing(conversation: Conversation, wish: CondenseRequest) -> TurnContext | None:
    """Open the turn of a condensation by hand; None where it was asked for before.

    Raises Refused where it can't begin.
    """
    turn = open_condensing(conversation=conversation, nonce=wish.nonce)
    if turn is None:
        return None
    check_condensing(conversation, wish.scope)
    return read_run(conversation, turn=turn, wish=wish)


def start_idle(conversation_id: uuid.UUID) -> TurnContext | None:
    """Open the turn of a condensation while nobody says anything, None where that is not cheaper.

    Raises Refused where it can't begin.
    """
    terms = read_terms(conversation_id)
    if terms is None or not is_cheaper(terms, message_store.read_effective(conversation_id)):
        return None
    return start_condensing(terms.conversation, CondenseRequest(uuid.uuid4(), while_idle=True))


def check_condensing(conversation: Conversation, scope: Scope | None = None) -> None:
    """Raise Refused where nothing can be condensed; else it is not put off any more.

    What only a part is chosen of says nothing of the rest, which stays put off.
    """
    history = message_store.read_effective(conversation.pk)
    if scope is None:
        if nothing := forecast(history).nothing:
            raise errors.Refused(nothing)
        message_store.put_off(conversation, False)
        return
    try:
        find_chosen(conversation.pk, history, scope)
    except condense.NothingToCondense as reason:
        raise errors.Refused(str(reason)) from reason


def open_condensing(*, conversation: Conversation, nonce: uuid.UUID) -> Turn | None:
    """Open the turn of a condensation by hand; None when this nonce was here before.

    Refused while another runs.
    """
    with locked_for_new_turn(conversation, nonce) as locked:
        if locked is None:
            return None
        return open_turn(locked, nonce, question_seq=0, origin=Turn.Origin.CONDENSED)
