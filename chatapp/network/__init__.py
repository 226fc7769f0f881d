"""Calls to addresses that users choose."""
