"""Strategies compared on recorded sessions, at the cuts that were made there or at others."""

from condense.evaluation.chats import chats
from condense.evaluation.contenders import DEFAULT, all_contenders, contender
from condense.evaluation.keeping import Kept, Share, what_is_kept
from condense.evaluation.needs import Needs, needs_at
from condense.evaluation.recordings import (
    Cut,
    Fact,
    Recording,
    cuts_at,
    even_cuts,
    find_recordings,
    read_recording,
)
from condense.evaluation.replay import Contender, Replay, Step, excerpt
from condense.evaluation.scores import PRICES, Course, Evaluation, Score, evaluate
from condense.evaluation.showing import describe, recorded_history, replayed_history
from condense.evaluation.table import LEGEND, format_table

__all__ = [
    "DEFAULT",
    "LEGEND",
    "PRICES",
    "Contender",
    "Course",
    "Cut",
    "Evaluation",
    "Fact",
    "Kept",
    "Needs",
    "Recording",
    "Replay",
    "Score",
    "Share",
    "Step",
    "all_contenders",
    "chats",
    "contender",
    "cuts_at",
    "describe",
    "evaluate",
    "even_cuts",
    "excerpt",
    "find_recordings",
    "format_table",
    "needs_at",
    "read_recording",
    "recorded_history",
    "replayed_history",
    "what_is_kept",
]
