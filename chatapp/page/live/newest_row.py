"""The row of the newest message while its turn runs, with its tool calls as their events say."""

import uuid
from dataclasses import replace

from django.template.loader import render_to_string

from chatapp.agent import events
from chatapp.models import Conversation
from chatapp.models.database import reading
from chatapp.page.live import outgoing_frames
from chatapp.page.live.outgoing_frames import Watchers
from chatapp.page.transcript import row_builder
from chatapp.page.transcript.message_parts import ToolCard


class NewestRow:
    """Shows the row of message ``seq`` (0: none); ``tools`` has each call's newest event."""

    def __init__(self, conversation_id: uuid.UUID, watchers: Watchers) -> None:
        self._conversation, self._watchers = Conversation(pk=conversation_id), watchers
        self.clear()

    def clear(self, seq: int = 0) -> None:
        """Go on to the message ``seq``, without the events of calls before it."""
        self.seq = seq
        self.tools: dict[str, events.ToolStarted | events.ToolFinished] = {}

    def progress(self, event: events.ToolProgressed) -> None:
        """Show the output so far of a running call, and keep it."""
        started = self.tools.get(event.id)
        if isinstance(started, events.ToolStarted):
            self.tools[event.id] = replace(started, output=event.output)
            self._watchers.send(outgoing_frames.tool_progressed(self.seq, event.id, event.output))

    async def show(self, call: str = "") -> None:
        """Show the row as it is now, or only the card of a ``call``: it may have hundreds."""
        if self.seq and self._watchers:
            self._watchers.send(outgoing_frames.article_upserted(*await self.render(call)))

    async def render(self, call: str = "") -> tuple[str, str]:
        """Return (element id, HTML) of the row, or of the card if no other call has its id."""
        return await reading(_render)(self._conversation, self.seq, dict(self.tools), call)


def _render(
    conversation: Conversation, seq: int, tools: row_builder.ToolEvents, call: str
) -> tuple[str, str]:
    row = row_builder.live_row(conversation, seq, tools)
    context = {"row": row, "conversation": conversation}
    parts = getattr(row, "parts", ()) if call else ()
    cards = [one for one in parts if isinstance(one, ToolCard) and one.id == call]
    if len(cards) == 1:
        html = render_to_string("chat/_tool_card.html", {"card": cards[0], **context})
        return f"tool-{seq}-{call}", html
    return row.id, render_to_string(row.template, context)
