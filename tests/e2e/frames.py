"""The server's end of a page's socket, held by a test: frames are sent as the server would."""

import re
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

from django.template.loader import render_to_string
from playwright.sync_api import Page, WebSocketRoute

from chatapp.live import outgoing_frames
from chatapp.live.streamed_text import Streaming
from chatapp.transcript.message_parts import Part, ToolCard
from chatapp.transcript.rows import MessageRow

LINE_OF_FILE = "One line of the file.\n"


class Line:
    """The page's socket, at the test's end of it."""

    def __init__(self, page: Page) -> None:
        """Stand in for the server."""
        self.socket: WebSocketRoute | None = None
        page.route_web_socket(re.compile("/ws/"), self._connect)

    def _connect(self, socket: WebSocketRoute) -> None:
        self.socket = socket

    def show(self, *shown: outgoing_frames.Frame) -> None:
        """Send frames as the server would."""
        assert self.socket
        for frame in shown:
            for part in outgoing_frames.parts(frame):
                self.socket.send(outgoing_frames.encode(part))


def begin(page: Page, streaming: Streaming) -> outgoing_frames.Frame:
    """Return what a page is sent when an answer begins."""
    revision = page.evaluate("Number(document.getElementById('transcript').dataset.revision)")
    article = (streaming.id, streaming.render())
    bar = render_to_string("chat/_context_bar.html", {"context": None})
    panel = outgoing_frames.panel(bar=bar, due="", condensing="", written="", notice="", now=0)
    return outgoing_frames.snapshot(
        outgoing_frames.Place("one", 0),
        revision=revision,
        turn=str(uuid.uuid4()),
        status="Writing…",
        articles=[article],
        streamed=None,
        panel=panel,
    )


def message(*parts: Part, seq: int = 900, **facts: object) -> outgoing_frames.Frame:
    """Return what a page is sent when a message of the agent is stored."""
    row = MessageRow(
        id=f"message-{seq}",
        seq=seq,
        position=seq,
        role="assistant",
        parts=parts,
        created_at=datetime(2026, 11, 22, tzinfo=UTC),
        rewindable=True,
        is_step="turn" not in facts and any(isinstance(part, ToolCard) for part in parts),
    )
    context = {"row": replace(row, **facts), "conversation": SimpleNamespace(pk=uuid.uuid4())}
    return outgoing_frames.article_upserted(row.id, render_to_string(row.template, context))


def card(path: str, lines: int = 1, *, name: str = "read_file", state: str = "done") -> ToolCard:
    """Return the card of a call that answered with so many lines."""
    text = LINE_OF_FILE * lines
    return ToolCard(
        id=f"call-{path}",
        name=name,
        argument=path,
        input=f'{{"path": "{path}"}}',
        result=text,
        state=state,
        size=len(text),
    )
