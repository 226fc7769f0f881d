"""The reply that is being written: its text in coalesced frames, its place in the transcript."""

import math
import time
import uuid
from dataclasses import dataclass

from django.template.loader import render_to_string

from chatapp.agent import pace
from chatapp.live import frames
from chatapp.rendering import MarkdownStream, StreamUpdate, render_markdown

# A share of the pause: what comes once in each is sent when it comes, not a moment later.
ALMOST = 0.9


class Streaming:
    """The reply that is being written, and how much of it the watchers have.

    An open code block may grow long, so watchers get what is new of it. Anything else that is open
    is short, and sent whole.
    """

    id = "streaming"

    def __init__(self) -> None:
        """Begin with an empty text."""
        pace.count(self)
        self.due: float | None = None
        self._began = -math.inf
        self._markdown = MarkdownStream()
        self._source: list[str] = []
        self._pending: list[str] = []
        self._closed: list[str] = []
        self._latest = StreamUpdate((), "")
        # What was sent: closed blocks, and the complete lines of an open code block.
        self._sent = 0
        self._lines: _Length | None = None

    def feed(self, text: str) -> None:
        """Take more text; it is due to be sent a pause after what came before it."""
        self._source.append(text)
        self._pending.append(text)
        if self.due is None:
            now = time.monotonic()
            self.due = max(now, self._began + ALMOST * pace.interval())
            self._began = now

    def snapshot(self) -> frames.Frame:
        """Return the whole text, for one who has nothing of it."""
        self._read()
        return self._frame(0)

    def news(self) -> frames.Frame:
        """Return what is new for those who got all news before; it is not due any more."""
        self.due = None
        self._read()
        code, known = self._latest.code, self._lines
        if code is None or known is None or self._sent < len(self._closed):
            frame, known = self._frame(self._sent), _Length()
        else:
            text = code.lines[known.characters :] + code.line
            frame = frames.code_streamed(self.id, index=self._sent, at=known.units, text=text)
        self._sent, self._lines = len(self._closed), known.grown_to(code.lines) if code else None
        return frame

    def render(self) -> str:
        """Return the article that the text goes into."""
        return render_to_string("chat/_streaming.html", {"id": self.id})

    def render_unsaved(self) -> tuple[str, str]:
        """Return (element id, HTML) of an article that keeps the text, which nothing else has."""
        id_, source = f"unsaved-{uuid.uuid4().hex}", "".join(self._source)
        context = {"id": id_, "html": render_markdown(source), "source": source}
        return id_, render_to_string("chat/_unsaved.html", context)

    def _read(self) -> None:
        """Render what has come."""
        self._latest = self._markdown.feed("".join(self._pending))
        self._pending.clear()
        self._closed.extend(self._latest.closed)

    def _frame(self, since: int) -> frames.Frame:
        closed = self._closed[since:]
        return frames.text_streamed(self.id, index=since, closed=closed, open_=self._latest.open)


@dataclass(frozen=True, slots=True)
class _Length:
    """The length of a text, as Python counts it and as a browser does: in UTF-16 units."""

    characters: int = 0
    units: int = 0

    def grown_to(self, text: str) -> "_Length":
        """Return the length of ``text``, which begins with the text that was measured."""
        more = text[self.characters :]
        return _Length(len(text), self.units + len(more.encode("utf-16-le")) // 2)
