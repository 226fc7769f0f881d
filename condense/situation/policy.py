"""The ladder's numbers: how much a rung must achieve, and when the next run may start."""

from dataclasses import dataclass


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
