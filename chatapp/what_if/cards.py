"""Cards of trials, ready to show."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import condense
from chatapp.conversations.rewind import Preview
from chatapp.markdown import render_markdown
from chatapp.models import message_store
from chatapp.transcript import labels
from chatapp.what_if.baseline import Baseline
from chatapp.what_if.trials import Trial

# Facts that are listed of those that are lost, and of those that are not in the originals.
MOST = 50


@dataclass(frozen=True, slots=True)
class Grounds:
    """How much of what a summary states stands in what it hides; ``others`` is what does not."""

    percent: int
    stated: int
    others: Sequence[str]


@dataclass(frozen=True, slots=True)
class Card:
    """What was tried with what came of it; ``entered`` says that it has the prompt entered."""

    tried: Trial
    name: str
    entered: bool
    hidden_text: str
    saved_percent: int | None
    summary_html: str
    facts_kept: str
    lost: Sequence[str]
    grounds: Grounds | None


def card_of(baseline: Baseline, tried: Trial) -> Card:
    """Return what was tried, ready to show."""
    made = tried.reduction
    variant, now = tried.variant, baseline.terms.preferences.condensing_prompt
    return Card(
        tried=tried,
        name=labels.strategy_name(variant.strategy),
        entered=variant.prompt != now,
        hidden_text=_hidden_text(baseline, made) if made else "",
        saved_percent=_saved(made) if made else None,
        summary_html=render_markdown(made.summary) if made else "",
        facts_kept=labels.facts_kept(tried.receipt),
        lost=[probe.text for probe in tried.receipt.of("missing")][:MOST],
        grounds=_grounds(tried.grounded),
    )


def _hidden_text(baseline: Baseline, made: condense.Reduction) -> str:
    if made.kind == "cleared":
        return labels.cleared_words(made.count)
    counted = message_store.count_seen(made.hidden_among(baseline.effective))
    return labels.seen_words(Preview(**counted))


def _saved(made: condense.Reduction) -> int:
    return round(100 * (1 - made.tokens_after.value / max(1, made.tokens_before.value)))


def _grounds(found: condense.Receipt | None) -> Grounds | None:
    if found is None or not found.total.total:
        return None
    others = [probe.text for probe in found.of("missing")][:MOST]
    return Grounds(math.floor(100 * found.total.score), found.total.total, others)
