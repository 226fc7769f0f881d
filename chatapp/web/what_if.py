"""What-if: the results of a stored conversation under other settings; nothing is applied.

A trial is a reduction that one strategy makes, judged and ready to show.
"""

import asyncio
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from asgiref.sync import async_to_sync

import condense
from chatapp.condensing.attempt_log import receipt_of
from chatapp.condensing.condenser_setup import loaded_configuration, situation_of, summarizer_for
from chatapp.condensing.costs import bill, predict
from chatapp.condensing.draft_writer import journal_outside
from chatapp.conversations.context.sizes import COUNTER, CondensingPoint, Scale
from chatapp.conversations.context.trial_settings import Variant
from chatapp.conversations.context.turn_context import NO_PROFILE, TurnSettings, read_terms
from chatapp.conversations.locks import with_unpinned
from chatapp.conversations.toolbox import toolbox as toolboxes
from chatapp.models import Conversation, Rewind, errors, message_store
from chatapp.page.markdown import render_markdown
from chatapp.page.transcript import labels
from chatapp.page.transcript.receipt_labels import facts_kept
from chatapp.project.sentences import translate as _

ZERO = Decimal(0)
# Messages that are gone through to see how often it would have condensed; the newest ones.
MOST_MESSAGES = 2_000
# Facts that are listed of those that are lost, and of those that are not in the originals.
LISTED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The model's context now, its size, and the settings and tools of its turns."""

    terms: TurnSettings
    effective: tuple[condense.Message, ...]
    history: tuple[condense.Message, ...]
    tokens: condense.TokenCount
    toolbox: Any
    unchanged: bool  # the next call begins as the last one

    def situation(self, terms: TurnSettings) -> condense.Situation:
        """Return the starting point of a condensation by hand, with these terms."""
        return situation_of(
            terms,
            self.effective,
            self.tokens,
            self.toolbox,
            history=self.history,
            trigger=condense.Trigger.MANUAL,
        )


def terms_of(conversation: Conversation) -> TurnSettings:
    """Return the terms of a conversation's next turn; raise Refused without a profile."""
    if terms := read_terms(conversation.pk):
        return terms
    raise errors.Refused(NO_PROFILE)


def read_baseline(terms: TurnSettings, seen: Sequence[condense.Message] = ()) -> Baseline:
    """Return the conversation of these terms with its effective history, or with ``seen``."""
    conversation, profile = terms.conversation, terms.profile
    effective = (*seen,) or message_store.read_effective(conversation.pk)
    scale = Scale.read(terms)
    return Baseline(
        terms=terms,
        effective=effective,
        history=with_unpinned(conversation.pk, effective),
        tokens=scale.weigh(effective),
        toolbox=toolboxes.toolbox_for(terms.folder, conversation, profile),
        unchanged=scale.measured_tokens is not None,
    )


def read_written(conversation: Conversation) -> Sequence[condense.Message]:
    """Return the newest messages that were not taken back, as if nothing had been condensed."""
    rows = conversation.messages.written().in_force().order_by("-seq")[:MOST_MESSAGES]
    messages = map(message_store.to_engine, reversed(rows))
    return [
        replace(one, position=None, tags=condense.Tags(pinned=one.tags.pinned)) for one in messages
    ]


