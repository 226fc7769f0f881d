"""The observer: turns whose process is gone, by what this process itself has seen of them.

No two clocks are compared. A sign of life counts by being another one than the last.
"""

import time
import uuid
from collections.abc import Callable, Collection
from datetime import datetime

from chatapp.models import Turn
from chatapp.models.database import is_shared
from chatapp.models.turns import has_ended, this_process

# Seconds without another sign of life, after which a process is gone, wherever it was …
SILENCE = 6.0
# … which nobody is judged by for so long after a look that failed or came late …
GRACE = 2.5
# … as one does that comes so long after the one before: then others may have been kept waiting too.
LATE = 3.5

_Sign = tuple[uuid.UUID, int, datetime | None]


class Observer:
    """Looks at all unfinished turns every two seconds, and tells which are left.

    A look that fails, or comes late, is no evidence: the time until it counts for nobody.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, has_queue: bool = False
    ) -> None:
        """Begin with nothing seen; where there ``has_queue``, turns without an owner are its."""
        self._clock = clock
        self._has_queue = has_queue
        # For how many seconds each sign of life has been the newest of its turn.
        self._silent: dict[_Sign, float] = {}
        self._looked: float | None = None
        self._judges_from = 0.0
        self._left: Collection[_Sign] = ()

    def look(self) -> list[uuid.UUID]:
        """Look at the turns, and return those whose process is gone."""
        before, self._looked = self._looked, None
        turns = Turn.objects.unfinished()
        columns = turns.values_list("owner", "pk", "attempt", "heartbeat_at")
        seen = [(owner, (pk, attempt, heard)) for owner, pk, attempt, heard in columns]
        looked = self._clock()
        passed = looked - before if before is not None else LATE
        if passed >= LATE:
            passed, self._judges_from = 0.0, looked + GRACE
        silent = self._silent
        self._silent = {sign: silent.get(sign, -passed) + passed for _owner, sign in seen}
        may_judge = looked >= self._judges_from
        self._left = {
            sign for sign, seconds in self._silent.items() if may_judge and seconds >= SILENCE
        }
        self._looked = looked
        return [sign[0] for owner, sign in seen if self._is_gone(owner, sign)]

    def is_gone(self, turn: Turn) -> bool:
        """Whether a turn's process has ended, or was silent for too long when it was looked at."""
        return self._is_gone(turn.owner, (turn.pk, turn.attempt, turn.heartbeat_at))

    def _is_gone(self, owner: str, sign: _Sign) -> bool:
        if not owner:
            return not self._has_queue
        # What only one process can use is left by all others.
        if owner != this_process() and (not is_shared() or has_ended(owner)):
            return True
        return sign in self._left
