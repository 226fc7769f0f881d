"""A stand-in without a key: it answers with what it sees, and condenses by rule."""
