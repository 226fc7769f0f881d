"""Recorded views and truncations: the model sees here what it sees in Roo."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from condense.history.boundaries import safe_cuts, unread_tail
from condense.history.effective_history import (
    InForce,
    effective_history,
    messages_since_last_summary,
)
from condense.history.tags import plan_truncation, truncate
from condense.messages import Message
from tests.condense.roo import Case, Deviation, assert_same, each, expected, messages, said


def has_a_vague_summary_flag(case: Case) -> bool:
    """Whether a stored ``isSummary`` is truthy without being true."""
    flags = [data.get("isSummary") for data in case["input"]["messages"]]
    return any(flag and flag is not True for flag in flags)


def no_summary(answer: Callable[[Case], Any]) -> Deviation:
    """Return the rule that `isSummary: 1` is none, on which Roo's functions disagree."""
    return Deviation("A summary here is one or is none.", has_a_vague_summary_flag, answer)


VAGUE_SUMMARY = no_summary(lambda case: said(messages(case["input"]["messages"])))
VAGUE_PARENT = no_summary(lambda case: [False for _ in case["input"]["messages"]])


@each("getEffectiveApiHistory")
def test_the_effective_history_is_roos(case: Case) -> None:
    """The last summary and what follows, or all that nothing in force hides."""
    given = messages(case["input"]["messages"])
    roos = expected(case["output"]["messages"], given)
    assert_same(case, said(effective_history(given)), said(roos), [VAGUE_SUMMARY])


@each("getMessagesSinceLastSummary")
def test_the_messages_since_the_last_summary_are_roos(case: Case) -> None:
    """From the last summary on, whatever hides them."""
    given = messages(case["input"]["messages"])
    roos = expected(case["output"]["messages"], given)
    assert_same(case, said(messages_since_last_summary(given)), said(roos), [VAGUE_SUMMARY])


@each("cleanupAfterTruncation")
def test_a_parent_counts_exactly_where_roo_would_keep_it(case: Case) -> None:
    """Roo erases a dangling parent; here it stays on record and simply hides nothing."""
    given = messages(case["input"]["messages"])
    in_force = InForce.of(given)
    roos = expected(case["output"]["messages"], given)
    kept = [item.tags.condense_parent or item.tags.truncation_parent for item in roos]
    assert_same(
        case, [in_force.hide(m) for m in given], [k is not None for k in kept], [VAGUE_PARENT]
    )


def counted_by_roo(given: tuple[Message, ...]) -> list[str]:
    """Return which messages Roo takes for visible when it truncates."""
    return [item.id for item in given if item.tags.truncation_parent is None and not item.is_marker]


def counts_what_is_not_seen(case: Case) -> bool:
    """Whether Roo counts other messages than the model sees."""
    given = messages(case["input"]["messages"])
    return [item.id for item in effective_history(given)] != counted_by_roo(given)


def would_split_a_pair(case: Case) -> bool:
    """Whether one of Roo's two cuts parts a tool call from its result."""
    cuts = safe_cuts(effective_history(messages(case["input"]["messages"])))
    return not {1, 1 + case["output"]["messagesRemoved"]} <= set(cuts)


def hidden_by_the_rule(effective: Sequence[Message], fraction: float) -> list[str]:
    """Return what Roo's rule hides of what the model sees, at the nearest cuts that split no pair.

    The first message stays, and of the rest an even number goes, ``fraction`` of them at most.
    """
    count = math.floor((len(effective) - 1) * fraction)
    count -= count % 2
    cuts = safe_cuts(effective)
    start = min((cut for cut in cuts if cut >= 1), default=0)
    last = max(1 + count, unread_tail(effective))
    ends = [cut for cut in cuts if start < cut <= last] if count > 0 else []
    end = min(ends, key=lambda cut: (abs(cut - 1 - count), cut), default=start)
    return [message.id for message in effective[start:end]]


def rule_for(case: Case) -> list[str]:
    """Return what the rule hides in a recorded truncation."""
    effective = effective_history(messages(case["input"]["messages"]))
    return hidden_by_the_rule(effective, case["input"]["fracToRemove"])


TRUNCATION = [
    Deviation("Only what the model sees is counted and hidden.", counts_what_is_not_seen, rule_for),
    Deviation("A tool call stays with its result.", would_split_a_pair, rule_for),
]


def hidden_by_roo(case: Case) -> list[str]:
    """Return the ids of the messages Roo hides."""
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
    hidden = list(result.hidden)
    assert_same(case, hidden, hidden_by_roo(case), TRUNCATION)
    assert [item.id for item in plan_truncation(before, fraction)] == hidden
    assert (result.messages is given) == (result.marker is None) == (not hidden)
    if result.marker is None:
        return
    roos = [row for row in case["output"]["messages"] if not isinstance(row, int)]
    same = [row for row in roos if row.get("truncationId") == case["output"]["truncationId"]]
    said = f"[Sliding window truncation: {len(hidden)} messages hidden to reduce context]"
    agrees = same and hidden == hidden_by_roo(case)
    assert result.marker.content == (same[0]["content"] if agrees else said)
    after = [item.id for item in effective_history(result.messages)]
    assert after.index(result.marker.id) == [item.id for item in before].index(hidden[0])
