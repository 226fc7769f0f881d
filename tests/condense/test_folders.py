"""Folders are opened step by step, and each step is closed again."""

import os
from pathlib import Path

from condense import open_folder


def _lowest_free() -> int:
    found = os.open(os.devnull, os.O_RDONLY)
    os.close(found)
    return found


def test_a_folder_that_was_open_leaves_no_descriptor(tmp_path: Path) -> None:
    """A process may have a few hundred at once."""
    before = _lowest_free()
    with open_folder(tmp_path / "made" / "on the way", make=True) as found:
        assert os.fstat(found).st_ino == (tmp_path / "made" / "on the way").stat().st_ino
    assert _lowest_free() == before
