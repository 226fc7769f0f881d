"""Addresses that this server calls for its users, and errors on the way there."""
