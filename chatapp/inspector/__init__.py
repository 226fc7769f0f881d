"""The inspector: what the model sees and saw, the parts of a request with what each takes."""
