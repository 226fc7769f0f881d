"""The parts of the chat page around the transcript: context bar, condensation, notice."""

import asyncio
import math
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.template.loader import render_to_string

import condense
from chatapp.agent import events
from chatapp.condensing import background_drafts
from chatapp.conversations.context import sizes
from chatapp.conversations.context.sizes import CondensingPoint, source_label
from chatapp.conversations.context.turn_context import TurnSettings
from chatapp.models import Condensation, Conversation, Preferences, Rewind, accounts, message_store
from chatapp.models.database import reading
from chatapp.models.pending_messages import list_queued
from chatapp.models.spending import Spending, limits_of, read_spending, spending_of, tell
from chatapp.page.live import outgoing_frames
from chatapp.page.live.outgoing_frames import Watchers
from chatapp.page.transcript import summary_proposal
from chatapp.page.transcript.labels import seen_words
from chatapp.project.sentences import apportion
from chatapp.project.sentences import translate as _


@dataclass(frozen=True, slots=True)
class Forecast:
    """The most that a condensation may hide, in words; else ``nothing`` has the reason."""

    words: str = ""
    nothing: str = ""


def forecast(hides: Mapping[str, int] | None, *, said_nothing: bool) -> Forecast:
    """Return the messages that a condensation may hide in words, or the reason if none."""
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
    """One kind of content in the window, in tokens and in percent of the window."""

    name: str
    label: str
    tokens: int
    percent: float


@dataclass(frozen=True, slots=True)
class Due:
    """The distance to the next condensation in words."""

    words: str
    may_wait: bool = False  # it can be put off
    is_put_off: bool = False
    note: str = ""  # the longest possible delay, or that it is put off


@dataclass(frozen=True, slots=True)
class ContextState:
    """The window of one conversation; sizes in tokens, ``percent`` of the whole window."""

    conversation: uuid.UUID
    used: int  # an estimate unless ``measured``
    measured: bool
    reserved: int
    available: int
    window: int
    percent: float  # of the whole window
    reserved_percent: float
    condenses_at: int
    condenses_at_percent: float
    reason: str  # the point of condensing in words
    source: str  # the origin of that setting
    segments: tuple[Segment, ...]
    warn: bool
    forecast: Forecast  # messages that pressing the button would hide
    due: Due | None  # once it warns
    spending: Sequence[Spending] = ()  # under each limit


def context_state(conversation: Conversation, preferences: Preferences) -> ContextState | None:
    """Return the numbers of a conversation's context as it is stored; None without a profile."""
    profile = conversation.answering
    if profile is None:
        return None
    history, beyond = message_store.read_outline(conversation.pk)
    terms = TurnSettings(conversation=conversation, profile=profile, preferences=preferences)
    tokens = sizes.Scale.read(terms).weigh(history)
    figures = sizes.figures_of(terms, history, tokens, beyond)
    spent = spending_of(conversation.pk, limits_of(conversation, preferences))
    return with_record(state_of(terms, figures, spent), terms, figures)


def state_of(
    terms: TurnSettings, figures: events.ContextChanged, spending: Sequence[Spending] = ()
) -> ContextState:
    """Return the numbers of a context that is known."""
    budget, used = figures.budget, figures.tokens
    starts = CondensingPoint.of_budget(budget, automatic=terms.preferences.auto_condense)
    window = budget.window
    percent = budget.percent(used)
    warn = percent >= starts.percent - WARN_POINTS
    decides = starts.automatic and not starts.reserved
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
        source=source_label(budget.threshold_source) if decides else "",
        segments=_segments(figures),
        warn=warn,
        forecast=hides,
        due=_due(terms, starts, used, budget.capacity) if warn and not hides.nothing else None,
        spending=spending,
    )


def _due(terms: TurnSettings, starts: CondensingPoint, used: int, capacity: int) -> Due:
    """Return the distance to the next automatic condensation, and if it can wait."""
    left, room = starts.at - used, capacity - used
    if not starts.automatic:
        words = _(
            "Almost full: in about {tokens:,} tokens the oldest messages are hidden, unsummarised.",
            tokens=left,
        )
        over = _("Your next message will hide the oldest messages, unsummarised.")
        return Due(over if left <= 0 else words)
    if terms.conversation.put_off and room > 0:
        words = _("About {tokens:,} more tokens fit.", tokens=room)
        return Due(words, is_put_off=True, note=_("Won't condense this turn."))
    words = _("Your next message will condense the context first.") if left <= 0 else _near(left)
    if room <= 0:
        return Due(words)
    wait = _("Can wait for about {tokens:,} more tokens.", tokens=room)
    return Due(words, may_wait=True, note=wait)


def _near(left: int) -> str:
    return _("Condenses in about {tokens:,} tokens.", tokens=left)


def with_record(
    state: ContextState, terms: TurnSettings, figures: events.ContextChanged
) -> ContextState:
    """Return the state with the next condensation's draft, or its wait for new text, in words."""
    if state.due is None or state.due.is_put_off or not terms.preferences.auto_condense:
        return state
    near, is_over = state.due.words, state.used >= state.condenses_at
    if background_drafts.is_being_written(state.conversation):
        over = _("Condenses once the summary is drafted.")
        words = over if is_over else _("{near} The summary is being drafted.", near=near)
    elif background_drafts.is_ready(state.conversation):
        over = _("Your next message will condense the context first, without a wait.")
        words = over if is_over else _("{near} The summary is drafted.", near=near)
    elif is_over and (left := _until_new(terms, figures)):
        words = _near(left)
    else:
        return state
    return replace(state, due=replace(state.due, words=words))


