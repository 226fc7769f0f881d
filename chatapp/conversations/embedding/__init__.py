"""Embedding: vectors for the meaning of messages, made in the background and searched."""
