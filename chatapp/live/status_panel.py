"""The parts of the chat page around the transcript: context bar, condensation, notice."""

import asyncio
import time
import uuid
from dataclasses import dataclass, field

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from chatapp.accounts import accounts
from chatapp.agent import events
from chatapp.context.turn_context import TurnSettings
from chatapp.live import outgoing_frames
from chatapp.live.context_bar import ContextState, context_state, state_of, with_draft
from chatapp.live.watchers import Watchers
from chatapp.models import Condensation, message_store
from chatapp.models.database import reading
from chatapp.models.pending_messages import list_queued
from chatapp.models.spending import read_spending
from chatapp.number_formats import number
from chatapp.spending_limits import has_spending_limit, say


@dataclass(slots=True)
class CondensingStatus:
    """What "Condensing context…" says: why, since when (Unix seconds), how far.

    One that is ``awaited`` says that it begins after the step. ``draft`` is the summary so far
    where somebody is to review it; ``review`` is the review's key, and ``shown`` its HTML.
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
    conversation_id: uuid.UUID, condensing: CondensingStatus | None, notice: Notice | None
) -> outgoing_frames.Frame:
    """Return the panel's frame as the database has it."""
    conversation = message_store.read_conversation(conversation_id)
    state = context_state(conversation, accounts.preferences_of(conversation.owner))
    return render_panel(state, condensing, notice, conversation.profile_id)


async def panel_of(
    terms: TurnSettings,
    context: events.ContextChanged,
    condensing: CondensingStatus | None,
    notice: Notice | None,
) -> outgoing_frames.Frame:
    """Return the panel's frame as the turn knows the context; only spending is read."""
    pk = terms.conversation.pk
    spent = await reading(read_spending)(pk) if has_spending_limit(terms) else ()
    state = state_of(terms, context, spent)
    if state.due:
        state = await reading(with_draft)(state)
    return render_panel(state, condensing, notice, terms.profile.pk)


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
        notices += [Notice("warning", say(one)) for one in state.spending if one.is_near]
    return outgoing_frames.panel(
        bar=render_to_string("chat/_context_bar.html", {"context": state}),
        due=render_to_string("chat/_due.html", {"due": due}) if due else "",
        condensing=_render_condensing(condensing) if condensing else "",
        written=words_written(condensing) if condensing else "",
        draft=(condensing.draft or "") if condensing else "",
        notice="".join([render_to_string("chat/_notice.html", {"notice": one}) for one in notices]),
        now=time.time(),
        profile=profile,
    )


def _render_condensing(condensing: CondensingStatus) -> str:
    """Return the status as HTML, or the review that the condensation has come to."""
    trigger = Condensation.Trigger(condensing.trigger).label
    context = {"condensing": condensing, "trigger_text": trigger}
    return condensing.shown or render_to_string("chat/_condensing.html", context)


def words_written(condensing: CondensingStatus) -> str:
    """Say how far the summary is, "" before its first word."""
    if not condensing.tokens_written:
        return ""
    return _("≈ %(count)s tokens written") % {"count": number(condensing.tokens_written)}


class QueueView:
    """Shows the queue of one conversation; what is shown last is what was read last."""

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
