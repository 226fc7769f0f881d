"""Recall: hidden passages that a message needs are found, and sent with it."""
