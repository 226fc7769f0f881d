"""A turn, from a person's message to its end: start, run, queue, retry, recovery."""
