"""Notebooks: facts gathered from messages in order, going on from an earlier ledger."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from condense.budget.situation import RulesAmong
from condense.facts.budget import fit, worth_keeping
from condense.facts.calls import (
    FinishedCall,
    command_of,
    error_line,
    is_edit,
    is_lookup,
    kind_of,
    read_calls,
    touched_paths,
)
from condense.facts.ledger import Demand, Failure, FileUse, Ledger, Run, ledger_of, render
from condense.facts.names import weightiest
from condense.facts.rules import language_spoken, rules_in, statements_in
from condense.facts.texts import GAP, estimate, leaves, one_line, plain_text
from condense.facts.todos import TodoFollower
from condense.messages import Message, TextBlock
from condense.tokens.counters import TokenCounter

QUESTION_CHARS = 80
MOST_STATEMENTS = 20  # of a request that are looked at; what has more is a text
FEW_TOKENS = 8  # so short an answer may say nothing without its question
STALE_CALLS = 50  # after which an error that nobody came back to is taken for settled
_ASKS = re.compile(r"[?？؟]")
# Arguments that choose among a tool's own words.
_CHOICES = ("output_mode", "mode", "status", "type", "subagent_type", "action")


@dataclass(slots=True)
class Notebook:
    """Facts so far, each kind by its identifying part, the newest last.

    ``sources`` has the id of the last message with each fact.
    """

    requests: dict[Demand, None] = field(default_factory=dict)
    rules: dict[str, None] = field(default_factory=dict)
    files: dict[str, FileUse] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    todos: TodoFollower = field(default_factory=TodoFollower)
    last_reply: str = ""
    sources: dict[object, str] = field(default_factory=dict)
    _failures: dict[str, tuple[int, Failure]] = field(default_factory=dict)
    # After how many calls a text came that may have names, and whether a result printed it.
    _told: list[tuple[int, str, bool]] = field(default_factory=list)
    _calls: int = 0
    _reply: str = ""
    _source: str = ""

    def read(self, messages: Sequence[Message], rules_among: RulesAmong | None = None) -> None:
        """Note the facts of messages, and go on from the ledgers of summaries and markers."""
        calls: dict[str, list[FinishedCall]] = {}
        for message, call in read_calls(messages):
            calls.setdefault(message.id, []).append(call)
        for message in messages:
            self._source = message.id
            if earlier := ledger_of(message):
                self.carry(earlier)
            elif message.role == "assistant":
                self._hear(message)
            elif not (message.is_summary or message.is_marker) and (text := message.words.strip()):
                question = "" if estimate(text) > FEW_TOKENS or _ASKS.search(text) else self._reply
                self._renew(self.requests, Demand(text, question_in(question)))
            for call in calls.pop(message.id, ()):
                self._watch(call)
        language = language_spoken(messages)
        said = {one: statements_in(one.text)[:MOST_STATEMENTS] for one in self.requests}
        told = [shown for statements in said.values() for _, shown in statements]
        meant = rules_among(told) if rules_among and told else ()
        for request, statements in said.items():
            self._source = self.sources[request]
            by_meaning = [one for one, shown in statements if shown in meant]
            for rule in (*rules_in(request.text, language), *by_meaning):
                self._renew(self.rules, rule)

    def carry(self, earlier: Ledger) -> None:
        """Take over facts as they are; one that is known already counts once."""
        # A forgotten rule's place says nothing.
        for rule in reversed([one for one in earlier.rules if one != GAP]):
            self._renew(self.rules, rule)
        for request in reversed(earlier.requests):
            self._renew(self.requests, request)
        for file in reversed(earlier.files):
            self._touch(file.path, edited=file.edited)
        for run in reversed(earlier.runs):
            self._run(run.head, run.times)
        for failure in reversed(earlier.failures):
            self._renew(self._failures, failure.subject, (self._calls, failure))
        self.todos.carry(earlier.todos, earlier.done)
        self._told.append((self._calls, " ".join(earlier.names), False))
        self.last_reply = earlier.last_reply or self.last_reply

    @property
    def failures(self) -> list[Failure]:
        """The errors that still stand, oldest first."""
        return [one for at, one in self._failures.values() if self._calls - at < STALE_CALLS]

    def ledger(self) -> Ledger:
        """Return all that is known, newest first; names by their weight."""
        told = [(self._calls - at, text, printed) for at, text, printed in self._told]
        return Ledger(
            rules=tuple(reversed(self.rules)),
            requests=tuple(reversed(self.requests)),
            todos=self.todos.open,
            done=self.todos.done,
            files=tuple(reversed(self.files.values())),
            runs=tuple(reversed(self.runs.values())),
            failures=tuple(reversed(self.failures)),
            names=tuple(weightiest(told)),
            last_reply=self.last_reply,
        )

    def _hear(self, reply: Message) -> None:
        text = reply.text
        self._reply = text or self._reply
        self._told.append((self._calls, text, False))
        if text.strip() and not reply.tool_uses:
            self.last_reply = text.strip()

    def _watch(self, call: FinishedCall) -> None:
        """Note a tool call's arguments, its outcome, and the user's words about it."""
        self._calls += 1
        if words := call.user_words.strip():
            self._renew(self.requests, Demand(words, call.about))
        self.todos.follow(call)
        said = "\n".join(leaves(call.arguments, _CHOICES))
        self._told += [(self._calls, said, False), (self._calls, call.answer, True)]
        paths = touched_paths(call)
        command = "" if paths else command_of(call)
        for path in paths:
            if call.outcome != "failed" or path in self.files:
                self._touch(path, edited=call.outcome == "ok" and is_edit(call))
        # A command that the user refused with a reason was never run.
        if command and not call.user_words:
            self._run(command, 1)
        looks = bool(command) and is_lookup(command)
        for subject in paths or (kind_of(command) if command else call.about,):
            if call.outcome == "ok":
                self._failures.pop(subject, None)
            elif call.outcome == "failed" and not looks and (line := error_line(call.answer)):
                self._renew(self._failures, subject, (self._calls, Failure(subject, line)))

    def _touch(self, path: str, *, edited: bool) -> None:
        known = self.files.get(path)
        self._renew(self.files, path, FileUse(path, edited or (known is not None and known.edited)))

    def _run(self, head: str, times: int) -> None:
        known = self.runs.get(head, Run(head, 0))
        self._renew(self.runs, head, replace(known, times=known.times + times))

    def _renew(self, facts: dict[Any, Any], key: object, value: object = None) -> None:
        """Set the fact and make it the newest."""
        facts.pop(key, None)
        facts[key] = value
        self.sources[key] = self._source


def question_in(reply: str) -> str:
    """Return the last line of a reply that asks something."""
    lines = [line.strip() for line in reply.split("\n") if _ASKS.search(line)]
    return one_line(lines[-1], QUESTION_CHARS) if lines else ""


# A ledger may take such a share of the window; of one that nobody knows, as of 200,000 tokens.
WINDOW_SHARE = 0.04
BUDGET = 8_000  # tokens
# Of what it newly stands for a ledger usually takes the first share, and may take the second where
# there is more to keep; or so many tokens.
USUAL_SHARE, HIDDEN_SHARE, LEAST_TOKENS = 0.0125, 0.13, 200
# Of a small window, whose session is no shorter than others, it may take more.
SMALL_SHARE, SMALL_TOKENS = 0.1, 1_000


def ledger(
    hidden: Sequence[Message],
    *,
    budget_tokens: int = BUDGET,
    counter: TokenCounter | None = None,
    rules_among: RulesAmong | None = None,
) -> tuple[TextBlock, ...]:
    """Return the facts of hidden messages as one text block, or none if there are none.

    The ledger of a summary or marker among them is carried on. Without a counter four bytes are a
    token. ``rules_among`` is as in :class:`condense.Situation`.
    """
    text = render(
        gather(hidden, budget_tokens=budget_tokens, counter=counter, rules_among=rules_among)
    )
    return (TextBlock(text),) if text else ()


def gather(
    hidden: Sequence[Message],
    *,
    budget_tokens: int = BUDGET,
    counter: TokenCounter | None = None,
    rules_among: RulesAmong | None = None,
) -> Ledger:
    """Return the facts worth keeping whose text takes ``budget_tokens`` at most."""
    notebook = Notebook()
    notebook.read(hidden, rules_among)
    known = estimate(plain_text([message for message in hidden if ledger_of(message)]))
    new = estimate(plain_text(hidden)) - known
    most = known + max(LEAST_TOKENS, HIDDEN_SHARE * new)

    def excess(text: str) -> float:
        tokens = counter.count(text) if counter else estimate(text)
        return max(tokens / budget_tokens, estimate(text) / most)

    facts = worth_keeping(notebook.ledger(), known + USUAL_SHARE * new)
    return fit(facts, min(budget_tokens, most), excess)


def budget_in(window: int) -> int:
    """Return the most tokens of a ledger in a context window; 0 is an unknown window."""
    return int(max(WINDOW_SHARE * window, min(SMALL_TOKENS, SMALL_SHARE * window))) or BUDGET
