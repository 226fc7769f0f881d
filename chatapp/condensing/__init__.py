"""Condensation of conversations in the database, and the record of every attempt."""
