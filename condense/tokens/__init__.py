"""Tokens: counters of what a content takes, and what they are made of."""
