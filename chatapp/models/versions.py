"""The versions of one place: a message and its edits, or an answer and those asked for anew."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chatapp.models.rewinds import Rewind

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions that rewinds of one place, oldest first, have set aside, and the one shown.

    A version is all that was written from its start on while it was shown.
    """

    rewinds: Sequence[Rewind]

    @property
    def _openings(self) -> list[Rewind]:
        """The rewinds that made room for one more version; the others went to one that was."""
        return [one for one in self.rewinds if one.brings_back_id is None]

    @property
    def count(self) -> int:
        """The number of versions."""
        return len(self._openings) + 1

    @property
    def shown(self) -> int:
        """The number of the one that is part of the conversation."""
        return next(number for number in range(1, self.count + 1) if not self.set_aside(number))

    def set_aside(self, number: int) -> Rewind | None:
        """Return the rewind that hides a version, None for the one that is shown."""
        in_force = (one for one in self.rewinds if one.undone_at is None)
        return next((one for one in in_force if one.version == number), None)

    @property
    def start(self) -> int:
        """The lowest seq that a message of the version shown may have."""
        if self.shown == 1:
            return self._openings[0].to_seq
        return self._openings[self.shown - 2].last_seq + 1

    @property
    def is_sound(self) -> bool:
        """True if one is shown, and its beginning is known: a file may say anything."""
        try:
            return self.start > 0
        except (IndexError, StopIteration):
            return False

    def starts_at(self, seq: int) -> bool:
        """Return True if a version of an edited message begins with this message."""
        starts = [self._openings[0].to_seq, *[one.last_seq + 1 for one in self._openings]]
        return seq in starts


def versions_of(rewinds: Iterable[Rewind]) -> dict[Place, Versions]:
    """Return the versions in a conversation's rewinds, by cause and root."""
    found: defaultdict[Place, list[Rewind]] = defaultdict(list)
    for one in sorted(rewinds, key=lambda rewind: rewind.created_at):
        if one.root_seq is not None:
            found[one.cause, one.root_seq].append(one)
    return {place: Versions(one) for place, one in found.items()}


def read_versions(conversation_id: uuid.UUID) -> dict[Place, Versions]:
    """Return the versions of a conversation, in one query."""
    return versions_of(Rewind.objects.filter(conversation=conversation_id, root_seq__isnull=False))
