"""Readers of recorded conversations, one file format each."""
