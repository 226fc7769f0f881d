"""Rewinds as rows: whatever one of them took along is folded into one row of its own."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from chatapp.models import Rewind
from chatapp.models.versions import Place, Versions
from chatapp.transcript import labels
from chatapp.transcript.rows import RewindRow, Row


@dataclass(frozen=True, slots=True)
class Placed:
    """A row, its place in reading order, and the rewind that took it along.

    The first number of ``key`` is a position, the second one the seq it was written at, halves
    being what happened between two messages.
    """

    key: tuple[float, float]
    row: Row
    rewind: UUID | None = None


def fold(
    placed: Iterable[Placed],
    rewinds: Iterable[Rewind],
    versions: Mapping[Place, Versions],
    *,
    is_first: bool,
) -> list[Row]:
    """Return the rows in reading order, each rewind with all it hides as one row.

    It stands where the first thing that it hides was written. What the rewind hid may begin on an
    earlier page, where this is not the first one.
    """
    held: defaultdict[UUID | None, list[Placed]] = defaultdict(list)
    for one in placed:
        held[one.rewind].append(one)
    # What took another rewind along is younger than that one.
    for rewind in sorted(rewinds, key=lambda one: one.created_at):
        run = sorted(held.pop(rewind.pk, ()), key=lambda one: one.key)
        if run:
            first = min(run, key=lambda one: one.key[1])
            rest = not is_first and first.key[1] > rewind.to_seq and rewind.messages_hidden > 0
            row = _rewind_row(rewind, run, first.row, versions, rest=rest)
            held[rewind.rewind_parent].append(Placed(first.key, row, rewind.rewind_parent))
    return [one.row for one in sorted(held[None], key=lambda one: one.key)]


def _rewind_row(
    rewind: Rewind,
    run: list[Placed],
    first: Row,
    versions: Mapping[Place, Versions],
    *,
    rest: bool,
) -> RewindRow:
    known = versions.get((rewind.cause, rewind.root_seq or 0))
    return RewindRow(
        id=f"rewind-{rewind.pk}-{first.seq}" if rest else f"rewind-{rewind.pk}",
        seq=first.seq,
        position=first.position,
        rewind=rewind,
        name=_name(rewind, known),
        words=labels.seen_words(rewind),
        undoable=getattr(rewind, "is_undoable", False) and not rest,
        shown=known is not None and rewind.rewind_parent is None and not rest,
        rest=rest,
        slim=rewind.cause != Rewind.Cause.REWOUND,
        rows=tuple(one.row for one in run),
    )


def undone_row(rewind: Rewind) -> RewindRow:
    """Return the row of a rewind that was taken back: it hides nothing, and stays on record."""
    return RewindRow(
        id=f"rewind-{rewind.pk}",
        seq=rewind.last_seq,
        position=rewind.last_seq,
        rewind=rewind,
        name=labels.rewind_name(rewind),
        words=labels.seen_words(rewind),
        slim=True,
    )


def _name(rewind: Rewind, known: Versions | None) -> str:
    if known is None or rewind.version is None:
        return labels.rewind_name(rewind)
    return labels.version_name(rewind.version, known.count)
