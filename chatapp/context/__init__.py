"""The model's context: how large it is, what is allowed, how it is made smaller, and the record."""
