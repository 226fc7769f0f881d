"""The folders that the agent works in."""
