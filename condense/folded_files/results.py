"""Results of folding: the signatures of files, and a reason for each file that was left out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from condense.errors import SkipReason


@dataclass(frozen=True, slots=True)
class FoldedFile:
    """A file as it was asked for: ``characters`` of its signatures, or a ``reason`` for none."""

    path: str
    characters: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Folded:
    """The signatures of some files.

    ``sections`` holds one ``<system-reminder>`` block for each path in ``included``; ``characters``
    is their length when joined by newlines, in UTF-16 code units as Roo Code counts.
    """

    sections: tuple[str, ...] = ()
    included: tuple[str, ...] = ()
    skipped: tuple[FoldedFile, ...] = ()
    characters: int = 0

    def left_out(self, reason: SkipReason) -> Self:
        """Return the record of the same files with none of them folded."""
        dropped = tuple([FoldedFile(path, reason=reason) for path in self.included])
        return type(self)(skipped=(*dropped, *self.skipped))

    def to_json(self) -> dict[str, Any]:
        """Return which files were folded and which left out as plain data, to store with a run."""
        pairs = zip(self.included, self.sections, strict=True)
        files = tuple([FoldedFile(path, units(text)) for path, text in pairs])
        return FoldingRecord(self.characters, files, self.skipped).to_json()


@dataclass(frozen=True, slots=True)
class FoldingRecord:
    """Which files were folded beside a summary, and which were left out."""

    characters: int = 0
    files: tuple[FoldedFile, ...] = ()
    left_out: tuple[FoldedFile, ...] = ()

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
