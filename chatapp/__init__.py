"""The web application: conversations with an agent whose context is condensed, never lost."""
