"""The reply that is being written: its parts in coalesced frames, its place in the transcript."""

import asyncio
import math
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from chatapp.agent import async_tasks
from chatapp.page.live import outgoing_frames
from chatapp.page.markdown import MarkdownStream, render_markdown
from chatapp.page.transcript.message_parts import ThoughtPart

# A share of the pause: a text that comes once in each is sent as it comes, not a moment later.
ALMOST = 0.9

# Characters that are rendered on the event loop, in some hundredths of a second at worst.
_BRIEF = 5_000


class StreamedText:
    """A part of the reply that is being written, and the extent that watchers have of it.

    It is a ``thought``, or else a text. An open code block may grow long, so watchers get only its
    new end. Anything else that is open is short, and sent whole.
    """

    def __init__(self, id_: str = "streaming-0", *, thought_since: float | None = None) -> None:
        async_tasks.STREAMED_TEXTS.add(self)
        self.id = id_
        self.thought = ThoughtPart(since=thought_since, id=id_) if thought_since else None
        self.is_over = False
        self.due: float | None = None
        self._began = -math.inf
        self._markdown = MarkdownStream()
        self._reading = asyncio.Lock()
        self._source: list[str] = []
        # The number of rendered pieces of the source.
        self._read = 0
        # The sent part: the closed blocks, and the pieces and units of the open code block.
        self._sent = 0
        self._code: object = None
        self._code_pieces = self._code_units = 0
        self._newest: outgoing_frames.Frame | None = None

    @property
    def source(self) -> str:
        """The markdown up to here."""
        return "".join(self._source)

    def feed(self, text: str) -> None:
        """Add text; it is due to be sent a pause after the text before it."""
        self._source.append(text)
        if self.due is None:
            now = time.monotonic()
            self.due = max(now, self._began + ALMOST * async_tasks.interval())
            self._began = now

    def end(self, seconds: int | None = None) -> None:
        """Close the part; ``seconds`` is the duration of a thought."""
        async_tasks.STREAMED_TEXTS.discard(self)
        self.is_over = True
        if self.thought:
            self.thought = replace(
                self.thought, text=self.source.strip(), seconds=seconds, since=None
            )

    async def read_news(self) -> outgoing_frames.Frame | None:
        """Return the news, None if a page shows them already: a long block is not always drawn."""
        before, self._newest = self._newest, await self._make(self.news)
        return self._newest if self._newest != before else None

    async def read_whole(self) -> outgoing_frames.Frame:
        """Return the whole text."""
        return await self._make(self.snapshot)

    async def _make(self, make: Callable[[], outgoing_frames.Frame]) -> outgoing_frames.Frame:
        """Make a frame, in a thread if that may take long."""
        async with self._reading:
            brief = self._markdown.size + sum(map(len, self._source[self._read :])) <= _BRIEF
            return make() if brief else await asyncio.to_thread(make)

    def snapshot(self) -> outgoing_frames.Frame:
        """Return the whole text, for a watcher that has nothing of it."""
        self._render()
        closed, open_ = self._markdown.closed, self._markdown.open_html()
        return outgoing_frames.text_streamed(self.id, index=0, closed=closed, open_=open_)

    def news(self) -> outgoing_frames.Frame:
        """Return the news for watchers that have all earlier ones; nothing is due any more."""
        self.due = None
        self._render()
        if self.is_over:
            self._markdown.finish()
        code, closed = self._markdown.code, self._markdown.closed
        grows = code is not None and code is self._code and self._sent == len(closed)
        if not grows:
            self._code_pieces = self._code_units = 0
        text = "".join(code.pieces[self._code_pieces :]) if code else ""
        if grows:
            at = self._code_units
            frame = outgoing_frames.code_streamed(self.id, index=self._sent, at=at, text=text)
        else:
            new, open_ = closed[self._sent :], self._markdown.open_html()
            frame = outgoing_frames.text_streamed(
                self.id, index=self._sent, closed=new, open_=open_
            )
        self._sent, self._code = len(closed), code
        if code:
            self._code_pieces = len(code.pieces)
            self._code_units += len(text.encode("utf-16-le")) // 2
        return frame

    def render(self) -> SafeString:
        """Return the element that the text goes into."""
        context = {"id": self.id, "thought": self.thought}
        return render_to_string("chat/_streamed_part.html", context)

    def _render(self) -> None:
        """Render the text fed so far; more may be fed while a thread does."""
        pieces = self._source[self._read :]
        self._read += len(pieces)
        self._markdown.feed("".join(pieces))


@dataclass(frozen=True, slots=True)
class Awaited:
    """An awaited reply: its ``model``, its begin (Unix seconds), and the tokens to read.

    ``expected`` is the number of seconds until then, None if unknown.
    """

    since: float
    model: str = ""
    tokens: int = 0
    measured: bool = False
    expected: float | None = None


class ShownReply:
    """The reply that is being written: its parts, of which the last one grows."""

    id = "streaming"

    def __init__(self, awaited: Awaited | None = None) -> None:
        self.awaited = awaited
        self.parts: list[StreamedText] = []

    @property
    def texts(self) -> Sequence[StreamedText]:
        """The parts that are no thoughts."""
        return [part for part in self.parts if not part.thought]

    def begin(self, *, thought_since: float | None = None) -> "ShownReply | StreamedText":
        """Begin another part; return the reply or the part that is to be drawn for it."""
        self.parts.append(StreamedText(f"{self.id}-{len(self.parts)}", thought_since=thought_since))
        return self.parts[-1] if len(self.parts) > 1 else self

    def render(self) -> SafeString:
        """Return the article with a place for each part."""
        awaited = None if self.parts else self.awaited
        context = {"id": self.id, "parts": self.parts, "awaited": awaited}
        return render_to_string("chat/_streaming.html", context)

    async def snapshot(self) -> list[outgoing_frames.Frame]:
        """Return the frames of all parts, for a watcher that has none of them."""
        return [await part.read_whole() for part in self.parts]

    async def render_unsaved(self) -> tuple[str, str]:
        """Return (element id, HTML) of an article that keeps the text, which nothing else has."""
        source = "\n\n".join([one.source for one in self.texts])
        id_ = f"unsaved-{uuid.uuid4().hex}"
        html = await asyncio.to_thread(render_markdown, source)
        context = {"id": id_, "html": html, "source": source}
        return id_, render_to_string("chat/_unsaved.html", context)
