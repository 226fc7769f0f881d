"""The parts of the chat page around the transcript: context bar, condensing band, notice."""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from chatapp import services
from chatapp.agent import events
from chatapp.context.runs import Run
from chatapp.context.spending import say
from chatapp.live import frames
from chatapp.live.context_bar import ContextState, context_state, state_of
from chatapp.models import Condensation, store
from chatapp.models.spending import Spending
from chatapp.rendering.numbers import number


@dataclass(slots=True)
class Band:
    """The "Condensing context…" band: why, since when (Unix seconds), how far.

    One that is ``awaited`` says that it begins after the step. ``draft`` is what is written
    where somebody is to review it; ``review`` is its key once it is whole, and ``shown`` its HTML.
    """

    trigger: str
    started: float = field(default_factory=time.time)
    tokens_written: int = 0
    awaited: bool = False
    draft: str | None = None
    review: int = 0
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """The line at the composer: ``kind`` is "error", "retry", "warning" or "info".

    ``until`` is when a retry is made (Unix seconds); ``details`` is for copying.
    """

    kind: str
    text: str
    details: str = ""
    until: float | None = None


def read_panel(
    conversation_id: uuid.UUID, band: Band | None, notice: Notice | None
) -> frames.Frame:
    """Return the panel's frame as the database has it."""
    conversation = store.read_conversation(conversation_id)
    preferences = services.preferences_of(conversation.owner)
    state = context_state(conversation, preferences)
    return render_panel(state, band, notice, conversation.profile_id)


def panel_of(
    run: Run,
    context: events.ContextChanged,
    band: Band | None,
    notice: Notice | None,
    spending: Sequence[Spending] = (),
) -> frames.Frame:
    """Return the panel's frame as the run knows the context."""
    state = state_of(run, context.history, context.tokens, spending)
    return render_panel(state, band, notice, run.profile.pk)


def render_panel(
    state: ContextState | None,
    band: Band | None,
    notice: Notice | None,
    profile: int | None = None,
) -> frames.Frame:
    """Return the panel's frame; without a ``state`` there is no bar."""
    due = state.due if state and not band else None
    near = [one for one in state.spending if one.is_near] if state else []
    notices = [notice] if notice else []
    notices += [Notice("warning", say(one)) for one in near]
    return frames.panel(
        bar=render_to_string("chat/_context_bar.html", {"context": state}),
        due=render_to_string("chat/_due.html", {"due": due}) if due else "",
        condensing=render_band(band) if band else "",
        written=words_written(band) if band else "",
        draft=(band.draft or "") if band else "",
        notice="".join(render_to_string("chat/_notice.html", {"notice": one}) for one in notices),
        now=time.time(),
        profile=profile,
    )


def render_band(band: Band) -> str:
    """Return the band, or the review that it has come to."""
    return band.shown or render_to_string("chat/_condensing.html", band_context(band))


def band_context(band: Band) -> dict[str, object]:
    """Return what the band's template shows."""
    return {"band": band, "trigger_text": Condensation.Trigger(band.trigger).label}


def words_written(band: Band) -> str:
    """Say how far the summary is, "" before its first word."""
    if not band.tokens_written:
        return ""
    return _("≈ %(count)s tokens written") % {"count": number(band.tokens_written)}
