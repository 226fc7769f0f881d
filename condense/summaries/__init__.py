"""Summaries as a model writes them: in one call that the cache pays for, a plain one, or many."""
