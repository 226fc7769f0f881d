"""When and how a conversation is condensed, and the record of each condensation."""
