"""Turns of a new message: both are stored at once."""

from django.utils import timezone

import condense
from chatapp.agent.annotated_blocks import environment_block, forgotten_by, names_of
from chatapp.conversations import forgotten_passages
from chatapp.conversations.composer.attachments import (
    Expansion,
    attached_to,
    check_sight,
    take_attachments,
)
from chatapp.conversations.context import sizes
from chatapp.conversations.context.turn_context import TurnContext, describe_surroundings, read_run
from chatapp.conversations.conversations import check_message, title_of
from chatapp.conversations.rewind import set_message_aside
from chatapp.conversations.toolbox.history_search import (
    StoredRecall,
    shown_passages,
    with_subject,
)
from chatapp.models import Conversation, Preferences, message_store
from chatapp.models.accounts import preferences_of
from chatapp.models.database import insert, together
from chatapp.models.errors import IndexDamaged
from chatapp.page.live.incoming_frames import SendMessage
from chatapp.project.sentences import zone_named
from chatapp.turns.lifecycle import busy, locked_for_new_turn, new_turn


def start_message(
    conversation: Conversation, command: SendMessage, expanded: Expansion
) -> TurnContext | None:
    """Store a message and open its turn; return None if its nonce is known.

    The expansion of its text becomes part of the message; so do attachments, surroundings and
    recalled passages. An earlier message that it ``replaces`` is set aside as a version. The title
    comes from the first message. Raises Refused if it can't begin.
    """
    text, replaces = command.text, command.replaces
    with locked_for_new_turn(conversation, command.nonce) as locked:
        if locked is None:
            return None
        if command.queued and locked.has_queued:
            raise busy()
        if expanded.blocks:
            check_sight(locked.profile, expanded.blocks)
        beside = attached_to(locked, replaces, command.drops) if replaces is not None else []
        if command.attachments:
            beside += take_attachments(locked, command.attachments)
        check_message(text, alone=not beside)
        preferences = preferences_of(locked.owner, locked.preferences)
        surroundings = describe_surroundings(locked, command.zone, preferences)
        if replaces is not None:
            set_message_aside(locked, replaces)
        seq = locked.last_seq + 1
        turn = new_turn(locked, command.nonce, question_seq=seq, zone=command.zone)
        blocks = [block for block, _tokens in beside]
        words = (condense.TextBlock(text),) if text.strip() else ()
        forgets = forgotten_passages.block_for(locked, text)
        is_forgetting = any(forgotten_by([one.to_api() for one in forgets]))
        # A request to forget without a match recalls passages it may mean, each with a button.
        until = locked.last_seq if forgets else None
        recalls = () if is_forgetting else _recall(locked, preferences, command, until)
        around = (*forgets, *recalls)
        if surroundings:
            around = (environment_block(surroundings), *around)
        message = condense.Message("user", (*around, *words, *expanded.blocks, *blocks))
        tokens = expanded.tokens + sizes.COUNTER.count(around) + sum([more for _, more in beside])
        title = "" if locked.title or is_forgetting else title_of(message.words or names_of(blocks))
        key, columns = locked.next_message, {"tokens": tokens, "turn": turn}
        row = message_store.new_row(locked.pk, message, seq, key, **columns)
        numbering = message_store.next_seq.query(locked.pk, title=title)
        together(insert.query(turn), numbering, *message_store.storing(row))
        if is_forgetting:
            forgotten_passages.forget(row)
        is_new = not is_forgetting and replaces is None
        own = locked if is_new else message_store.read_conversation(locked.pk)
    # An edit replaces a message: all is shown anew.
    question = message_store.to_engine(row) if replaces is None else None
    return read_run(own, turn=turn, question=question)


def _recall(
    conversation: Conversation, preferences: Preferences, command: SendMessage, until: int | None
) -> tuple[condense.TextBlock, ...]:
    """Return a block of passages that fit a new message's words, or nothing.

    They are hidden, or stand up to the position ``until``. The conversation is locked, and no query
    is made if there can be none. An error in the search adds no passages, and keeps no message from
    being sent.
    """
    own = conversation.auto_recall
    is_on = preferences.auto_recall if own is None else own
    if not (is_on and command.text.strip() and (conversation.has_hidden or until)):
        return ()
    if (profile := conversation.answering) is None:
        return ()
    asked = command.text if until else with_subject(conversation, command.text)
    try:
        with timezone.override(zone_named(command.zone)):
            found = StoredRecall(conversation.pk, until)(asked, condense.MOST_PASSAGES)
    except IndexDamaged:
        return ()
    limit = condense.token_limit(profile.context_window, preferences.recall_tokens)
    # To be forgotten, a passage is named again.
    shown = shown_passages(conversation) if found and not until else ()
    block = condense.recalled_block(found, counter=sizes.COUNTER, limit=limit, shown=shown)
    return (block,) if block else ()
