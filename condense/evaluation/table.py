"""Scores as a table for a terminal, one column for each contender."""

from collections.abc import Callable, Mapping

from condense.evaluation.keeping import Share
from condense.evaluation.scores import Evaluation, Score

ROWS: Mapping[str, str] = {
    "needed_files": "needed files",
    "needed_commands": "needed commands",
    "edited_files": "edited files",
    "user_messages": "user messages",
    "user_characters": "user characters",
    "result_words": "user words in results",
    "next_paths": "next calls: paths",
    "next_commands": "next calls: commands",
    "next_identifiers": "next calls: identifiers",
    "next_items": "next calls: all three",
    "actions": "next calls: whole",
    "unseen": "unseen items supplied",
    "facts_of_users": "facts that users gave",
    "facts_of_replies": "facts that replies gave",
}
_FIGURES: Mapping[str, Callable[[Score], str]] = {
    "size, median": lambda score: f"{score.size_share:.2%}",
    "size, in all": lambda score: f"{score.size_in_all:.2%}",
    "tokens": lambda score: f"{score.tokens:,}",
    "USD aligned": lambda score: f"{score.aligned:.2f}",
    "USD flattened": lambda score: f"{score.flattened:.2f}",
}
LEGEND = (
    "Needed: used before and after the compaction. Next calls: what the next 20 name and the\n"
    "history held; whole: nothing of that is missing, or it was seen again since. Unseen: what no\n"
    "message before the model holds any more. Size: share of the text before. Tokens: of all that\n"
    "stands after. USD: the summary calls, with the conversation read from the prompt cache\n"
    "(aligned) or sent anew (flattened), and writing the result to the cache. Where a model is\n"
    "asked, its recorded summary stands in, or else an excerpt."
)


def format_table(result: Evaluation) -> str:
    """Return how many cuts there were, and a line for each figure that there is."""
    rows = [("", *result.scores)]
    for name, label in ROWS.items():
        shares = [getattr(score.kept, name) for score in result.scores.values()]
        if any(share.of for share in shares):
            rows.append((label, *map(_share, shares)))
    for label, figure in _FIGURES.items():
        rows.append((label, *map(figure, result.scores.values())))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(_aligned(row, widths)).rstrip() for row in rows]
    return "\n".join((f"{result.compactions} compactions", "", *lines))


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
