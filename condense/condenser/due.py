"""The decision whether a condensation is due: the one place that makes it."""

from collections.abc import Sequence
from dataclasses import dataclass

from condense.budget.situation import Gauge, Situation
from condense.errors import NothingToCondense
from condense.history.boundaries import require_enough, unread_tail
from condense.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What holds for every conversation of a condenser; shares are of one, sizes in tokens.

    A window under ``small_window`` has no room for a summary beside the work, so it is truncated.
    Each rung must lower the effective history by ``least_progress`` (OpenHands demands as much).
    An automatic run asks the model again only after ``distance_messages`` new messages (as in Roo
    Code) that take ``distance_share`` of the window, so that a floor above the threshold costs no
    call in every turn.
    """

    small_window: int = 8_000
    least_progress: float = 0.1
    distance_messages: int = 2
    distance_share: float = 0.05


def is_due(
    situation: Situation, policy: Policy, gauge: Gauge, *, answer: bool | None = None
) -> bool:
    """Return whether to try anything now.

    A context that somebody wants smaller, or that is too large, always is. Otherwise the
    threshold decides, or the ``answer`` of a hook in its place. What is due has to have news.
    """
    reason = situation.reason
    if reason not in {"threshold", None}:
        return True
    wanted = answer
    if answer is None:
        by_threshold = reason == "threshold" and situation.may_ask
        wanted = by_threshold and has_come_far(situation, policy, gauge)
    return bool(wanted) and _has_news(situation.effective)


def has_come_far(situation: Situation, policy: Policy, gauge: Gauge) -> bool:
    """Whether enough has come since the last condensation to try another one unasked."""
    effective, since = situation.effective, situation.condensed_at
    made = [i for i, one in enumerate(effective) if one.is_summary or one.tags.clear_id]
    if not made and not since:
        return True
    since = max(since, *(effective[index].seq for index in made), 0)
    # A history that was never stored has no numbers: there, what follows is what is new.
    new = [m for m in effective if m.seq > since] if since else effective[made[-1] + 1 :]
    new = [m for m in new if not (m.is_summary or m.is_marker)]
    tokens = gauge.size(new) * gauge.scale
    least = policy.distance_share * situation.budget.window
    return len(new) >= policy.distance_messages and tokens >= least


def _has_news(effective: Sequence[Message]) -> bool:
    """Whether a summary would say anything new, so that no attempt is made on every request."""
    try:
        require_enough(effective, effective[: unread_tail(effective)])
    except NothingToCondense:
        return False
    return True
