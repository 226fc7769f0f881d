"""Cards of trials, ready to show."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from chatapp.markdown import render_markdown
from chatapp.models import Rewind, message_store
from chatapp.transcript import labels
from chatapp.what_if.baseline import Baseline
from chatapp.what_if.trials import Trial

# Facts that are listed of those that are lost, and of those that are not in the originals.
MOST = 50


@dataclass(frozen=True, slots=True)
class Card:
    """What was tried with what came of it; ``entered`` says that it has the prompt entered.

    Of what a summary states ``grounded_percent`` stands in what it hides, and ``others`` does not.
    """

    tried: Trial
    name: str
    entered: bool
    hidden_text: str
    saved_percent: int | None
    summary_html: str
    facts_kept: str
    lost: Sequence[str]
    grounded_percent: int | None
    others: Sequence[str]


def card_of(baseline: Baseline, tried: Trial) -> Card:
    """Return what was tried, ready to show."""
    made, found = tried.reduction, tried.grounded
    variant, now = tried.variant, baseline.terms.configuration.prompt
    hidden, saved, grounded = "", None, None
    if made:
        counted = message_store.count_seen(made.hidden_among(baseline.effective))
        hidden = labels.seen_words(Rewind(**counted))
        saved = round(100 * (1 - made.tokens_after.value / max(1, made.tokens_before.value)))
    if made and made.kind == "cleared":
        hidden = labels.cleared_words(made.count)
    if found and found.total.total:
        grounded = math.floor(100 * found.total.score)
    return Card(
        tried=tried,
        name=labels.strategy_name(variant.strategy),
        entered=variant.prompt != now,
        hidden_text=hidden,
        saved_percent=saved,
        summary_html=render_markdown(made.summary) if made else "",
        facts_kept=labels.facts_kept(tried.receipt),
        lost=[fact.text for fact in tried.receipt.of("missing")][:MOST],
        grounded_percent=grounded,
        others=[fact.text for fact in found.of("missing")][:MOST] if found else [],
    )
