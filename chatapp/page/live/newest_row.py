"""The row of the newest message while its turn runs, with its tool calls as their events say."""

import uuid
from dataclasses import replace

from django.template.loader import render_to_string

from chatapp.agent import events
from chatapp.models import Conversation
from chatapp.models.database import reading
from chatapp.page.transcript import row_builder
from chatapp.page.transcript.message_parts import ToolCard


class NewestRow:
    """Renders the row of message ``seq`` (0: none); ``tools`` has each call's newest event."""

    def __init__(self, conversation_id: uuid.UUID) -> None:
        self._conversation = Conversation(pk=conversation_id)
        self.clear()

    def clear(self, seq: int = 0) -> None:
        """Go on to the message ``seq``, without the events of calls before it."""
        self.seq = seq
        self.tools: dict[str, events.ToolStarted | events.ToolFinished] = {}

    def progress(self, call: str, output: str) -> bool:
        """Keep the output so far of a running call; return False for any other."""
        started = self.tools.get(call)
        if isinstance(started, events.ToolStarted):
            self.tools[call] = replace(started, output=output)
        return isinstance(started, events.ToolStarted)

    async def render(self) -> tuple[str, str]:
        """Return (element id, HTML) of the row."""
        return await reading(_render_row)(self._conversation, self.seq, dict(self.tools))

    async def render_card(self, call: str) -> tuple[str, str]:
        """Return (element id, HTML) of a call's card, or of its row if others have the same id."""
        tools = dict(self.tools)
        return await reading(_render_card)(self._conversation, self.seq, tools, call)


def _render_row(
    conversation: Conversation, seq: int, tools: row_builder.ToolEvents
) -> tuple[str, str]:
    row = row_builder.live_row(conversation, seq, tools)
    html = render_to_string(row.template, {"row": row, "conversation": conversation})
    return row.id, html


def _render_card(
    conversation: Conversation, seq: int, tools: row_builder.ToolEvents, call: str
) -> tuple[str, str]:
    row = row_builder.live_row(conversation, seq, tools)
    parts = getattr(row, "parts", ())
    cards = [one for one in parts if isinstance(one, ToolCard) and one.id == call]
    if len(cards) != 1:
        return _render_row(conversation, seq, tools)
    context = {"card": cards[0], "row": row, "conversation": conversation}
    return f"tool-{seq}-{call}", render_to_string("chat/_tool_card.html", context)
