"""Writes over several models; each is one transaction and refuses with a sentence for people.

``accounts``       the owner, sign-in links, profiles and preferences
``conversations``  starting, naming, deleting; the life of a turn
``imports``        a transcript file becomes a conversation
``workspaces``     the folders that a user's conversations may read
``history``        going back: rewind, undo, and what a rewind would hide
"""

from chatapp.services.accounts import (
    create_sign_in_token,
    holder_of_sign_in_token,
    preferences_of,
    prepare_owner,
    redeem_sign_in_token,
)
from chatapp.services.conversations import (
    close_interrupted,
    delete_conversation,
    finish_turn,
    rename_conversation,
    restore_conversation,
    start_conversation,
    start_turn,
)
from chatapp.services.errors import Refused, saving
from chatapp.services.history import (
    RewindPreview,
    has_undoable_rewind,
    list_hidden,
    preview_rewind,
    put_back,
    rewind_conversation,
    undo_condensation,
    undo_rewind,
)
from chatapp.services.imports import Imported, import_conversation
from chatapp.services.samples import SAMPLES
from chatapp.services.workspaces import choose_workspace

__all__ = [
    "SAMPLES",
    "Imported",
    "Refused",
    "RewindPreview",
    "choose_workspace",
    "close_interrupted",
    "create_sign_in_token",
    "delete_conversation",
    "finish_turn",
    "has_undoable_rewind",
    "holder_of_sign_in_token",
    "import_conversation",
    "list_hidden",
    "preferences_of",
    "prepare_owner",
    "preview_rewind",
    "put_back",
    "redeem_sign_in_token",
    "rename_conversation",
    "restore_conversation",
    "rewind_conversation",
    "saving",
    "start_conversation",
    "start_turn",
    "undo_condensation",
    "undo_rewind",
]
