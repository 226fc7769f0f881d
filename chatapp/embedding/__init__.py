"""Embedding: what messages mean, as vectors that are made in the background and searched."""
