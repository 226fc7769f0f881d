"""Budgets: a window, its reserve and threshold, and what a condensation starts from."""
