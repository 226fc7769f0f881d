"""Facts from the hidden part of a conversation, taken without a model.

:func:`gather` reads messages into a :class:`Ledger`, :func:`ledger` gives it as the text block
that stands beside or instead of a summary, and :func:`parse_ledger` reads that text again, so a
later condensation carries the facts on as they are.
"""

import math
from collections.abc import Sequence

from condense.messages import Content, Message, TextBlock
from condense.notes.failures import error_line
from condense.notes.feedback import words_in
from condense.notes.ledger import Failure, FileUse, Ledger, Request, Run, Todo
from condense.notes.ledger_parser import ledger_of, parse_ledger
from condense.notes.ledger_text import render
from condense.notes.notebook import Notebook
from condense.notes.paths import is_edit, touched_paths
from condense.notes.sentences import estimate, one_line, plain_text
from condense.notes.token_packing import choose, fit
from condense.notes.tool_calls import Call, command_of, head_of, is_lookup, read_calls
from condense.notes.user_words import names_in, said
from condense.tokens import TokenCounter

# A twenty-fifth of the window of Claude's models, 200,000 tokens.
BUDGET = 8_000
SHARE = 0.04
# A ledger is to take no more than a tenth of what it newly stands for, the most that the summaries
# of chats may; but half a percent of such a window can be spared in any case. Of a small window it
# may take so much, or a tenth: its session is no shorter than others.
OF_HIDDEN, LEAST = 0.1, 1_000

__all__ = [
    "Call",
    "Failure",
    "FileUse",
    "Ledger",
    "Request",
    "Run",
    "Todo",
    "budget_in",
    "command_of",
    "error_line",
    "gather",
    "head_of",
    "is_edit",
    "is_lookup",
    "ledger",
    "ledger_of",
    "names_in",
    "one_line",
    "parse_ledger",
    "plain_text",
    "read_calls",
    "render",
    "said",
    "touched_paths",
    "words_in",
]


def ledger(
    hidden: Sequence[Message],
    *,
    budget_tokens: int = BUDGET,
    counter: TokenCounter | None = None,
) -> tuple[TextBlock, ...]:
    """Return the facts of hidden messages as one text block, or none where there are none.

    The ledger of a summary or marker among them is carried on as it is. Without a counter four
    bytes are a token.
    """
    text = render(gather(hidden, budget_tokens=budget_tokens, counter=counter))
    return (TextBlock(text),) if text else ()


def gather(
    hidden: Sequence[Message],
    *,
    budget_tokens: int = BUDGET,
    counter: TokenCounter | None = None,
) -> Ledger:
    """Return the facts worth keeping whose text takes ``budget_tokens`` at most.

    Where that is more than a tenth of what they stand for, users' words are cut to what they tell.
    """
    notebook = Notebook()
    notebook.read(hidden)
    carried = [message for message in hidden if ledger_of(message)]
    size = estimate(plain_text(hidden))
    known = estimate(plain_text(carried))
    chosen, named = choose(notebook.ledger(size - known), notebook.work.identifiers)
    wanted = known + max(LEAST, OF_HIDDEN * (size - known))
    return fit(chosen, named, budget_tokens, counter or _Estimate(), wanted=wanted)


def budget_in(window: int) -> int:
    """Return how many tokens a ledger may take of a context window; 0 is one that nobody knows."""
    return int(max(SHARE * window, min(LEAST, OF_HIDDEN * window))) or BUDGET


class _Estimate:
    """Counts texts by their bytes."""

    def count(self, content: Content) -> int:
        """Return about how many tokens a text takes."""
        return math.ceil(estimate(str(content)))
