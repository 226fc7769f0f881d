"""Reductions: the steps that strategies share, summaries of a part, and carried words."""
