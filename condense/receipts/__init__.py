"""Receipts: the facts that a condensation kept, can find again, or lost, told without a model."""
