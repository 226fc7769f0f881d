"""Recall: what is hidden and needed again is found, and stands beside the message that needs it."""
