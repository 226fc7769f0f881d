"""Writes over several models; each is one transaction and refuses with a sentence for people.

``accounts``       the owner, sign-in links, profiles and preferences
``conversations``  starting, naming, deleting; the life of a turn
``attachments``    files that go with a message, until it is sent
``uploads``        what such a file is, told from its bytes
``leftovers``      what a turn left open when it ended
``again``          a turn without a new message: tried again, continued, answered anew
``imports``        a transcript file becomes a conversation
``files``          the files of a workspace, put in and taken out
``queue``          messages that wait for what runs
``questions``      what a person says to a question
``workspaces``     the folders that a user's conversations may read
``history``        going back: rewind, undo, and what a rewind would hide
``versions``       what an edit or another answer sets aside, and showing it again
"""

from chatapp.services.accounts import (
    add_local_profile,
    create_sign_in_token,
    holder_of_sign_in_token,
    is_alone,
    may_look_around,
    note_look_around,
    preferences_of,
    prepare_owner,
    redeem_sign_in_token,
)
from chatapp.services.again import (
    continue_turn,
    has_loose_end,
    regenerate_answer,
    retry_turn,
    take_up,
)
from chatapp.services.attachments import attach_file
from chatapp.services.conversations import (
    busy_with,
    check_message,
    close_interrupted,
    decide,
    delete_conversation,
    finish_turn,
    is_known,
    keep_alive,
    rename_conversation,
    restore_conversation,
    start_condensing,
    start_conversation,
    start_turn,
    take_over_waiting,
)
from chatapp.services.errors import Refused, saving
from chatapp.services.files import MAX_LISTED, import_files, list_workspace, pack_workspace
from chatapp.services.history import (
    Preview,
    files_to_bring_back,
    list_hidden,
    preview_rewind,
    put_back,
    rewind_conversation,
    switch_version,
    undo_condensation,
    undo_rewind,
)
from chatapp.services.imports import Imported, import_conversation
from chatapp.services.leftovers import has_unfinished
from chatapp.services.questions import ANSWER, answer_question
from chatapp.services.queue import (
    change_queued,
    list_queued,
    queue_message,
    remove_queued,
    send_queued,
    was_queued,
)
from chatapp.services.samples import SAMPLES
from chatapp.services.uploads import block_for, clean_name
from chatapp.services.workspaces import choose_workspace

__all__ = [
    "ANSWER",
    "MAX_LISTED",
    "SAMPLES",
    "Imported",
    "Preview",
    "Refused",
    "add_local_profile",
    "answer_question",
    "attach_file",
    "block_for",
    "busy_with",
    "change_queued",
    "check_message",
    "choose_workspace",
    "clean_name",
    "close_interrupted",
    "continue_turn",
    "create_sign_in_token",
    "decide",
    "delete_conversation",
    "files_to_bring_back",
    "finish_turn",
    "has_loose_end",
    "has_unfinished",
    "holder_of_sign_in_token",
    "import_conversation",
    "import_files",
    "is_alone",
    "is_known",
    "keep_alive",
    "list_hidden",
    "list_queued",
    "list_workspace",
    "may_look_around",
    "note_look_around",
    "pack_workspace",
    "preferences_of",
    "prepare_owner",
    "preview_rewind",
    "put_back",
    "queue_message",
    "redeem_sign_in_token",
    "regenerate_answer",
    "remove_queued",
    "rename_conversation",
    "restore_conversation",
    "retry_turn",
    "rewind_conversation",
    "saving",
    "send_queued",
    "start_condensing",
    "start_conversation",
    "start_turn",
    "switch_version",
    "take_over_waiting",
    "take_up",
    "undo_condensation",
    "undo_rewind",
    "was_queued",
]
