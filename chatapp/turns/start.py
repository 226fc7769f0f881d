"""The start of a run: its input, read from the rows and settings as they are now."""

import uuid
from collections.abc import Iterator
from dataclasses import replace

from django.db import transaction
from django.utils.translation import gettext as _

import condense
from chatapp import errors
from chatapp.accounts import accounts
from chatapp.composer import attachments
from chatapp.condensation import cost_forecast
from chatapp.context.condense_requests import Scope, Wish, find_chosen
from chatapp.context.environment_details import describe_surroundings
from chatapp.context.turn_context import Run, Terms
from chatapp.live.context_bar import forecast
from chatapp.models import Conversation, Turn, message_store
from chatapp.turns import lifecycle, message_queue


def read_run(
    conversation: Conversation,
    *,
    turn: Turn,
    wish: Wish | None = None,
) -> Run:
    """Return what a run works with; raise services.Refused where it can't."""
    fresh = message_store.read_conversation(conversation.pk)
    if fresh.deleted_at:
        raise errors.Refused(_("This conversation was deleted."))
    if fresh.profile is None:
        raise errors.Refused(_("This conversation has no profile. Choose one in its header."))
    preferences = accounts.preferences_of(fresh.owner)
    run = Run(conversation=fresh, profile=fresh.profile, preferences=preferences, turn=turn)
    if wish is None:
        return run
    return replace(
        run,
        focus=wish.focus,
        reviews=wish.review,
        scope=wish.scope,
        while_idle=wish.while_idle,
    )


def read_terms(conversation_id: uuid.UUID) -> Terms | None:
    """Return what a conversation's next turn would work with, None without a profile."""
    fresh = message_store.read_conversation(conversation_id)
    if fresh.profile is None:
        return None
    preferences = accounts.preferences_of(fresh.owner)
    return Terms(conversation=fresh, profile=fresh.profile, preferences=preferences)


@transaction.atomic
def start_queued(
    conversation: Conversation, nonce: uuid.UUID | None, brought: attachments.Brought, zone: str
) -> tuple[Run, condense.Message] | None:
    """Open the turn of a message that waits, the next one unless named; None without any.

    Raises services.Refused where it can't begin.
    """
    around = describe_surroundings(message_store.read_conversation(conversation.pk), zone)
    started = message_queue.send_queued(conversation, nonce, brought, surroundings=around)
    return (read_run(conversation, turn=started[0]), started[1]) if started else None


@transaction.atomic
def start_condensing(conversation: Conversation, wish: Wish) -> Run | None:
    """Open the turn of a condensation by hand; None where it was asked for before.

    Raises services.Refused where it can't begin.
    """
    turn = lifecycle.start_condensing(conversation=conversation, nonce=wish.nonce)
    if turn is None:
        return None
    check_condensing(conversation, wish.scope)
    return read_run(conversation, turn=turn, wish=wish)


def start_idle(conversation_id: uuid.UUID) -> Run | None:
    """Open the turn of a condensation while nobody says anything, None where that is not cheaper.

    Raises services.Refused where it can't begin.
    """
    terms = read_terms(conversation_id)
    if terms is None or not cost_forecast.is_cheaper(
        terms, message_store.read_effective(conversation_id)
    ):
        return None
    return start_condensing(terms.conversation, Wish(uuid.uuid4(), while_idle=True))


def check_condensing(conversation: Conversation, scope: Scope | None = None) -> None:
    """Raise services.Refused where nothing can be condensed; else it is not put off any more.

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


@transaction.atomic
def take_over() -> list[Run]:
    """Return the runs of turns that wait for a person, and whose process is gone."""
    return list(_runs())


def _runs() -> Iterator[Run]:
    for turn in lifecycle.take_over_waiting():
        try:
            yield read_run(turn.conversation, turn=turn)
        except errors.Refused as reason:
            lifecycle.finish_turn(turn=turn, status=Turn.Status.INTERRUPTED, error=str(reason))
