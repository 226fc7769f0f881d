"""One call to a model: listened to, and accounted for however it ends."""

import time
from collections.abc import AsyncIterator, Sequence

import condense
from chatapp.agent import events
from chatapp.agent.errors import ProviderError
from chatapp.agent.finishing import finish
from chatapp.agent.ports import CallRecord, Journal, ModelRequest, Provider


class Call:
    """A reply while it is written; ``reply`` is set once it is whole."""

    def __init__(
        self,
        provider: Provider,
        request: ModelRequest,
        journal: Journal,
        *,
        sent: Sequence[condense.Message] = (),
        attempt_id: str = "",
    ) -> None:
        """Take who is asked what, and where it is accounted for.

        ``sent`` is the part of the conversation that the request shows, and ``attempt_id`` names
        the attempt to condense for which it is made.
        """
        self.provider = provider
        self.request = request
        self.journal = journal
        self.sent = sent
        self.attempt_id = attempt_id
        self.reply: events.ReplyCompleted | None = None
        self.usage = condense.Usage()
        self._begin(at=time.monotonic())

    def _begin(self, at: float) -> None:
        self.usage = condense.Usage()
        self._started = at
        self._text: list[str] = []
        self._unseen: list[str] = []

    @property
    def partial(self) -> tuple[condense.Block, ...]:
        """What is worth keeping of a reply that broke off."""
        text = "".join(self._text).strip()
        return (condense.TextBlock(text),) if text else ()

    async def listen(self) -> AsyncIterator[events.StreamEvent]:
        """Yield what the provider says; a try that is made again is accounted for first.

        Raises what the provider raises, and ProviderError where the reply has no end.
        """
        async for event in self.provider.stream(self.request):
            match event:
                case events.ReplyCompleted(usage=usage):
                    self.reply, self.usage = event, usage
                case events.UsageReported(usage):
                    self.usage = usage
                case events.TextStreamed(text):
                    self._text.append(text)
                case events.OutputStreamed(text):
                    self._unseen.append(text)
                case events.RetryScheduled(reason, seconds):
                    await finish(self.journal.record_call(self.record(reason)))
                    self._begin(at=time.monotonic() + seconds)
            yield event
        if self.reply is None:
            raise ProviderError("The stream ended before the reply was complete.")

    def record(self, error: str = "") -> CallRecord:
        """Return what goes into the accounts."""
        return CallRecord(
            purpose=self.request.purpose,
            usage=self.usage,
            seconds=max(0.0, time.monotonic() - self._started),
            error=error,
            is_whole=self.reply is not None,
            streamed="".join([*self._text, *self._unseen]),
            sent=self.sent,
            attempt_id=self.attempt_id,
        )
