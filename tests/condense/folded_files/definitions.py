"""The definitions of a text, as they stand in a section."""

from condense.errors import Unfoldable
from condense.folded_files.signatures import read_definitions


def definitions(path: str, text: str) -> str | None:
    """Return a text's definitions, None where it has none; only the name's extension counts."""
    try:
        return read_definitions(path, text.encode(errors="replace"))
    except Unfoldable:
        return None
