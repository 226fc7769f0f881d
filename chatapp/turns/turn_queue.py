"""The queue of turns: what was put on record runs in this process, or in a worker's."""

from collections.abc import Callable
from functools import partial

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import transaction

from chatapp.agent.async_tasks import finish
from chatapp.context.turn_context import TurnContext
from chatapp.live.channel import channel
from chatapp.live.hints import TurnOpened
from chatapp.turns.lifecycle import enqueue_turn
from chatapp.turns.running_turns import running_turns

Store = Callable[[], TurnContext | None]


async def begin(store: Store) -> TurnContext | None:
    """Have the turn run that ``store`` puts on record, and return it; None where it does not.

    Raises Refused where it can't begin.
    """
    async with running_turns.beginning():
        # What is on record has to run, whether or not somebody still waits for it.
        return await finish(sync_to_async(open_and_enqueue)(store))


def open_and_enqueue(store: Store) -> TurnContext | None:
    """Put a turn on record, and in the queue, with one commit."""
    run = None
    try:
        with transaction.atomic():
            if run := store():
                _enqueue(run)
    except BaseException:
        if run:
            running_turns.forget(run)
        raise
    return run


def _enqueue(run: TurnContext) -> None:
    if settings.CLUSTER:
        enqueue_turn(run.turn)
    else:
        running_turns.expect(run)
        transaction.on_commit(partial(running_turns.start_soon, run))
    question = run.question.seq if run.question else 0
    opened = TurnOpened(run.conversation.pk, run.turn.pk, question)
    transaction.on_commit(partial(channel.tell, opened))
