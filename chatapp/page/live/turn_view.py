"""The view of a running turn: each event changes it, and only the changes are sent.

Frames are rendered once for all watchers of one language, with the page's own templates, and not at
all for nobody.
"""

import asyncio
import logging
import uuid
from functools import cache

from chatapp.agent import events
from chatapp.conversations.context.turn_context import TurnSettings, read_terms
from chatapp.models import Condensation
from chatapp.models.database import reading
from chatapp.page.live import outgoing_frames, status_panel
from chatapp.page.live.newest_row import NewestRow
from chatapp.page.live.outgoing_frames import Watchers
from chatapp.page.live.status_panel import CondensingStatus, Notice
from chatapp.page.live.streamed_text import Awaited, ShownReply, StreamedText
from chatapp.page.transcript import labels, row_pages
from chatapp.project.sentences import translate as _

log = logging.getLogger(__name__)

# A share of the window: if a question takes less, the bar shows it with the answer.
LEAST_NEWS = 0.001


@cache
def _method_for(event: str) -> str:
    return "".join([f"_{one.lower()}" if one.isupper() else one for one in event])


class TurnView:
    """The view of a conversation's running turn: status, unfinished rows, panel, notice."""

    def __init__(self, conversation_id: uuid.UUID, watchers: Watchers) -> None:
        self.conversation_id = conversation_id
        self.watchers = watchers
        # The id of the turn that runs, or "".
        self.turn = ""
        self.status = ""
        # True while the turn waits for a person's answer.
        self.waits = False
        self._sent_status: outgoing_frames.Frame | None = None
        self.condensing: CondensingStatus | None = None
        self._outcome: str | None = None
        self.notice: Notice | None = None
        self.streaming: ShownReply | None = None
        # The turn's settings and figures; where one is None, the database is read instead.
        self._terms: TurnSettings | None = None
        # When the request to the model began, None before it and after the answer.
        self._asked: float | None = None
        self._context: events.ContextChanged | None = None
        self._is_outdated = False
        # The size of the context in the newest panel, in tokens.
        self._shown_size: int | None = None
        self._row = NewestRow(conversation_id, watchers)
        # True if the newest message ends the turn; its row is shown when the turn has ended.
        self._is_final_reply = False
        self._unsaved: list[tuple[str, str]] = []
        # Panels are read and sent one at a time: an older one never replaces a newer one.
        self._panels = asyncio.Lock()

    @property
    def part(self) -> StreamedText | None:
        """The part that grows, None before the first one."""
        return self.streaming.parts[-1] if self.streaming and self.streaming.parts else None

    @property
    def growing(self) -> ShownReply | None:
        """The reply that is being written; None once it is stored, and pages fetch its row."""
        return None if self._is_final_reply else self.streaming

    def begin(
        self, turn: uuid.UUID, terms: TurnSettings | None = None, *, waits: bool = False
    ) -> None:
        """Show that a turn runs on these ``terms``, if known, or ``waits`` for a person."""
        self.turn, self.notice, self._is_final_reply = str(turn), None, False
        self._terms, self._context, self._asked, self._is_outdated = terms, None, None, False
        self._unsaved.clear()
        status = _("Waiting for you.") if waits else _("Waiting for the model…")
        self._show_status(status, waits=waits)

    def wait_for_worker(self) -> None:
        """Show that no worker has taken the turn: all are busy, or there is none."""
        self._show_status(_("Waiting for a free worker…"))

    def wait_for_channel(self) -> None:
        """Show only that the turn runs, as its events are missing; not if it waits for a person."""
        if not self.waits:
            self._show_status(_("Running. News of it comes late."))

    async def settle(self) -> None:
        """Show the last row as the turn's end makes it, and the text that could not be stored."""
        unsaved = None if self._is_final_reply else self.streaming
        self._remove_streaming()
        if unsaved and unsaved.texts:
            self._unsaved.append(await unsaved.render_unsaved())
            self.watchers.send(outgoing_frames.article_upserted(*self._unsaved[-1]))
        await self._row.show()

    async def end(self, status: str, notice: Notice | None, *, changed: bool) -> None:
        """Show a turn's end: its status, and the transcript again if that has ``changed``."""
        self._row.clear()
        self.condensing, self.notice = None, notice
        if changed:
            await self._show_transcript()
        async with self._panels:
            panel = None
            if self.watchers:
                try:
                    panel = await self.panel()
                except Exception:
                    log.exception("the context could not be shown")
                    panel = status_panel.render_panel(None, self.condensing, self.notice)
            self.turn, self._terms, self._context = "", None, None
            # A turn that only condensed has said its outcome.
            self._show_status(status if self.status != self._outcome else self.status, waits=False)
            if panel:
                self.watchers.send(panel)

    async def articles(self) -> list[tuple[str, str]]:
        """Return (element id, HTML) of each article in flight, in the transcript's order."""
        articles = []
        if self._row.seq and not self._is_final_reply:
            articles.append(await self._row.render())
        if self.growing:
            articles.append((self.growing.id, self.growing.render()))
        return [*articles, *self._unsaved]

    async def panel(self) -> outgoing_frames.Frame:
        """Return the panel's frame, from the run's figures, or else from the database."""
        # The condensation may end while the review is read, so it is kept in a variable.
        if (condensing := self.condensing) and condensing.review:
            # Read each time: somebody may have typed into it.
            condensing.shown = await reading(status_panel.render_review)(condensing.review)
        if self._context and self._terms is None and not self._is_outdated:
            self._terms = await reading(read_terms)(self.conversation_id, self.turn)
        shown = self.condensing, self.notice
        if self._terms and self._context:
            self._shown_size = self._context.tokens
            drawn = await status_panel.panel_of(self._terms, self._context, *shown)
        else:
            read = reading(status_panel.read_panel)
            drawn, self._shown_size = await read(self.conversation_id, *shown)
        # More of the summary may have been written while the rest was rendered.
        return drawn | status_panel.written_of(self.condensing)

    async def show_change(self) -> None:
        """Show that the conversation was changed by something other than the run."""
        # The turn's figures of the context may be outdated now.
        self._terms, self._is_outdated = None, True
        await self._show_transcript()
        await self.show_panel()

    async def flush(self) -> None:
        """Send streamed text that is due."""
        part = self.part
        if part is None or part.due is None:
            return
        # Not due any more, even where sending fails: the row brings the whole text in the end.
        part.due = None
        await self._send_text(part)

    async def _send_text(self, part: StreamedText) -> None:
        if self.watchers and (news := await part.read_news()):
            self.watchers.send(news)

    async def show(self, event: events.TurnEvent) -> None:
        """Show an event of the run; the method is named as it is."""
        await getattr(self, _method_for(type(event).__name__))(event)

    async def _restarted(self, _event: events.Restarted) -> None:
        """Forget the run's state: its events come again."""
        self._remove_streaming()
        self._row.clear()
        self._is_final_reply = False
        self.condensing = self.notice = self._asked = None
        self.waits, self._sent_status = False, None

    async def _text_streamed(self, event: events.TextStreamed | events.ThinkingStreamed) -> None:
        growing = self.part
        if isinstance(event, events.TextStreamed) and (growing is None or growing.thought):
            if not event.text.strip("\n"):  # Nothing is said yet.
                return
            await self._begin_part()
        if part := self.part:
            part.feed(event.text)

    _thinking_streamed = _text_streamed

    async def _thinking_started(self, event: events.ThinkingStarted) -> None:
        await self._begin_part(event.since)

    async def _thinking_ended(self, event: events.ThinkingEnded) -> None:
        await self._end_part(event.seconds)

    async def _begin_part(self, thought_since: float | None = None) -> None:
        """Show that the reply begins, or goes on, with a thought or a text."""
        await self._end_part()
        self._asked = None
        self.streaming = self.streaming or ShownReply()
        self._draw(self.streaming.begin(thought_since=thought_since))
        self._show_status(_("Thinking…") if thought_since else _("Writing…"))
        await self._clear_retry_notice()

    async def _end_part(self, seconds: int | None = None) -> None:
        """Show the rest of a part, and a thought's duration."""
        part = self.part
        if part and not part.is_over:
            part.end(seconds)
            await self._send_text(part)
            if part.thought:
                self._draw(part)

    async def _step_started(self, event: events.StepStarted) -> None:
        self._asked = event.since
        self._show_status(_("Waiting for the model…"))
        await self._show_awaited()
        # A cancelled attempt may not have said that it ended.
        if (self.condensing and not self.condensing.awaited) or self.notice:
            self.condensing = self.notice = None
            await self.show_panel()

    async def _condensing_awaited(self, event: events.CondensingAwaited) -> None:
        if event.awaited and self.condensing is None:
            self.condensing = CondensingStatus("manual", awaited=True)
        elif self.condensing and self.condensing.awaited and not event.awaited:
            self.condensing = None
        await self.show_panel()

    async def _show_awaited(self) -> None:
        """Show a line in the answer's place that names the awaited model."""
        if self._asked is None or self.part:
            return
        awaited = Awaited(self._asked)
        if (terms := self._terms) and (context := self._context) and self.watchers:
            model, tokens = terms.profile.name, context.tokens
            expected = terms.profile.pace and terms.profile.pace * tokens
            awaited = Awaited(self._asked, model, tokens, context.measured, expected)
        self.streaming = ShownReply(awaited)
        self._draw(self.streaming)

    def _draw(self, shown: ShownReply | StreamedText) -> None:
        """Show the element of a reply, or of a part, as it is now."""
        if self.watchers:
            self.watchers.send(outgoing_frames.article_upserted(shown.id, shown.render()))

    async def _tool_use_started(self, event: events.ToolUseStarted) -> None:
        if self.streaming and not self.part:
            self._asked, self.streaming = None, ShownReply()
            self._draw(self.streaming)
        self._show_status(_("Calling {tool}…", tool=event.name))
        await self._clear_retry_notice()

    async def _tool_started(self, event: events.ToolStarted | events.ToolFinished) -> None:
        self._row.tools[event.id] = event
        if isinstance(event, events.ToolStarted):
            self._show_status(_("Running {tool}…", tool=event.name))
        await self._row.show(event.id)

    _tool_finished = _tool_started

    async def _person_asked(self, _event: events.PersonAsked) -> None:
        # First the question, then the status: a page that shows the status has the question.
        await self._row.show()
        self._show_status(_("Waiting for you."), waits=True)

    async def _person_answered(self, _event: events.PersonAnswered) -> None:
        self._show_status(_("Going on…"), waits=False)
        await self._row.show()

    async def _tool_progressed(self, event: events.ToolProgressed) -> None:
        self._row.progress(event)

    async def _message_appended(self, event: events.MessageAppended) -> None:
        self.notice = self._asked = None
        # Results are shown in the row of the message with their calls. After another message the
        # events of earlier calls are dropped, since their ids may come again.
        if not event.holds_results:
            self._row.clear(event.seq)
        self._is_final_reply = event.role == "assistant" and not event.calls
        # The final reply's row needs the turn's figures; until then its streamed text is shown.
        if not self._is_final_reply:
            self._remove_streaming()
            await self._row.show()

    async def _context_changed(self, event: events.ContextChanged) -> None:
        is_first, self._context = self._context is None, event
        if not self._is_final_reply:
            shown, least = self._shown_size, LEAST_NEWS * event.window
            if not is_first or shown is None or abs(event.tokens - shown) >= least:
                await self.show_panel()
            await self._show_awaited()

    async def _stream_discarded(self, _event: events.StreamDiscarded) -> None:
        self._remove_streaming()

    async def _retry_scheduled(self, event: events.RetryScheduled) -> None:
        if self.part and self.streaming and not self.streaming.texts:
            self._remove_streaming()  # The model will think anew.
            self._asked = event.since
            await self._show_awaited()
        self.notice = Notice("retry", event.reason, until=event.since + event.seconds)
        self._show_status(
            _("Trying again: {number} of {count}", number=event.attempt, count=event.attempts)
        )
        await self.show_panel()

    async def _condensing_started(self, event: events.CondensingStarted) -> None:
        if not self.part:
            self._remove_streaming()
        # Several attempts in a row are shown as one condensation, with one start.
        if self.condensing is None or self.condensing.awaited:
            self.condensing = CondensingStatus(event.trigger, event.since)
        self._show_status(_("Condensing context…"))
        await self.show_panel()

    async def _condensing_progressed(self, event: events.CondensingProgressed) -> None:
        if not self.condensing:
            return
        if self.notice:
            self._show_status(_("Condensing context…"))
            await self._clear_retry_notice()
        self.condensing.tokens_written = event.tokens_written
        written = status_panel.written_of(self.condensing)["written"]
        self.watchers.send(outgoing_frames.condensing_progressed(written))

    async def _summary_streamed(self, event: events.SummaryStreamed) -> None:
        if not self.condensing:
            return
        begins, before = self.condensing.draft is None, self.condensing.draft or ""
        self.condensing.draft = before[: event.at] + event.text
        if begins:
            await self.show_panel()
        else:
            self.watchers.send(outgoing_frames.draft_streamed(self.condensing.draft))

    async def _review_asked(self, event: events.ReviewAsked) -> None:
        if self.condensing is None:
            # After a restart the attempt began in another process.
            attempt = await reading(Condensation.objects.get)(reviews=event.id)
            self.condensing = CondensingStatus(attempt.trigger)
        self.condensing.review = event.id
        self._show_status(_("Waiting for you."), waits=True)
        await self.show_panel()

    async def _review_answered(self, _event: events.ReviewAnswered) -> None:
        if self.condensing:
            self.condensing = CondensingStatus(self.condensing.trigger, self.condensing.started)
        self._show_status(_("Condensing context…"), waits=False)
        await self.show_panel()

    async def _condensing_fell_back(self, _event: events.CondensingFellBack) -> None:
        self.notice = None
        if self.condensing:
            self.condensing.tokens_written, self.condensing.draft = 0, None
        await self._show_transcript()
        await self.show_panel()

    async def _condensing_ended(self, event: events.CondensingEnded) -> None:
        # A condensation that was put off is due again.
        self.condensing = self.notice = self._terms = None
        self._outcome = labels.outcome_name(event.kind, event.status)
        self._show_status(self._outcome, waits=False)
        await self._show_transcript()
        await self.show_panel()
        await self._show_awaited()

    async def _clear_retry_notice(self) -> None:
        """Remove the notice of a retry that worked."""
        if self.notice:
            self.notice = None
            await self.show_panel()

    def _remove_streaming(self) -> None:
        if self.streaming:
            self.watchers.send(outgoing_frames.article_removed(self.streaming.id))
            self.streaming = None

    def _show_status(self, text: str, *, waits: bool | None = None) -> None:
        """Show the status, and if ``waits`` is given, that the turn waits for a person or not."""
        self.status = text
        self.waits = self.waits if waits is None else waits
        frame = outgoing_frames.status_changed(text, turn=self.turn, waits=self.waits)
        if frame != self._sent_status:
            self._sent_status = frame
            self.watchers.send(frame)

    async def _show_transcript(self) -> None:
        revision = await reading(row_pages.revision)(self.conversation_id)
        self.watchers.send(outgoing_frames.transcript_changed(revision))

    async def show_panel(self) -> None:
        """Show the context's state."""
        async with self._panels:
            if self.watchers:
                self.watchers.send(await self.panel())
