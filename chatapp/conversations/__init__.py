"""Conversations and what people do with them: rewind, fork, pin, share."""
