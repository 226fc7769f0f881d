"""Replay of a whole history under other settings, with excerpts in place of a model's summaries."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from condense.budget.situation import Gauge, Situation, Trigger
from condense.condenser.condenser import Condenser
from condense.errors import CondenseError
from condense.history.effective_history import replace_hidden
from condense.messages import Message
from condense.prices import Usage
from condense.summaries.summarizer import Chunk, SummaryRequest, TextChunk
from condense.tokens.counters import TokenCount, TokenCounter, count_messages

# The excerpt's share of the text it replaces: recorded summaries of a coding agent took as much.
EXCERPT_SHARE = 0.037
# Failures in a row after which no further condensation is tried.
MOST_FAILURES = 3


class ExcerptSummarizer:
    """A summarizer without a model: it answers with an excerpt of the replies."""

    supports_images = False
    caches_prompts = False

    async def stream(self, request: SummaryRequest) -> AsyncIterator[Chunk]:
        """Yield the excerpt."""
        yield TextChunk(excerpt(request.messages))


def excerpt(messages: Sequence[Message]) -> str:
    """Return the first line of each reply, the newest that fit into the usual share."""
    room = EXCERPT_SHARE * sum([len(message.text) for message in messages])
    lines: list[str] = []
    for message in reversed(messages):
        line = message.text.strip().partition("\n")[0]
        if message.role == "assistant" and line:
            room -= len(line)
            if room < 0 and lines:
                break
            lines.append(line)
    return "\n".join(reversed(lines)) or "Nothing was said."


@dataclass(slots=True)
class Replayed:
    """The number of condensations, and the tokens of each request to the model.

    ``cache_read`` counts the tokens at the beginning of a request that the one before had, too.
    """

    condensations: int = 0
    requests: list[Usage] = field(default_factory=list)

    @property
    def largest(self) -> int:
        """The tokens of the largest request."""
        return max([one.prompt for one in self.requests], default=0)

    @property
    def tokens_read(self) -> int:
        """The tokens of all requests together."""
        return sum([one.prompt for one in self.requests])


async def replay_history(
    messages: Sequence[Message], condenser: Condenser, start: Situation, counter: TokenCounter
) -> Replayed:
    """Return the requests and condensations of a conversation that had begun with ``start``.

    Each reply takes one request. Before it, the context is condensed if the budget says so.
    """
    found, seen, failures = Replayed(), list[Message](), 0
    fixed = tokens = Gauge(start, counter).fixed
    known = 0
    for message in messages:
        if message.role == "assistant":
            loops = bool(seen and seen[-1].tool_results)
            if failures < MOST_FAILURES and start.budget.reason(tokens, automatic=not loops):
                shown = await _condensed(seen, tokens, condenser, start)
                failures = failures + 1 if shown is None else 0
                if shown is not None:
                    seen, known = [*shown], fixed
                    tokens = fixed + count_messages(seen, counter)
                    found.condensations += 1
            found.requests.append(Usage(input=tokens - known, cache_read=known))
            known = tokens
        seen.append(message)
        tokens += count_messages((message,), counter)
    return found


async def _condensed(
    seen: Sequence[Message], tokens: int, condenser: Condenser, start: Situation
) -> Sequence[Message] | None:
    """Return the effective history after a condensation, None if none succeeded."""
    effective, size = tuple(seen), TokenCount(tokens)
    situation = replace(start, effective=effective, tokens=size, trigger=Trigger.AUTO)
    try:
        reduction = await condenser.fit(situation)
    except CondenseError:
        return None
    if reduction is None:
        return None
    made = replace(reduction.message, seq=seen[-1].seq)
    return replace_hidden(effective, reduction.hidden, made)
