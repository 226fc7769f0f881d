"""What the model is told with a request: system prompt, environment, settings, sizes."""
