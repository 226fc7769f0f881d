"""Strategies compared on recorded sessions, at the cuts that were made there."""

from condense.evaluation.needs import Kept, Share, Use, use_of, what_is_kept
from condense.evaluation.recordings import (
    Cut,
    Recording,
    cuts_at,
    find_recordings,
    read_recording,
)
from condense.evaluation.replay import Step, excerpt, replay
from condense.evaluation.scores import PRICES, Evaluation, Score, evaluate
from condense.evaluation.showing import describe, recorded_history, replayed_history
from condense.evaluation.table import format_table

__all__ = [
    "PRICES",
    "Cut",
    "Evaluation",
    "Kept",
    "Recording",
    "Score",
    "Share",
    "Step",
    "Use",
    "cuts_at",
    "describe",
    "evaluate",
    "excerpt",
    "find_recordings",
    "format_table",
    "read_recording",
    "recorded_history",
    "replay",
    "replayed_history",
    "use_of",
    "what_is_kept",
]
