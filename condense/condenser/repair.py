"""Whether a rejected summary is worth another call."""

from condense.errors import SummaryRejected
from condense.situation import Reduction
from condense.usage import Usage
from condense.writing.summarizer import Bill

# In tokens that are read at the full price, as most vendors price them.
WRITTEN, CACHED, CACHE_WRITTEN = 5, 0.1, 1.25


def price(usage: Usage) -> float:
    """Return what was used in tokens read at the full price."""
    return (
        usage.input
        + CACHED * usage.cache_read
        + CACHE_WRITTEN * usage.cache_write
        + WRITTEN * usage.output
    )


def pays(bill: Bill, rejected: Reduction, requests: int) -> bool:
    """Whether a repair costs less than what the repaired summary is worth.

    It costs what the first try did: it sends the same, and asks for as much. Worth is what the
    condensation spares the next ``requests``, those before another one may be due; a ledger would
    spare them as much, but what it does not say is then read again, at most once in each.
    """
    before, after = rejected.tokens_before.value, rejected.tokens_after.value
    return price(bill.usage) < requests * (before - after)


def rejection(made: Reduction) -> SummaryRejected:
    """Return the error that says what a summary is rejected for, with all of its text."""
    issues = lacking(made)
    said = f"The summary was rejected: {issues[0]}"
    return SummaryRejected(said, details="\n".join((*issues, "", made.summary)))


def lacking(made: Reduction) -> tuple[str, ...]:
    """Return what a reduction is rejected for, one sentence each."""
    rejecting = (verdict for verdict in made.verdicts if verdict.rejects)
    return tuple(
        issue
        for verdict in rejecting
        for issue in (verdict.issues or (f"{verdict.name} rejects it",))
    )
