"""Recorded views and truncations: the model sees here what it sees in Roo."""

from condense.history.effective_history import (
    InForce,
    effective_history,
    messages_since_last_summary,
)
from condense.history.tags import plan_truncation, truncate
from tests.condense.roo import Case, each, expected, messages, said


@each("getEffectiveApiHistory")
def test_the_effective_history_is_roos(case: Case) -> None:
    """The last summary and what follows, or all that nothing in force hides."""
    given = messages(case["input"]["messages"])
    roos = expected(case["output"]["messages"], given)
    assert said(effective_history(given)) == said(roos)


@each("getMessagesSinceLastSummary")
def test_the_messages_since_the_last_summary_are_roos(case: Case) -> None:
    """From the last summary on, whatever hides them."""
    given = messages(case["input"]["messages"])
    roos = expected(case["output"]["messages"], given)
    assert said(messages_since_last_summary(given)) == said(roos)


@each("cleanupAfterTruncation")
def test_a_parent_counts_exactly_where_roo_would_keep_it(case: Case) -> None:
    """Roo erases a dangling parent; here it stays on record and simply hides nothing."""
    given = messages(case["input"]["messages"])
    in_force = InForce.of(given)
    roos = expected(case["output"]["messages"], given)
    kept = [item.tags.condense_parent or item.tags.truncation_parent for item in roos]
    assert [in_force.hide(m) for m in given] == [parent is not None for parent in kept]


def hidden_by_roo(case: Case) -> list[str]:
    """Return the ids of the messages that Roo hides."""
    name, found = case["output"]["truncationId"], case["output"]["messages"]
    rows = [row for row in found if isinstance(row, int) or not row.get("isTruncationMarker")
            or row.get("truncationId") != name]  # fmt: skip
    return [str(i) for i, row in enumerate(rows)
            if not isinstance(row, int) and row.get("truncationParent") == name]  # fmt: skip


@each("truncateConversation")
def test_a_truncation_is_roos_in_what_it_hides_and_where_its_marker_stands(case: Case) -> None:
    """One that hides nothing gives the same object, and the plan is what is hidden."""
    given, fraction = messages(case["input"]["messages"]), case["input"]["fracToRemove"]
    before, result = effective_history(given), truncate(given, fraction)
    hidden, roos_hidden = list(result.hidden), hidden_by_roo(case)
    assert hidden == case["output"].get("hidden", roos_hidden)
    assert [item.id for item in plan_truncation(before, fraction)] == hidden
    assert (result.messages is given) == (result.marker is None) == (not hidden)
    if result.marker is None:
        return
    roos = [row for row in case["output"]["messages"] if not isinstance(row, int)]
    same = [row for row in roos if row.get("truncationId") == case["output"]["truncationId"]]
    said = f"[Sliding window truncation: {len(hidden)} messages hidden to reduce context]"
    agrees = same and hidden == roos_hidden
    assert result.marker.content == (same[0]["content"] if agrees else said)
    after = [item.id for item in effective_history(result.messages)]
    assert after.index(result.marker.id) == [item.id for item in before].index(hidden[0])
