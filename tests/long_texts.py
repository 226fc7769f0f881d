"""Long messages of a known size."""


def filler(tokens: int) -> str:
    """Return a text of so many tokens that states nothing.

    Numbers would do, but each is looked up as a fact: reading them takes three times as long.
    """
    return " ".join(["a"] * tokens)
