"""The server's end of a page's sockets, held by a test, and frames as the server sends them."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

from django.template.loader import render_to_string
from playwright.sync_api import Page, WebSocketRoute

from chatapp.page.live import outgoing_frames
from chatapp.page.live.streamed_text import ShownReply
from chatapp.page.transcript.message_parts import Part, ToolCard
from chatapp.page.transcript.rows import MessageRow
from tests.e2e.tabs import Tabs

LINE_OF_FILE = "One line of the file.\n"


class Line:
    """The sockets of a tab, at the test's end: cut, mended, or answered by the test."""

    def __init__(self, tabs: Tabs) -> None:
        self.dead = self.held = False
        self.sockets: list[WebSocketRoute] = []
        self.page = tabs.wired(self._connect)

    def _connect(self, socket: WebSocketRoute) -> None:
        if self.dead:
            socket.close(code=1001)
            return
        if not self.held:
            socket.connect_to_server()
        self.sockets.append(socket)

    def cut(self, code: int = 1001) -> None:
        """Close what is open, and refuse what is tried until the line is no more dead."""
        self.dead = True
        self.sockets.pop().close(code=code)

    def mend(self) -> None:
        """Let the page connect again, and tell it so as a browser does whose network is back."""
        self.dead = False
        self.page.evaluate("dispatchEvent(new Event('online'))")

    def hold(self, address: str, width: int = 1280) -> Page:
        """Open a page whose server the test plays: it says nothing until ``show`` is called."""
        self.held = True
        self.page.set_viewport_size({"width": width, "height": 800})
        self.page.goto(address)
        self.page.get_by_role("textbox", name="Message").wait_for()
        return self.page

    def show(self, *shown: outgoing_frames.Frame) -> None:
        """Send frames as the server would."""
        for frame in shown:
            for text in outgoing_frames.encode(frame):
                self.sockets[-1].send(text)


def begin(page: Page, streaming: ShownReply) -> outgoing_frames.Frame:
    """Return what a page is sent when an answer begins."""
    revision = page.evaluate("Number(document.getElementById('transcript').dataset.revision)")
    article = (streaming.id, streaming.render())
    bar = render_to_string("chat/_context_bar.html", {"context": None})
    panel = outgoing_frames.panel(bar=bar, due="", condensing="", written="", notice="", now=0)
    return outgoing_frames.snapshot(
        outgoing_frames.PageProgress("one", 0),
        revision=revision,
        turn=str(uuid.uuid4()),
        status="Writing…",
        articles=[article],
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
