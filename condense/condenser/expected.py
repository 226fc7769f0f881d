"""What an attempt may take of a model, before any call is made."""

from collections.abc import Sequence

from condense.history.boundaries import unread_tail
from condense.messages import Message
from condense.prompts import summary_system
from condense.reducing.base import WORDS, words_for
from condense.situation import Gauge, Situation
from condense.tokens import TokenCounter
from condense.usage import Usage
from condense.writing.summarizer import Summarizer, budget_of, caches_prompts

# An analysis comes before the summary, and is about as long.
TEXTS = 2


def expected_usage(
    gauge: Gauge, prompt: str, summarizer: Summarizer, counter: TokenCounter
) -> Usage:
    """Return the tokens that a summary of what the model has read may take; none without a prompt.

    ``cache_read`` is what the conversation's own calls have sent before, whether or not the
    provider still has it.
    """
    if not prompt:
        return Usage()
    situation = gauge.situation
    budget = budget_of(summarizer, situation.budget)
    read = gauge.scale * gauge.size(situation.picked or _read(situation))
    asked, output = counter.count(prompt), int(TEXTS * words_for(situation) / WORDS)
    output = min(output, budget.reserved)
    same = round(read + gauge.scale * gauge.fixed)
    if not situation.chosen and caches_prompts(summarizer) and same + asked <= budget.capacity:
        return Usage(input=asked, output=output, cache_read=same)
    return Usage(input=round(read) + asked + counter.count(summary_system()), output=output)


def _read(situation: Situation) -> Sequence[Message]:
    return situation.effective[: unread_tail(situation.effective)]
