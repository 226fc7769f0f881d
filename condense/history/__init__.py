"""Condense, truncate, clear, rewind, undo and redo as tags on messages that are never removed.

A summary or marker stands after the last message it hides, and is *in force* until it is undone
or rewound. Every operation returns a new history; :func:`effective_history` derives the view.
"""

from condense.history.effective import (
    InForce,
    clear_results,
    effective_history,
    messages_since_last_summary,
)
from condense.history.rewind import rewind, undo_rewind
from condense.history.tags import (
    TRUNCATION_TEXT,
    Truncation,
    hide_behind,
    plan_truncation,
    redo,
    replace_hidden,
    truncate,
    undo,
)

__all__ = [
    "TRUNCATION_TEXT",
    "InForce",
    "Truncation",
    "clear_results",
    "effective_history",
    "hide_behind",
    "messages_since_last_summary",
    "plan_truncation",
    "redo",
    "replace_hidden",
    "rewind",
    "truncate",
    "undo",
    "undo_rewind",
]
