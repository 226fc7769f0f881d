"""Texts in pieces, as they arrive."""

import itertools


def pieces(text: str, cuts: list[int]) -> list[str]:
    """Return the text cut at these places."""
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    return [text[a:b] for a, b in itertools.pairwise(places)]
