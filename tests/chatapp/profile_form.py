"""The form of a profile, as a browser sends it."""

PROFILE = {
    "name": "Claude",
    "provider": "anthropic",
    "model": "claude-opus-5",
    "context_window": 200_000,
    "max_output": 8_192,
    "price_input": "5",
    "price_output": "25",
    "price_cache_read": "0.5",
    "price_cache_write": "6.25",
    "mode": "inherit",
}
