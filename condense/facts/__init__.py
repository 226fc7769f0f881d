"""Facts: certain statements of hidden messages, kept by rule and without a model.

``ledger`` gives the facts of messages as the text that stands beside or instead of a summary,
``parse_ledger`` reads that text again, so that a later condensation carries the facts on, and
``receipt`` tells what became of each.
"""
