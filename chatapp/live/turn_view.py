"""The view of a running turn: each event changes it, and only the changes are sent.

Frames are rendered once for all watchers, with the page's own templates, and not at all for nobody.
"""

import asyncio
import functools
import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import replace

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from chatapp.agent import events
from chatapp.context.turn_context import TurnContext
from chatapp.live import outgoing_frames
from chatapp.live.status_panel import (
    Band,
    Notice,
    panel_of,
    read_panel,
    render_panel,
    words_written,
)
from chatapp.live.streamed_text import StreamedText
from chatapp.live.watchers import Watchers
from chatapp.models import Condensation
from chatapp.models.database import reading
from chatapp.transcript import labels, row_builder, row_pages, summary_proposal
from chatapp.transcript.message_parts import ToolCard

log = logging.getLogger(__name__)

ToolEvents = dict[str, events.ToolStarted | events.ToolFinished]


class TurnView:
    """The present of one conversation, while something runs and while nothing does."""

    def __init__(
        self, conversation_id: uuid.UUID, watchers: Watchers, *, on_wait: Callable[[], None]
    ) -> None:
        """Show that nothing runs; ``on_wait`` is called when a turn waits for a person, or not."""
        self.on_wait = on_wait
        self.conversation_id = conversation_id
        self.watchers = watchers
        # The id of the one that runs, if any.
        self.turn = ""
        self.status = ""
        # Whether a person has to say something before it goes on.
        self.waits = False
        self.band: Band | None = None
        self.notice: Notice | None = None
        self.streaming: StreamedText | None = None
        # What the run told of the context; None where the database has to be asked.
        self._run: TurnContext | None = None
        self._context: events.ContextChanged | None = None
        # The newest message, whose row may still change, with what its tools have told; 0 for none.
        self._newest = 0
        self._tools: ToolEvents = {}
        # Whether that message ends the turn, and is shown with its end.
        self._ends = False
        self._unsaved: list[tuple[str, str]] = []
        # The panel that is shown last is the one that was read last.
        self._panels = asyncio.Lock()

    def begin(self, run: TurnContext) -> None:
        """Show that something runs."""
        self.turn, self.notice, self._ends = str(run.turn.pk), None, False
        self._run, self._context = run, None
        self._unsaved.clear()
        self._show_status(_("Thinking…"))

    async def settle(self) -> None:
        """Show the last row as the turn's end makes it, and what could not be stored."""
        unsaved = None if self._ends else self.streaming
        self._remove_streaming()
        if unsaved:
            self._unsaved.append(await unsaved.render_unsaved())
            self.watchers.send(outgoing_frames.article_upserted(*self._unsaved[-1]))
        await self._show_row()

    async def end(self, status: str, notice: Notice | None, *, changed: bool) -> None:
        """Show that nothing runs any more, and why; ``changed`` where a row of its own says so."""
        # The last row changes no more.
        self._newest, self._tools = 0, {}
        self.band, self.notice = None, notice
        if changed:
            await self._show_transcript()
        async with self._panels:
            panel = None
            if self.watchers:
                try:
                    panel = await self.panel()
                except Exception:
                    log.exception("the context could not be shown")
                    panel = render_panel(None, self.band, self.notice)
            self.turn = ""
            waited, self.waits = self.waits, False
            self._show_status(status)
            if waited:
                self.on_wait()
            self._run = self._context = None
            if panel:
                self.watchers.send(panel)

    async def articles(self) -> list[tuple[str, str]]:
        """Return (element id, HTML) of what is in flight, in the transcript's order."""
        articles = []
        if self._newest and not self._ends:
            row = await reading(_render_row)(self.conversation_id, self._newest, dict(self._tools))
            articles.append(row)
        if self.streaming:
            articles.append((self.streaming.id, self.streaming.render()))
        return [*articles, *self._unsaved]

    async def panel(self) -> outgoing_frames.Frame:
        """Return the panel's frame, from what the run knows, or else from the database."""
        # Whatever is read here, the run may have ended meanwhile.
        if (band := self.band) and band.review:
            # With what somebody has typed since.
            band.shown = await reading(_render_review)(band.review)
        if self._run and self._context:
            return await panel_of(self._run, self._context, self.band, self.notice)
        return await reading(read_panel)(self.conversation_id, self.band, self.notice)

    async def show_change(self) -> None:
        """Show that something else than the run changed the conversation."""
        # What the run knows of the context may be outdated from here on.
        self._run = None
        await self._show_transcript()
        await self.show_panel()

    async def flush(self) -> None:
        """Send streamed text that is due."""
        streaming = self.streaming
        if streaming is None or streaming.due is None:
            return
        # Not due any more, also where it fails: more will come, and the whole text in the end.
        streaming.due = None
        if self.watchers:
            self.watchers.send(await streaming.read())

    @functools.singledispatchmethod
    async def show(self, event: events.TurnEvent) -> None:
        """Show an event of the run."""
        raise NotImplementedError(type(event))

    @show.register
    async def _(self, event: events.TextStreamed) -> None:
        if self.streaming is None:
            self.streaming = StreamedText()
            if self.watchers:
                article = outgoing_frames.article_upserted(
                    self.streaming.id, self.streaming.render()
                )
                self.watchers.send(article)
            self._show_status(_("Writing…"))
            if self.notice:
                await self._end_wait()
        self.streaming.feed(event.text)

    @show.register
    async def _(self, _event: events.StepStarted) -> None:
        self._show_status(_("Thinking…"))
        # An attempt may have been cancelled before it could say so.
        if (self.band and not self.band.awaited) or self.notice:
            self.band = self.notice = None
            await self.show_panel()

    @show.register
    async def _(self, event: events.CondensingAwaited) -> None:
        if event.awaited and self.band is None:
            self.band = Band("manual", awaited=True)
        elif self.band and self.band.awaited and not event.awaited:
            self.band = None
        await self.show_panel()

    @show.register
    async def _(self, event: events.ToolUseStarted) -> None:
        self._show_status(_("Calling %(tool)s…") % {"tool": event.name})
        if self.notice:
            await self._end_wait()

    @show.register(events.ToolStarted)
    @show.register(events.ToolFinished)
    async def _(self, event: events.ToolStarted | events.ToolFinished) -> None:
        self._tools[event.id] = event
        if isinstance(event, events.ToolStarted):
            self._show_status(_("Running %(tool)s…") % {"tool": event.name})
        if self._newest and self.watchers:
            # Its card alone: a row of hundreds would be sent for each of them.
            seq, tools = self._newest, dict(self._tools)
            card = await reading(_render_card)(self.conversation_id, seq, tools, event.id)
            self.watchers.send(outgoing_frames.article_upserted(*card))

    @show.register
    async def _(self, _event: events.PersonAsked) -> None:
        self.waits = True
        await self._show_row()
        self._show_status(_("Waiting for you."))
        self.on_wait()

    @show.register
    async def _(self, _event: events.PersonAnswered) -> None:
        self.waits = False
        self._show_status(_("Going on…"))
        self.on_wait()
        await self._show_row()

    @show.register
    async def _(self, event: events.ToolProgressed) -> None:
        started = self._tools.get(event.id)
        if isinstance(started, events.ToolStarted):
            self._tools[event.id] = replace(started, output=event.output)
            frame = outgoing_frames.tool_progressed(self._newest, event.id, event.output)
            self.watchers.send(frame)

    @show.register
    async def _(self, event: events.MessageAppended) -> None:
        self.notice = None
        message = event.message
        # Results belong to the message that called for them, and the next one's calls may have
        # the same ids.
        if not message.tool_results:
            self._newest, self._tools = message.seq, {}
        self._ends = message.role == "assistant" and not message.tool_uses
        # What it took is known in a moment, and until then its text is there.
        if not self._ends:
            self._remove_streaming()
            await self._show_row()

    @show.register
    async def _(self, event: events.ContextChanged) -> None:
        self._context = event
        if not self._ends:
            await self.show_panel()

    @show.register
    async def _(self, _event: events.StreamDiscarded) -> None:
        self._remove_streaming()

    @show.register
    async def _(self, event: events.RetryScheduled) -> None:
        self.notice = Notice("retry", event.reason, until=time.time() + event.seconds)
        self._show_status(
            _("Trying again: %(attempt)d of %(attempts)d")
            % {"attempt": event.attempt, "attempts": event.attempts}
        )
        await self.show_panel()

    @show.register
    async def _(self, event: events.CondensingStarted) -> None:
        # One attempt after the other is one wait for people.
        if self.band is None or self.band.awaited:
            self.band = Band(event.trigger)
        self._show_status(_("Condensing context…"))
        await self.show_panel()

    @show.register
    async def _(self, event: events.CondensingProgressed) -> None:
        if not self.band:
            return
        if self.notice:
            self._show_status(_("Condensing context…"))
            await self._end_wait()
        self.band.tokens_written = event.tokens_written
        self.watchers.send(outgoing_frames.condensing_progressed(words_written(self.band)))

    @show.register
    async def _(self, event: events.SummaryStreamed) -> None:
        if not self.band:
            return
        begins, self.band.draft = self.band.draft is None, event.text
        if begins:
            await self.show_panel()
        else:
            self.watchers.send(outgoing_frames.draft_streamed(event.text))

    @show.register
    async def _(self, event: events.ReviewAsked) -> None:
        # After a restart no attempt has begun here.
        self.band = self.band or Band(await reading(_trigger_of)(event.id))
        self.band.review = event.id
        await self._wait_for_person(_("Waiting for you."), waits=True)

    @show.register
    async def _(self, _event: events.ReviewAnswered) -> None:
        if self.band:
            self.band = Band(self.band.trigger, self.band.started)
        await self._wait_for_person(_("Condensing context…"), waits=False)

    async def _wait_for_person(self, status: str, *, waits: bool) -> None:
        self.waits = waits
        self._show_status(status)
        self.on_wait()
        await self.show_panel()

    @show.register
    async def _(self, _event: events.CondensingFellBack) -> None:
        self.notice = None
        if self.band:
            self.band.tokens_written, self.band.draft = 0, None
        await self._show_transcript()
        await self.show_panel()

    @show.register
    async def _(self, event: events.CondensingEnded) -> None:
        self.band = self.notice = None
        self.waits = False
        self._show_status(labels.outcome_name(event.kind, event.status))
        await self._show_transcript()
        await self.show_panel()

    async def _end_wait(self) -> None:
        """Take back the notice of a retry that worked."""
        self.notice = None
        await self.show_panel()

    def _remove_streaming(self) -> None:
        if self.streaming:
            self.watchers.send(outgoing_frames.article_removed(self.streaming.id))
            self.streaming = None

    async def _show_row(self) -> None:
        """Show the newest message as it is now."""
        if self._newest and self.watchers:
            row = await reading(_render_row)(self.conversation_id, self._newest, dict(self._tools))
            self.watchers.send(outgoing_frames.article_upserted(*row))

    def _show_status(self, text: str) -> None:
        self.status = text
        self.watchers.send(outgoing_frames.status_changed(text, turn=self.turn, waits=self.waits))

    async def _show_transcript(self) -> None:
        revision = await reading(row_pages.revision)(self.conversation_id)
        self.watchers.send(outgoing_frames.transcript_changed(revision))

    async def show_panel(self) -> None:
        """Show how the context stands."""
        async with self._panels:
            if self.watchers:
                self.watchers.send(await self.panel())


def _render_row(conversation_id: uuid.UUID, seq: int, tools: ToolEvents) -> tuple[str, str]:
    row, conversation = row_builder.live_row(conversation_id, seq, tools)
    html = render_to_string(row.template, {"row": row, "conversation": conversation})
    return row.id, html


def _render_card(
    conversation_id: uuid.UUID, seq: int, tools: ToolEvents, call: str
) -> tuple[str, str]:
    """Return (element id, HTML) of a call's card, or of its row where others have the same id."""
    row, conversation = row_builder.live_row(conversation_id, seq, tools)
    parts = getattr(row, "parts", ())
    cards = [one for one in parts if isinstance(one, ToolCard) and one.id == call]
    if len(cards) != 1:
        return _render_row(conversation_id, seq, tools)
    context = {"card": cards[0], "row": row, "conversation": conversation}
    return f"tool-{seq}-{call}", render_to_string("chat/_tool_card.html", context)


def _render_review(review_pk: int) -> str:
    return render_to_string("chat/_review.html", {"shown": summary_proposal.read_review(review_pk)})


def _trigger_of(review_pk: int) -> str:
    return Condensation.objects.values_list("trigger", flat=True).get(reviews=review_pk)
