"""Requests: an effective history becomes messages that the Messages API accepts."""
