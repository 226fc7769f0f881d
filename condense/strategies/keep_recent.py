"""Keep recent: a summary of the older part, and the newest messages as they are."""

from collections.abc import Sequence
from dataclasses import replace

from condense.budget.situation import Gauge, Reduction, Situation
from condense.errors import DidNotShrink
from condense.history.boundaries import safe_cuts, unread_tail
from condense.history.effective_history import replace_hidden
from condense.messages import Message
from condense.reduction.strategy import ByModel, split_at, summarise
from condense.sentences import noop, say
from condense.summaries.summarizer import Kit

# As many as Roo Code kept before it started afresh.
MESSAGES = 3
# If less is gained, the next condensation would be due a few messages later.
LEAST_REDUCTION = 0.2


class KeepRecent(ByModel):
    """Keeps the last ``messages``, or ``tokens`` up to half, verbatim after the summary.

    The cut moves back to the next place that splits no tool call from its result, with ``tokens``
    forward; if the context is too large, fewer messages stay, down to the unread ones. With
    ``keep_first`` the summary carries the conversation's first message too, word for word.
    """

    name = "keep_recent"
    label = noop("summary + recent messages")
    description = noop("the newest messages stay word for word")
    takes = ("messages", "tokens", "keep_first")

    def __init__(
        self, messages: int = MESSAGES, tokens: int | None = None, *, keep_first: bool = False
    ) -> None:
        self.messages = messages
        self.tokens = tokens
        self.keep_first = keep_first

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a condensation.

        Raises NothingToCondense or DidNotShrink before any call if too little could be hidden,
        SummaryFailed after a failed one, and DidNotShrink if less than a fifth was gained.
        """
        gauge = Gauge(situation, kit.counter)
        effective, last = situation.effective, unread_tail(situation.effective)
        # Cuts that keep the newest request first, then later ones.
        cuts = [cut for cut in safe_cuts(effective) if cut <= last]
        if self.tokens is not None:
            most = min(self.tokens, gauge.size(effective) // 2)
            cuts = [cut for cut in cuts if gauge.size(effective[cut:]) <= most]
        else:
            most = len(effective) - self.messages
            first = max([cut for cut in cuts if cut <= most], default=0)
            cuts = [cut for cut in cuts if cut >= first]
        split = split_at(gauge, cuts)
        split = replace(split, keeps_first=self.keep_first)
        self._require_gain(split.kept, gauge)
        reduction = await summarise(self, split, gauge, kit)
        self._require_gain(replace_hidden(effective, reduction.hidden, reduction.message), gauge)
        return reduction

    def _require_gain(self, rest: Sequence[Message], gauge: Gauge) -> None:
        was, is_now = gauge.size(gauge.situation.effective), gauge.size(rest)
        if is_now > was * (1 - LEAST_REDUCTION):
            said = say(
                "The history would hardly get smaller: {before:,} → {after:,} tokens beside "
                "system prompt and tools, and {share} have to go",
                before=was,
                after=is_now,
                share=format(LEAST_REDUCTION, ".0%"),
            )
            raise DidNotShrink(said)
