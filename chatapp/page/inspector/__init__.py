"""The inspector: the parts and sizes of requests, the next one and sent ones."""
