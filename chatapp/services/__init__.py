"""Writes over several models; each is one transaction and refuses with a sentence for people.

``accounts``       the owner, sign-in links, profiles and preferences
``conversations``  starting, naming, deleting; the life of a turn
``attachments``    files that go with a message, until it is sent
``uploads``        what such a file is, told from its bytes
``commands``       what a person can type after a slash
``leftovers``      what a turn left open when it ended
``again``          a turn without a new message: tried again, continued, answered anew
``forks``          a conversation that goes on twice from one place
``files``          the files of a workspace, put in and taken out
``queue``          messages that wait for what runs
``questions``      what a person says to a question
``reviews``        what a person says to a summary before it is applied
``servers``        MCP servers: saved, tried, removed
``tokens``         tokens for the API
``shares``         links to read a conversation
``shelves``        pinning, folders and the archive
``workspaces``     the folders that a user's conversations may read
``history``        going back: rewind, undo, and what a rewind would hide
``condensations``  undo and redo of one, and a fact of it told again
``locks``          what all that changes a context begins with
``pins``           what the model keeps word for word
``what_if``        settings that were tried, put in force
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
from chatapp.services.attachments import NOTHING, Brought, attach_file, find_attachments
from chatapp.services.commands import (
    BUILT_IN,
    RESERVED,
    begin_again,
    directive_in,
    is_built_in,
    mentioned_in,
    missing_from,
    own_commands,
    saved_commands,
)
from chatapp.services.condensations import (
    Undo,
    list_hidden,
    preview_undo,
    put_back,
    redo_condensation,
    undo_condensation,
)
from chatapp.services.conversations import (
    check_message,
    decide,
    delete_conversation,
    name_conversation,
    rename_conversation,
    restore_conversation,
    start_conversation,
)
from chatapp.services.errors import Refused, Unclear, is_unwritable, not_saved, saving
from chatapp.services.files import (
    MAX_BYTES,
    MAX_LISTED,
    import_files,
    list_workspace,
    pack_workspace,
    too_much,
)
from chatapp.services.forks import fork_conversation
from chatapp.services.history import (
    Preview,
    files_to_bring_back,
    preview_rewind,
    rewind_conversation,
    switch_version,
    undo_rewind,
)
from chatapp.services.leftovers import close_left, has_unfinished
from chatapp.services.pins import (
    LONGEST_RULE,
    adopt_rules,
    pin_message,
    pin_rule,
    pin_selection,
    unpin_message,
    what_pins_take,
)
from chatapp.services.questions import ANSWER, answer_question
from chatapp.services.queue import (
    change_queued,
    find_queued,
    list_queued,
    queue_message,
    remove_queued,
    send_queued,
    was_queued,
)
from chatapp.services.reviews import answer_review, edited_reduction, hold_review
from chatapp.services.samples import SAMPLES
from chatapp.services.servers import remove_server, save_server, try_server
from chatapp.services.shares import find_shared, share_conversation, stop_sharing
from chatapp.services.shelves import move_conversation, place_conversation, rename_folder
from chatapp.services.tokens import create_api_token, holder_of_api_token
from chatapp.services.turns import (
    busy_with,
    close_interrupted,
    finish_turn,
    is_known,
    keep_alive,
    start_condensing,
    start_turn,
    take_over_waiting,
)
from chatapp.services.uploads import block_for, clean_name
from chatapp.services.what_if import use_variant
from chatapp.services.workspaces import choose_workspace

__all__ = [
    "ANSWER",
    "BUILT_IN",
    "LONGEST_RULE",
    "MAX_BYTES",
    "MAX_LISTED",
    "NOTHING",
    "RESERVED",
    "SAMPLES",
    "Brought",
    "Preview",
    "Refused",
    "Unclear",
    "Undo",
    "add_local_profile",
    "adopt_rules",
    "answer_question",
    "answer_review",
    "attach_file",
    "begin_again",
    "block_for",
    "busy_with",
    "change_queued",
    "check_message",
    "choose_workspace",
    "clean_name",
    "close_interrupted",
    "close_left",
    "continue_turn",
    "create_api_token",
    "create_sign_in_token",
    "decide",
    "delete_conversation",
    "directive_in",
    "edited_reduction",
    "files_to_bring_back",
    "find_attachments",
    "find_queued",
    "find_shared",
    "finish_turn",
    "fork_conversation",
    "has_loose_end",
    "has_unfinished",
    "hold_review",
    "holder_of_api_token",
    "holder_of_sign_in_token",
    "import_files",
    "is_alone",
    "is_built_in",
    "is_known",
    "is_unwritable",
    "keep_alive",
    "list_hidden",
    "list_queued",
    "list_workspace",
    "may_look_around",
    "mentioned_in",
    "missing_from",
    "move_conversation",
    "name_conversation",
    "not_saved",
    "note_look_around",
    "own_commands",
    "pack_workspace",
    "pin_message",
    "pin_rule",
    "pin_selection",
    "place_conversation",
    "preferences_of",
    "prepare_owner",
    "preview_rewind",
    "preview_undo",
    "put_back",
    "queue_message",
    "redeem_sign_in_token",
    "redo_condensation",
    "regenerate_answer",
    "remove_queued",
    "remove_server",
    "rename_conversation",
    "rename_folder",
    "restore_conversation",
    "retry_turn",
    "rewind_conversation",
    "save_server",
    "saved_commands",
    "saving",
    "send_queued",
    "share_conversation",
    "start_condensing",
    "start_conversation",
    "start_turn",
    "stop_sharing",
    "switch_version",
    "take_over_waiting",
    "take_up",
    "too_much",
    "try_server",
    "undo_condensation",
    "undo_rewind",
    "unpin_message",
    "use_variant",
    "was_queued",
    "what_pins_take",
]