def _until_new(terms: TurnSettings, figures: events.ContextChanged) -> int:
    """Return the tokens until enough is new since the last attempt, 0 if one is due now.

    Above the limit it is due in any case.
    """
    pk, budget = terms.conversation.pk, figures.budget
    tried = max(Condensation.objects.last_tried(pk).values())
    new = condense.new_since(message_store.read_outline(pk)[0], tried)
    if new is None:
        return 0
    scale = figures.tokens / ((figures.system + figures.tools + figures.messages) or 1)
    least = terms.configuration.policy.distance_share * budget.window
    left = min(least - scale * sizes.sum_tokens(new), budget.allowed - figures.tokens)
    return max(0, math.ceil(left))


def _segments(figures: events.ContextChanged) -> tuple[Segment, ...]:
    """Split the used tokens by kind, in proportion to the estimates of each."""
    used, window = figures.tokens, figures.window
    estimates = {
        "system": (_("System prompt"), figures.system),
        "tools": (_("Tools"), figures.tools),
        "summary": (_("Summary"), figures.summaries),
        "messages": (_("Messages"), figures.messages - figures.summaries),
    }
    scale = used / (sum([tokens for _label, tokens in estimates.values()]) or 1)
    counts = apportion([tokens * scale for _label, tokens in estimates.values()])
    parts = zip(estimates.items(), counts, strict=True)
    return tuple(
        [Segment(name, label, count, 100 * count / window) for (name, (label, _)), count in parts]
    )


@dataclass(slots=True)
class CondensingStatus:
    """The status "Condensing context…": trigger, start (Unix seconds) and progress."""

    trigger: str
    started: float = field(default_factory=time.time)  # Unix seconds
    tokens_written: int = 0
    awaited: bool = False  # it begins after the step
    draft: str | None = None  # the summary so far if somebody is to review it
    review: int = 0  # the review's key
    shown: str = ""  # the review's HTML


@dataclass(frozen=True, slots=True)
class Notice:
    """The line at the composer; its English text is translated when it is rendered."""

    kind: str  # "error", "retry", "warning" or "info"
    text: str
    details: str = ""  # to copy
    until: float | None = None  # when a retry is made (Unix seconds)


def read_panel(
    conversation_id: uuid.UUID, condensing: CondensingStatus | None, notice: Notice | None
) -> tuple[outgoing_frames.Frame, int | None]:
    """Return the panel's frame as the database has it, and its tokens, None if unknown."""
    conversation = message_store.read_conversation(conversation_id)
    preferences = accounts.preferences_of(conversation.owner, conversation.preferences)
    state = context_state(conversation, preferences)
    panel = render_panel(state, condensing, notice, conversation.profile_id)
    return panel, state.used if state else None


async def panel_of(
    terms: TurnSettings,
    context: events.ContextChanged,
    condensing: CondensingStatus | None,
    notice: Notice | None,
) -> outgoing_frames.Frame:
    """Return the panel's frame as the turn knows the context; only spending is read."""
    limits = limits_of(terms.conversation, terms.preferences)
    spent = await reading(read_spending)(terms.conversation.pk) if limits.are_set else ()
    state = state_of(terms, context, spent)
    if state.due:
        state = await reading(with_record)(state, terms, context)
    return render_panel(state, condensing, notice, terms.conversation.profile_id)


def render_panel(
    state: ContextState | None,
    condensing: CondensingStatus | None,
    notice: Notice | None,
    profile: int | None = None,
) -> outgoing_frames.Frame:
    """Return the panel's frame; without a ``state`` there is no bar."""
    due = state.due if state and not condensing else None
    notices = [notice] if notice else []
    if state:
        notices += [Notice("warning", tell(one)) for one in state.spending if one.is_near]
    return outgoing_frames.panel(
        bar=render_to_string("chat/_context_bar.html", {"context": state}),
        due=render_to_string("chat/_due.html", {"due": due}) if due else "",
        condensing=_render_condensing(condensing) if condensing else "",
        **written_of(condensing),
        notice="".join([render_to_string("chat/_notice.html", {"notice": one}) for one in notices]),
        now=time.time(),
        profile=profile,
    )


def _render_condensing(condensing: CondensingStatus) -> str:
    """Return the status as HTML, or the review that the condensation has come to."""
    trigger = Condensation.Trigger(condensing.trigger).label
    context = {"condensing": condensing, "trigger_text": trigger}
    return condensing.shown or render_to_string("chat/_condensing.html", context)


def render_review(review_pk: int) -> str:
    """Return a proposed summary as HTML, for the person who reviews it."""
    return render_to_string("chat/_review.html", {"shown": summary_proposal.read_review(review_pk)})


def written_of(condensing: CondensingStatus | None) -> dict[str, str]:
    """Return the progress and draft text of a summary; both "" before its first word."""
    tokens = condensing.tokens_written if condensing else 0
    written = _("≈ {count:,} tokens written", count=tokens) if tokens else ""
    return {"written": written, "draft": (condensing.draft or "") if condensing else ""}


class QueueView:
    """Shows the queue of one conversation; the latest read is the last one shown."""

    def __init__(self, conversation_id: uuid.UUID, watchers: Watchers) -> None:
        self._conversation_id = conversation_id
        self._watchers = watchers
        self._in_hand = asyncio.Lock()

    async def render(self) -> str:
        """Return the messages that wait, as HTML."""
        queued = await reading(list_queued)(conversation=self._conversation_id)
        context = {"queued": queued, "conversation": self._conversation_id}
        return render_to_string("chat/_queue.html", context)

    async def show(self) -> None:
        """Show the messages that wait on every page."""
        async with self._in_hand:
            if self._watchers:
                self._watchers.send(outgoing_frames.queue_changed(await self.render()))
