"""The context of a request: system prompt, environment details, settings and sizes."""
