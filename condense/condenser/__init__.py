"""Condensers: the strategies that a run may try, each attempt on record, and hooks around it."""
