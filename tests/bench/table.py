"""One table: what a piece of work takes here, what Roo Code took, and the most it may take."""

from dataclasses import dataclass

HEAD = ("work", "Roo Code", "here", "ratio", "at most", "ok")


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure, Roo Code's ``there`` where it has one, and the ``bound`` if any.

    ``unit`` is that of all three; ``at_least`` turns the bound around, for speeds.
    """

    work: str
    here: float
    bound: float | None
    unit: str
    there: float | None = None
    at_least: bool = False

    @property
    def ok(self) -> bool:
        """Whether the figure keeps its bound."""
        if self.bound is None:
            return True
        return self.here >= self.bound if self.at_least else self.here <= self.bound

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as text; the ratio is ours to Roo Code's."""
        ratio = f"{self.here / self.there:.3g}" if self.there else ""
        sign = "≥ " if self.at_least else ""
        bound = sign + _with_unit(self.bound, self.unit) if self.bound else ""
        verdict = ("yes" if self.ok else "NO") if bound else ""
        there, here = (_with_unit(value, self.unit) for value in (self.there, self.here))
        return self.work, there, here, ratio, bound, verdict


def _with_unit(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    digits = f"{value:,.0f}" if value >= 100 else f"{value:.2g}"
    return f"{digits} {unit}".strip()


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
