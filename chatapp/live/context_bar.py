"""The context bar's numbers: how full the window is, and where and why it will condense."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from chatapp.agent.events import ContextChanged
from chatapp.condensation import background_drafts
from chatapp.condensation.threshold import CondensingPoint, source_label
from chatapp.context import sizes
from chatapp.context.turn_context import TurnSettings
from chatapp.models import Conversation, Preferences, Rewind, message_store
from chatapp.models.spending import Spending
from chatapp.number_formats import number
from chatapp.spending_limits import spending_of
from chatapp.transcript.labels import seen_words


@dataclass(frozen=True, slots=True)
class Forecast:
    """How much a condensation may hide, in words; ``nothing`` says why it would hide none."""

    words: str = ""
    nothing: str = ""


def forecast(hides: Mapping[str, int] | None, *, said_nothing: bool) -> Forecast:
    """Say what a condensation may hide: no strategy hides more unasked."""
    if hides is not None:
        return Forecast(words=seen_words(Rewind(**hides)))
    if said_nothing:
        why = _("There is nothing to condense yet: the model has not answered anything.")
        return Forecast(nothing=why)
    return Forecast(nothing=_("Nothing new to condense yet."))


# The bar turns amber, and says how far it is to go, this many points of the window before
# condensing starts.
WARN_POINTS = 10


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of what fills the window, in tokens and in percent of the window."""

    name: str
    label: str
    tokens: int
    percent: float


@dataclass(frozen=True, slots=True)
class Due:
    """How far it is to the next condensation, in words; one that ``may_wait`` can be put off."""

    words: str
    may_wait: bool


@dataclass(frozen=True, slots=True)
class ContextState:
    """The window of one conversation; sizes in tokens, ``percent`` of the whole window.

    ``used`` is an estimate unless ``measured``. ``reason`` says in words where condensing starts,
    and ``source`` who set that, ``forecast`` what pressing the button would hide; ``due`` is there
    once it ``warn``s; ``spending`` is what was spent of each limit.
    """

    conversation: uuid.UUID
    used: int
    measured: bool
    reserved: int
    available: int
    window: int
    percent: float
    reserved_percent: float
    condenses_at: int
    condenses_at_percent: float
    reason: str
    source: str
    segments: tuple[Segment, ...]
    warn: bool
    forecast: Forecast
    due: Due | None
    spending: Sequence[Spending] = ()


def context_state(conversation: Conversation, preferences: Preferences) -> ContextState | None:
    """Return the numbers of a conversation's context as it is stored; None without a profile."""
    profile = conversation.profile
    if profile is None:
        return None
    history = message_store.read_effective(conversation.pk)
    terms = TurnSettings(conversation=conversation, profile=profile, preferences=preferences)
    tokens = sizes.Scale.read(conversation, profile, terms.system).weigh(history)
    figures = sizes.figures_of(terms, history, tokens)
    return with_draft(state_of(terms, figures, spending_of(terms)))


def state_of(
    terms: TurnSettings, figures: ContextChanged, spending: Sequence[Spending] = ()
) -> ContextState:
    """Return the numbers of a context that is known."""
    budget, used = figures.budget, figures.tokens
    starts = CondensingPoint.of_budget(budget, automatic=terms.preferences.auto_condense)
    window = budget.window
    percent = budget.percent(used)
    warn = percent >= starts.percent - WARN_POINTS
    hides = forecast(figures.hides, said_nothing=figures.said_nothing)
    return ContextState(
        conversation=terms.conversation.pk,
        used=used,
        measured=figures.measured,
        reserved=budget.reserved,
        available=max(0, budget.capacity - used),
        window=window,
        percent=percent,
        reserved_percent=100 * budget.reserved / window,
        condenses_at=starts.at,
        condenses_at_percent=starts.percent,
        reason=str(starts),
        source=source_label(budget.threshold_source) if starts.automatic else "",
        segments=_segments(figures),
        warn=warn,
        forecast=hides,
        due=_due(terms, starts, used) if warn and not hides.nothing else None,
        spending=spending,
    )


def _due(terms: TurnSettings, starts: CondensingPoint, used: int) -> Due:
    """Say how far it is to the point where something happens by itself."""
    left = starts.at - used
    if terms.conversation.put_off:
        return Due(_("Condensing is put off by one turn."), may_wait=False)
    if not starts.automatic:
        words = _("Almost full: in about %s tokens the oldest messages are hidden, unsummarised.")
        return Due(words % number(max(0, left)), may_wait=False)
    near = _("Almost full: condenses in about %s tokens.") % number(left)
    words = _("Will condense before your next message.") if left <= 0 else near
    return Due(words, may_wait=True)


def with_draft(state: ContextState) -> ContextState:
    """Return the numbers with what is drafted of a condensation that is near, which is read."""
    if state.due is None or not state.due.may_wait:
        return state
    near, is_over = state.due.words, state.used >= state.condenses_at
    if background_drafts.is_being_written(state.conversation):
        over = _("Condenses once the summary is drafted.")
        words = over if is_over else _("%s The summary is being drafted.") % near
    elif background_drafts.is_ready(state.conversation):
        over = _("Will condense before your next message, without a wait.")
        words = over if is_over else _("%s The summary is drafted.") % near
    else:
        return state
    return replace(state, due=Due(words, may_wait=True))


def _segments(figures: ContextChanged) -> tuple[Segment, ...]:
    """Split what is used by kind, in proportion to the estimates of each."""
    used, window = figures.tokens, figures.window
    estimates = {
        "system": (_("System prompt"), figures.system),
        "tools": (_("Tools"), figures.tools),
        "summary": (_("Summary"), figures.summaries),
        "messages": (_("Messages"), figures.messages - figures.summaries),
    }
    scale = used / (sum([tokens for _label, tokens in estimates.values()]) or 1)
    segments = [
        Segment(name, label, round(tokens * scale), 100 * tokens * scale / window)
        for name, (label, tokens) in estimates.items()
    ]
    return tuple(segments)
