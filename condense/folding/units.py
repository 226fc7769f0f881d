"""Lengths in UTF-16 code units, as Roo Code counts characters."""


def units(text: str) -> int:
    """Return the length in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def first_units(text: str, count: int) -> str:
    """Return as much of the text as fits; a character is never split."""
    raw = text.encode("utf-16-le", "surrogatepass")[: 2 * count]
    return raw.decode("utf-16-le", "ignore")
