"""Summarizers that the tests of the engine alone need."""

import asyncio
from collections.abc import AsyncIterator

from condense.summaries.summarizer import Chunk, SummaryRequest, TextChunk
from condense.testing import ScriptedSummarizer


class RepeatingSummarizer(ScriptedSummarizer):
    """Gives the same reply to every call; ``most_at_once`` is the most calls that overlapped."""

    running = most_at_once = 0

    async def stream(self, request: SummaryRequest) -> AsyncIterator[Chunk]:
        """Yield the reply, letting other calls begin first."""
        self._replies.append(self._replies[0])
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        try:
            await asyncio.sleep(0)
            async for chunk in super().stream(request):
                yield chunk
        finally:
            self.running -= 1


class EchoSummarizer:
    """Answers with all it was sent, ``times`` over: a summary that makes nothing smaller."""

    supports_images = True
    caches_prompts = False

    def __init__(self, times: int = 1) -> None:
        self.times = times
        self.requests: list[SummaryRequest] = []

    async def stream(self, request: SummaryRequest) -> AsyncIterator[Chunk]:
        """Yield the text of each message."""
        self.requests.append(request)
        for message in request.messages * self.times:
            yield TextChunk(f"{message.text}\n")
