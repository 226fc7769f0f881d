"""Claude, through Anthropic's official SDK, which is imported with the first call."""
