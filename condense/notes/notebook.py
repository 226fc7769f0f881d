"""Collects facts from messages in reading order, going on from an earlier ledger."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from condense.messages import Message
from condense.notes.ledger import Ledger
from condense.notes.ledger_parser import ledger_of
from condense.notes.statements import Statements
from condense.notes.todos import TodoList
from condense.notes.tool_calls import Call, read_calls
from condense.notes.user_words import Requests, said
from condense.notes.work import Work


class Notebook:
    """Facts so far; each kind by what identifies a fact, the newest last."""

    def __init__(self) -> None:
        """Begin with nothing known."""
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
        self.requests.overhear(call)
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
