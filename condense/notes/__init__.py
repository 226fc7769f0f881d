"""Notes: facts of the hidden part of a conversation, taken without a model.

``gather`` reads messages into a ledger, ``ledger`` gives it as the text block that stands beside or
instead of a summary, and ``parse_ledger`` reads that text again, so a later condensation carries
the facts on as they are.
"""
