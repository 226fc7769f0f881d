"""Results of folding: the signatures of files, and a reason for each file that was left out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class FoldedFile:
    """A requested file: ``characters`` of its signatures, or a ``reason`` for none."""

    path: str
    characters: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Folded:
    """The folded files, and those left out."""

    characters: int = 0  # UTF-16 units of the joined sections, as Roo Code counts
    files: tuple[FoldedFile, ...] = ()
    left_out: tuple[FoldedFile, ...] = ()
    sections: tuple[str, ...] = ()  # one ``<system-reminder>`` a file; no record has them

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain data."""
        return {
            "characters": self.characters,
            "files": [{"path": one.path, "characters": one.characters} for one in self.files],
            "left_out": [{"path": one.path, "reason": str(one.reason)} for one in self.left_out],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the record that ``to_json`` gave."""
        files, left_out = (
            tuple([FoldedFile(**one) for one in data[name]]) for name in ("files", "left_out")
        )
        return cls(data["characters"], files, left_out)


def units(text: str) -> int:
    """Return the length in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