@dataclass(frozen=True, slots=True)
class SoFar:
    """Condensations under a threshold so far, and the tokens a model would have read: estimates."""

    variant: Variant
    starts: CondensingPoint  # at the threshold, or at a lower limit
    followed: condense.Replayed
    cost: Decimal | None  # of these tokens, without replies


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The result of a variant on a conversation as it is."""

    variant: Variant
    so_far: Sequence[SoFar] = ()
    predicted: condense.Usage | None = None  # tokens, if a model has to be asked first
    predicted_cost: Decimal | None = None  # USD of these
    reduction: condense.Reduction | None = None
    receipt: condense.Receipt = field(default_factory=condense.Receipt)
    grounded: condense.Receipt | None = None  # of its statements, None without a summary
    cost: Decimal | None = ZERO
    error: str = ""  # or else there is a reduction


def try_all(
    baseline: Baseline, variants: Iterable[Variant], thresholds: Sequence[float]
) -> list[Trial]:
    """Return the result of each variant, and its condensations so far under each threshold.

    No model is asked: a variant that needs one has the predicted cost instead.
    """
    written = read_written(baseline.terms.conversation)
    found: list[Trial] = []
    for variant in variants:
        others = [replace(variant, threshold=threshold) for threshold in thresholds]
        so_far = [_so_far(baseline, written, other) for other in others]
        tried = predict_cost(baseline, variant) or _try(baseline, variant)
        found.append(replace(tried, so_far=so_far))
    return found


def shared_course(trials: Sequence[Trial]) -> Sequence[SoFar]:
    """Return the thresholds' results if they are the same for all trials, else nothing."""
    courses = [[replace(one, variant=None) for one in tried.so_far] for tried in trials]  # type: ignore[arg-type] # only compared
    return trials[0].so_far if courses and all(one == courses[0] for one in courses) else ()


def try_with_model(baseline: Baseline, tried: Trial) -> Trial:
    """Return the result of a variant after asking the model that writes its summaries.

    Raises DecryptionFailed when its key can't be read.
    """
    terms = tried.variant.of(baseline.terms)
    journal = journal_outside(terms, Scale(overhead=0), is_trial=True)
    journal.read_history()
    model = summarizer_for(journal)
    predicted, cost = tried.predicted, tried.predicted_cost
    asked = _try(baseline, tried.variant, model)
    return replace(asked, so_far=tried.so_far, predicted=predicted, predicted_cost=cost)


def _try(baseline: Baseline, variant: Variant, model: condense.Summarizer | None = None) -> Trial:
    terms = variant.of(baseline.terms)
    situation = baseline.situation(terms)
    configuration = _configuration(terms)
    alone = replace(configuration, strategies=(_rung(configuration, variant),))
    fit = alone.condenser(model or condense.ExcerptSummarizer(), COUNTER).fit
    try:
        # The server's own event loop waits for a model, and for nothing that only computes.
        reduction = async_to_sync(fit)(situation) if model else asyncio.run(fit(situation))
    except condense.CondenseError as error:
        why = _("Nothing new to condense yet.")
        if not isinstance(error, condense.NothingToCondense):
            why = labels.failure_words(str(error))
        return Trial(variant=variant, error=why, cost=error.cost)
    if reduction is None:
        return Trial(variant=variant, error=_("Nothing was made smaller."))
    return Trial(
        variant=variant,
        reduction=reduction,
        receipt=receipt_of(
            terms.conversation.pk, reduction, baseline.effective, baseline.toolbox.holds
        ),
        grounded=_ground(baseline, reduction) if reduction.summary else None,
        # The charge is in the cost alone; without prices that is zero, and the real one unknown.
        cost=reduction.cost or terms.writer.cost_of(reduction.usage) if reduction.prompt else ZERO,
    )


def _ground(baseline: Baseline, reduction: condense.Reduction) -> condense.Receipt:
    """Return each name and figure of a summary, with True if the hidden messages have it.

    Sentences do not count: they may be said in other words.
    """
    lines = [line for line in reduction.summary.splitlines() if line.strip()]
    stated = [condense.Message("user", line) for line in lines]
    hidden = reduction.hidden_among(baseline.effective)
    found = condense.receipt(stated, hidden).findings
    return condense.Receipt(tuple([one for one in found if one.kind == "names"]))


def _configuration(terms: TurnSettings) -> condense.Configuration:
    """Return the configuration of a trial: no listeners, and no search for contradictions."""
    wanted = loaded_configuration(terms)
    policy = replace(wanted.policy, finds_contradictions=False)
    return replace(wanted, policy=policy, hooks=replace(wanted.hooks, listeners=()))


