"""One table: what a piece of work takes, beside a floor that was measured in the same run."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass

HEAD = ("work", "here", "floor", "takes", "ratio", "at most", "")


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure in a ``unit``, and what the ``floor`` under it took in the same one.

    The ``bound`` is the most that the ratio of both may be. Only memory has no floor: it is the
    same on every machine, and its bound is one of the figure.
    """

    work: str
    here: float
    unit: str
    bound: float
    floor: str = ""
    took: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times what the floor took this takes, None without a floor."""
        return None if self.took is None else self.here / self.took

    @property
    def ok(self) -> bool:
        """Whether the bound is kept."""
        return (self.here if self.ratio is None else self.ratio) <= self.bound

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        here, took = _with_unit(self.here, self.unit), _with_unit(self.took, self.unit)
        ratio = "" if self.ratio is None else _digits(self.ratio)
        bound = _with_unit(self.bound, self.unit) if self.ratio is None else _digits(self.bound)
        return self.work, here, self.floor, took, ratio, bound, "kept" if self.ok else "MISSED"


def show(rows: Iterable[Row]) -> int:
    """Print each figure as soon as it is measured, then the table; return 0 if all are kept."""
    shown = []
    for row in rows:
        print(f"{row.work}: {row.cells[1]}", file=sys.stderr)
        shown.append(row)
    print(render(shown))
    return 0 if all(row.ok for row in shown) else 1


def _with_unit(value: float | None, unit: str) -> str:
    return "" if value is None else f"{_digits(value)} {unit}".strip()


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def render(rows: list[Row]) -> str:
    """Return the table in Markdown, its columns aligned."""
    cells = [HEAD, *(row.cells for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEAD))]
    lines = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in cells
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])
