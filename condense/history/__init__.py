"""Histories: condense, truncate, clear, rewind, undo and redo as tags on messages that all stay.

A summary or marker stands after the last message it hides, and is *in force* until it is undone
or rewound. Every operation returns a new history; ``effective_history`` derives the view.
"""