def _rung(configuration: condense.Configuration, variant: Variant) -> condense.Strategy:
    """Return the first strategy that fits the variant: the operator's may clear nothing."""
    rungs = [one for one in configuration.strategies if not isinstance(one, str)]
    fitting = (one for one in rungs if (one.kind == "cleared") == variant.is_clearing)
    return next(fitting, rungs[0])


def predict_cost(baseline: Baseline, variant: Variant) -> Trial | None:
    """Return the predicted cost of asking a model, None if none is asked."""
    terms = variant.of(baseline.terms)
    situation = baseline.situation(terms)
    prompt = _rung(_configuration(terms), variant).prompt_for(situation)
    gauge = condense.Gauge(situation, COUNTER)
    expected = condense.expected_usage(gauge, prompt, Unasked(terms), COUNTER)
    if not expected.total:
        return None
    usage = predict(terms, expected, unchanged=baseline.unchanged)
    cost = terms.writer.cost_of(usage)
    return Trial(variant=variant, predicted=usage, predicted_cost=cost, cost=None)


def _so_far(baseline: Baseline, written: Sequence[condense.Message], variant: Variant) -> SoFar:
    terms = variant.of(baseline.terms)
    start = replace(baseline.situation(terms), effective=(), history=())
    configuration = _configuration(terms)
    # An excerpt in place of a summary is not worth judging.
    unjudged = replace(configuration, hooks=replace(configuration.hooks, validators=()))
    condenser = unjudged.condenser(condense.ExcerptSummarizer(), COUNTER)
    followed = asyncio.run(condense.replay_history(written, condenser, start, COUNTER))
    profile = terms.profile
    costs = [profile.cost_of(bill(profile, usage)) for usage in followed.requests]
    known = [cost for cost in costs if cost is not None]
    total = sum(known, Decimal(0)) if len(known) == len(costs) else None
    return SoFar(variant, CondensingPoint.of_budget(start.budget, automatic=True), followed, total)


class Unasked:
    """A summarizer for predictions: it has settings, and is never asked."""

    def __init__(self, terms: TurnSettings) -> None:
        apart = terms.writer != terms.profile
        self.supports_images = terms.writer.sees_images
        self.caches_prompts = terms.writer.spec.caches_prompts and not apart
        self.budget = (
            condense.Budget(terms.writer.context_window, terms.writer.output_limit)
            if apart
            else None
        )

    def stream(self, request: condense.SummaryRequest) -> Any:
        """Raise: nobody is asked."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TrialCard:
    """A trial with its result."""

    tried: Trial
    name: str
    entered: bool  # it has the prompt entered
    hidden_text: str
    saved_percent: float | None
    summary_html: str
    facts_kept: str
    lost: Sequence[str]
    grounded_percent: int | None  # share of a summary's statements that the hidden messages have
    others: Sequence[str]  # the other statements


def card_of(baseline: Baseline, tried: Trial) -> TrialCard:
    """Return the trial and its result, ready to show."""
    made, found = tried.reduction, tried.grounded
    variant, now = tried.variant, baseline.terms.configuration.prompt
    hidden, saved, grounded = "", None, None
    if made:
        counted = message_store.count_seen(made.hidden_among(baseline.effective))
        hidden = labels.seen_words(Rewind(**counted))
        saved = 100 * (1 - made.tokens_after.value / max(1, made.tokens_before.value))
    if made and made.kind == "cleared":
        hidden = labels.cleared_words(made.count)
    if found and found.total.total:
        grounded = math.floor(100 * found.total.score)
    return TrialCard(
        tried=tried,
        name=labels.strategy_name(variant.strategy),
        entered=variant.prompt != now,
        hidden_text=hidden,
        saved_percent=saved,
        summary_html=render_markdown(made.summary) if made else "",
        facts_kept=facts_kept(tried.receipt),
        lost=[fact.quote for fact in tried.receipt.of("lost", "changed")][:LISTED],
        grounded_percent=grounded,
        others=[fact.quote for fact in found.of("lost", "changed")][:LISTED] if found else [],
    )
