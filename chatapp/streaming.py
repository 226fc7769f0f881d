"""The reply that is being written: its text in coalesced frames, its place in the transcript."""

import time
from dataclasses import dataclass, field

from django.template.loader import render_to_string

from chatapp import protocol
from chatapp.rendering import MarkdownStream

# Streamed text is sent this often, in seconds: it reads as flowing, and batches fast models.
COALESCE = 0.05


@dataclass(slots=True)
class Streaming:
    """The reply that is being written; ``sent`` counts the closed blocks the watchers have."""

    id: str = "streaming"
    markdown: MarkdownStream = field(default_factory=MarkdownStream)
    pending: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    open: str = ""
    sent: int = 0
    due: float | None = None

    def feed(self, text: str) -> None:
        """Take more text; it is due to be sent within ``COALESCE`` seconds."""
        self.pending.append(text)
        self.due = self.due or time.monotonic() + COALESCE

    def frame(self, since: int) -> protocol.Frame:
        """Return the text from closed block ``since`` on, rendering what has come."""
        update = self.markdown.feed("".join(self.pending))
        self.pending.clear()
        self.closed.extend(update.closed)
        self.open = update.open
        return protocol.text_streamed(
            self.id, index=since, closed=self.closed[since:], open_=self.open
        )

    def render(self) -> str:
        """Return the article that the text goes into."""
        return render_to_string("chat/_streaming.html", {"id": self.id, "cards": []})
