"""Last messages: a marker with the facts of all earlier ones; no model is called."""

from collections.abc import Iterator, Sequence

from condense.budget.situation import Situation
from condense.history.boundaries import safe_cuts, unread_tail
from condense.messages import Message
from condense.reduction.truncation import ByTruncation
from condense.sentences import noop

# As many as LangChain's middleware keeps, and the guides of several agents advise.
MESSAGES = 20


class LastMessages(ByTruncation):
    """Hides all but the ``last`` messages, at a cut that keeps each call with its result.

    Messages that the model has not read stay in any case.
    """

    name = "last_messages"
    label = noop("last messages")
    description = noop("the newest messages stay, older ones become key facts")
    takes = ("last",)

    def __init__(self, last: int = MESSAGES) -> None:
        self.last = last

    def plans(self, situation: Situation) -> Iterator[Sequence[Message]]:
        """Yield the messages before the last ones."""
        effective = situation.effective
        most = min(len(effective) - self.last, unread_tail(effective))
        yield effective[: max([cut for cut in safe_cuts(effective) if cut <= most], default=0)]
