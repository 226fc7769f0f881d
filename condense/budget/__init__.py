"""Budgets: a window, its reserve and threshold, and the situation before a condensation."""
