"""Automatic recall: passages of what is hidden beside a message that may need them again."""

from django.contrib.auth.models import User

import condense
from chatapp.accounts.accounts import preferences_of
from chatapp.context.sizes import COUNTER
from chatapp.models import Conversation
from chatapp.models.errors import IndexDamaged
from chatapp.toolbox.history_search import StoredRecall


def recall(conversation: Conversation, owner: User, words: str) -> tuple[condense.TextBlock, ...]:
    """Return a block of hidden passages that fit a new message's words, or nothing.

    The conversation is locked, and nothing is asked of the database where it hides nothing. What
    can't be searched is not recalled, and keeps no message from being sent.
    """
    if not conversation.has_hidden or conversation.auto_recall is False or not words.strip():
        return ()
    preferences, profile = preferences_of(owner), conversation.profile
    if profile is None or not (conversation.auto_recall or preferences.auto_recall):
        return ()
    try:
        found = StoredRecall(conversation.pk)(words, condense.MOST_PASSAGES)
    except IndexDamaged:
        return ()
    limit = condense.token_limit(profile.context_window, preferences.recall_tokens)
    block = condense.recalled_block(found, counter=COUNTER, limit=limit)
    return (block,) if block else ()
