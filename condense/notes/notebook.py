"""Notebooks: facts gathered from messages in order, going on from an earlier ledger."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from condense.messages import Content, Message, TextBlock
from condense.notes.feedback import words_in
from condense.notes.ledger import Ledger
from condense.notes.ledger_text import ledger_of, render
from condense.notes.sentences import estimate, plain_text
from condense.notes.statements import Statements
from condense.notes.todos import TodoList
from condense.notes.token_budget import choose, fit
from condense.notes.tool_calls import Call, read_calls
from condense.notes.user_words import Requests, said
from condense.notes.work import Work
from condense.tokens.counters import TokenCounter


class Notebook:
    """Facts so far; each kind by what identifies a fact, the newest last."""

    def __init__(self) -> None:
        self.requests = Requests()
        self.statements = Statements()
        self.work = Work()
        self.todos = TodoList()
        self._reply = ""

    def read(self, messages: Sequence[Message]) -> None:
        """Note the facts of messages, and go on from the ledgers of summaries and markers."""
        calls: dict[str, list[Call]] = defaultdict(list)
        for message, call in read_calls(messages):
            calls[message.id].append(call)
        for message in messages:
            if earlier := ledger_of(message):
                self.carry(earlier)
            else:
                self.hear(message)
            for call in calls.pop(message.id, ()):
                self.watch(call)

    def carry(self, earlier: Ledger) -> None:
        """Take over facts as they are; one that is known already counts once."""
        self.requests.carry(earlier.requests, earlier.names)
        self.statements.carry(earlier.statements)
        self.work.carry(earlier)
        self.todos.carry(earlier.todos, earlier.done)

    def hear(self, message: Message) -> None:
        """Note what the user said, or a reply stated."""
        if message.role == "assistant":
            self._reply = message.text or self._reply
            self.statements.hear(message)
            self.work.identifiers.hear(message.text)
        elif text := said(message):
            self.requests.hear(text, reply=self._reply)

    def watch(self, call: Call) -> None:
        """Note what a tool was called for, how that went, and what a person said to it."""
        for words, about in words_in(call):
            self.requests.hear(words, to=about)
        self.work.watch(call)
        self.todos.follow(call)

    def ledger(self, hidden: float) -> Ledger:
        """Return all that is known but identifiers of so many ``hidden`` tokens, newest first."""
        return replace(
            self.work.ledger(),
            requests=self.requests.newest(),
            todos=tuple(self.todos.open.values()),
            done=self.todos.done,
            statements=self.statements.newest(hidden),
            names=self.requests.names(),
        )


# A twenty-fifth of the window of Claude's models, 200,000 tokens.
BUDGET = 8_000
SHARE = 0.04
# A ledger is to take no more than a tenth of what it newly stands for, the most that the summaries
# of chats may; but half a percent of such a window can be spared in any case. Of a small window it
# may take so much, or a tenth: its session is no shorter than others.
OF_HIDDEN, LEAST = 0.1, 1_000


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
