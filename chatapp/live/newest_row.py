"""The row of the newest message, which may still change."""

import uuid
from dataclasses import replace

from django.template.loader import render_to_string

import condense
from chatapp.agent import events
from chatapp.live import outgoing_frames
from chatapp.live.watchers import Watchers
from chatapp.models.database import reading
from chatapp.transcript import message_parts, row_builder, rows

ToolEvents = dict[str, events.ToolStarted | events.ToolFinished]


class NewestRow:
    """Shows the newest message again whenever its tools have told something."""

    def __init__(self, conversation_id: uuid.UUID, watchers: Watchers) -> None:
        """Begin with no message."""
        self._conversation_id = conversation_id
        self._watchers = watchers
        self._seq = 0
        self._tools: ToolEvents = {}
        # Whether it ends the turn, and is shown with that.
        self.ends = False

    def forget(self) -> None:
        """Have no message: the last one changes no more."""
        self._seq, self._tools = 0, {}

    def take(self, message: condense.Message) -> None:
        """Go on with a message that was stored; results belong to the one that called for them."""
        if not message.tool_results:
            # The next reply's calls may have the same ids.
            self._seq, self._tools = message.seq, {}
        self.ends = message.role == "assistant" and not message.tool_uses

    def learn(self, event: events.ToolStarted | events.ToolFinished) -> None:
        """Take in what a tool has told."""
        self._tools[event.id] = event

    async def show_call(self, call: str) -> None:
        """Show a call's card as it is now: a row of hundreds would be sent for each of them."""
        if self._seq and self._watchers:
            tools = dict(self._tools)
            card = await reading(_render_card)(self._conversation_id, self._seq, tools, call)
            self._watchers.send(outgoing_frames.article_upserted(*card))

    def progress(self, event: events.ToolProgressed) -> None:
        """Show what a tool that runs has said so far."""
        started = self._tools.get(event.id)
        if isinstance(started, events.ToolStarted):
            self._tools[event.id] = replace(started, output=event.output)
            self._watchers.send(outgoing_frames.tool_progressed(self._seq, event.id, event.output))

    async def articles(self) -> list[tuple[str, str]]:
        """Return (element id, HTML) of the row, as long as it is in flight."""
        return [await self._render()] if self._seq and not self.ends else []

    async def show(self) -> None:
        """Show it as it is now."""
        if self._seq and self._watchers:
            self._watchers.send(outgoing_frames.article_upserted(*await self._render()))

    async def _render(self) -> tuple[str, str]:
        return await reading(_render_row)(self._conversation_id, self._seq, dict(self._tools))


def _render_card(
    conversation_id: uuid.UUID, seq: int, tools: ToolEvents, call: str
) -> tuple[str, str]:
    """Return (element id, HTML) of a call's card, or of its row where others have the same id."""
    row, conversation = row_builder.live_row(conversation_id, seq, tools)
    parts = row.parts if isinstance(row, rows.MessageRow) else ()
    cards = [one for one in parts if isinstance(one, message_parts.ToolCard) and one.id == call]
    if len(cards) != 1:
        return _render_row(conversation_id, seq, tools)
    context = {"card": cards[0], "row": row, "conversation": conversation}
    return f"tool-{seq}-{call}", render_to_string("chat/_tool_card.html", context)


def _render_row(conversation_id: uuid.UUID, seq: int, tools: ToolEvents) -> tuple[str, str]:
    row, conversation = row_builder.live_row(conversation_id, seq, tools)
    html = render_to_string(row.template, {"row": row, "conversation": conversation})
    return row.id, html
