"""The character limit over all sections, as Roo Code applies it, but never exceeded."""

from condense.folding.errors import Unfoldable
from condense.folding.folded import SkipReason, units

LIMIT = 50_000
# With less room left, a file and all that follow are left out.
_LEAST_ROOM = 200
_RESERVED = 100
_TRUNCATED = "\n... (truncated)"
_FRAME = "<system-reminder>\n## File Context: {path}\n{definitions}\n</system-reminder>"
_CLOSING = "</system-reminder"


class Sections:
    """Takes sections until the limit is reached; lengths are in UTF-16 code units."""

    def __init__(self, limit: int = LIMIT) -> None:
        """Start with nothing taken."""
        self.limit = limit
        self.sections: list[str] = []
        self.is_spent = False
        self._used = 0

    @property
    def characters(self) -> int:
        """The length of all sections joined by newlines."""
        return self._used + max(0, len(self.sections) - 1)

    def add(self, path: str, definitions: str) -> None:
        """Take a file's section, cut where only a part fits; raise Unfoldable where none does."""
        section = frame(path, definitions)
        if self.is_spent or self._with(section) > self.limit:
            section = self._cut(path, definitions)
        self.sections.append(section)
        self._used += units(section)

    def _with(self, section: str) -> int:
        return self._used + len(self.sections) + units(section)

    def _cut(self, path: str, definitions: str) -> str:
        spent, self.is_spent = self.is_spent, True
        room = self.limit - self._used
        overhead = self._with(frame(path, _TRUNCATED)) - self._used
        keep = room - max(_RESERVED, overhead)
        if spent or room < _LEAST_ROOM or keep <= 0:
            raise Unfoldable(SkipReason.NO_ROOM)
        return frame(path, first_units(_defused(definitions), keep) + _TRUNCATED)


def frame(path: str, definitions: str) -> str:
    """Return the section of one file."""
    name = " ".join(path.encode(errors="replace").decode().splitlines())
    return _FRAME.format(path=_defused(name), definitions=_defused(definitions))


def first_units(text: str, count: int) -> str:
    """Return as much of the text as fits; a character is never split."""
    raw = text.encode("utf-16-le", "surrogatepass")[: 2 * count]
    return raw.decode("utf-16-le", "ignore")


def _defused(text: str) -> str:
    """Keep a file from closing its own block: what it says is data."""
    return text.replace(_CLOSING, _CLOSING.replace("/", "\\/"))
