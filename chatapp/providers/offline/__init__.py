"""A stand-in without a key: it answers from the messages it sees, and condenses by rule."""
