"""Scores as a table for a terminal."""

from condense.evaluation.needs import Share
from condense.evaluation.scores import Evaluation, Score

COLUMNS = (
    "strategy",
    "needed files",
    "needed commands",
    "user messages",
    "edited files",
    "size",
    "tokens",
    "USD aligned",
    "USD flattened",
)


def format_table(result: Evaluation) -> str:
    """Return the table, one line for each strategy, and what its columns mean."""
    rows = [COLUMNS, *(_row(name, score) for name, score in result.scores.items())]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = ["  ".join(_aligned(row, widths)).rstrip() for row in rows]
    return "\n".join((f"{result.compactions} compactions", "", *lines, "", LEGEND))


LEGEND = (
    "Needed: used before and after the compaction; named: a substring. Size: median share of the\n"
    "text before. Tokens: of all that stands after. USD: the summary calls, with the conversation\n"
    "read from the prompt cache (aligned) or sent anew (flattened), and writing the result to the\n"
    "cache. Where a model is asked, its recorded summary stands in, or else an excerpt."
)


def _row(name: str, score: Score) -> tuple[str, ...]:
    return (
        name,
        _share(score.needed_files),
        _share(score.needed_commands),
        _share(score.user_messages),
        _share(score.edited_files),
        f"{score.size_share:.2%}",
        f"{score.tokens:,}",
        f"{score.aligned:.2f}",
        f"{score.flattened:.2f}",
    )


def _share(share: Share) -> str:
    if not share.of:
        return "-"
    return f"{share.kept}/{share.of} {share.kept / share.of:6.1%}"


def _aligned(row: tuple[str, ...], widths: list[int]) -> list[str]:
    first, *rest = (
        cell.ljust(width) if place == 0 else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return [first, *rest]
