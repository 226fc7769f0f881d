"""Notebooks: facts gathered from messages in order, going on from an earlier ledger."""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

from condense.facts.budget import NAMES, OF_NAMES, fit
from condense.facts.calls import (
    Call,
    command_of,
    is_edit,
    is_lookup,
    kind_of,
    read_calls,
    touched_paths,
)
from condense.facts.ledger import Failure, FileUse, Ledger, Request, Run
from condense.facts.markdown import ledger_of, render
from condense.facts.names import Names
from condense.facts.rules import language_spoken, rules_in
from condense.facts.texts import estimate, one_line, plain_text, shortened
from condense.facts.todos import TodoList
from condense.messages import Message, TextBlock
from condense.tokens.counters import TokenCounter

QUESTION = 80  # characters
SHORT = 8  # tokens; such an answer may say nothing without its question
LAST_REPLY = 120  # tokens
STALE = 50  # calls after which an error that nobody came back to is taken for settled
MESSAGE = 120  # characters of an error
_ASKS = re.compile(r"[?？؟]")
_TELLING = re.compile(
    r"error|fail|exception|fatal|panic|not found|no such|cannot|can't|denied|conflict|undefined",
    re.IGNORECASE,
)
# A path, or a place in a file.
_PLACE = re.compile(r"/|.:\d")
_TWO_WORDS = re.compile(r"(?<![^\W\d_])[^\W\d_]{2,}+\W++[^\W\d_]{2}")
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uac00-\ud7ff]{4}")
_TAGS = re.compile(r"</?\w+>")
_SEARCHED = 20_000  # characters of an answer that are looked at


@dataclass(slots=True)
class Notebook:
    """Facts so far, each kind by what identifies a fact, the newest last."""

    requests: dict[Request, None] = field(default_factory=dict)
    rules: dict[str, None] = field(default_factory=dict)
    files: dict[str, FileUse] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    todos: TodoList = field(default_factory=TodoList)
    names: Names = field(default_factory=Names)
    last_reply: str = ""
    _failures: dict[str, tuple[int, Failure]] = field(default_factory=dict)
    _calls: int = 0
    _reply: str = ""

    def read(self, messages: Sequence[Message]) -> None:
        """Note the facts of messages, and go on from the ledgers of summaries and markers."""
        calls: dict[str, list[Call]] = {}
        for message, call in read_calls(messages):
            calls.setdefault(message.id, []).append(call)
        for message in messages:
            if earlier := ledger_of(message):
                self.carry(earlier)
            elif message.role == "assistant":
                self._hear(message)
            elif text := said(message):
                question = "" if estimate(text) > SHORT or _ASKS.search(text) else self._reply
                _renew(self.requests, Request(text, question_in(question)), None)
            for call in calls.pop(message.id, ()):
                self.watch(call)
        language = language_spoken(messages)
        for request in self.requests:
            for rule in rules_in(request.text, language):
                _renew(self.rules, rule, None)

    def carry(self, earlier: Ledger) -> None:
        """Take over facts as they are; one that is known already counts once."""
        for rule in reversed(earlier.rules):
            _renew(self.rules, rule, None)
        for request in reversed(earlier.requests):
            _renew(self.requests, request, None)
        for file in reversed(earlier.files):
            self._touch(file.path, edited=file.edited)
        for run in reversed(earlier.runs):
            self._run(run.head, run.times)
        for failure in reversed(earlier.failures):
            self._failures[failure.subject] = self._calls, failure
        self.todos.carry(earlier.todos, earlier.done)
        self.names.carry(earlier.names)
        self.last_reply = earlier.last_reply or self.last_reply

    def watch(self, call: Call) -> None:
        """Note what a tool was called for, how that went, and what the user said to it."""
        self._calls += 1
        if words := call.user_words.strip():
            _renew(self.requests, Request(words, call.about), None)
        self.todos.follow(call)
        self.names.note(call)
        paths = touched_paths(call)
        command = "" if paths else command_of(call)
        for path in paths:
            if call.outcome != "failed" or path in self.files:
                self._touch(path, edited=call.outcome == "ok" and is_edit(call))
        if command:
            self._run(command, 1)
        looks = bool(command) and is_lookup(command)
        for subject in paths or (kind_of(command) if command else call.about,):
            if call.outcome == "ok":
                self._failures.pop(subject, None)
            elif call.outcome == "failed" and not looks and (line := error_line(call.answer)):
                _renew(self._failures, subject, (self._calls, Failure(subject, line)))

    def failures(self) -> list[Failure]:
        """Return the errors that still stand, oldest first."""
        return [one for at, one in self._failures.values() if self._calls - at < STALE]

    def ledger(self) -> Ledger:
        """Return all that is known, newest first; names by their weight."""
        return Ledger(
            rules=tuple(reversed(self.rules)),
            requests=tuple(reversed(self.requests)),
            todos=self.todos.open,
            done=self.todos.done,
            files=tuple(reversed(self.files.values())),
            runs=tuple(reversed(self.runs.values())),
            failures=tuple(reversed(self.failures())),
            names=tuple(self.names.weightiest()),
            last_reply=self.last_reply,
        )

    def _hear(self, reply: Message) -> None:
        text = reply.text
        self._reply = text or self._reply
        self.names.hear(text)
        if text.strip() and not reply.tool_uses:
            self.last_reply = shortened(text.strip(), LAST_REPLY)

    def _touch(self, path: str, *, edited: bool) -> None:
        known = self.files.get(path)
        _renew(self.files, path, FileUse(path, edited or (known is not None and known.edited)))

    def _run(self, head: str, times: int) -> None:
        known = self.runs.get(head, Run(head, 0))
        _renew(self.runs, head, replace(known, times=known.times + times))


def _renew[Key: Hashable, Value](facts: dict[Key, Value], key: Key, value: Value) -> None:
    """Set the fact and make it the newest."""
    facts.pop(key, None)
    facts[key] = value


def said(message: Message) -> str:
    """Return the user's own words in a message, "" where it is none of theirs."""
    is_theirs = message.role == "user" and not (message.is_summary or message.is_marker)
    return message.words.strip() if is_theirs else ""


def question_in(reply: str) -> str:
    """Return the last line of a reply that asks something."""
    lines = [line.strip() for line in reply.split("\n") if _ASKS.search(line)]
    return one_line(lines[-1], QUESTION) if lines else ""


def error_line(answer: str) -> str:
    """Return the line that tells most of an error, "" where none says anything.

    That is Python's last one, else the first that names an error, else the first; a word and a
    path say nothing.
    """
    lines = [line.strip() for line in _TAGS.sub("", answer[:_SEARCHED]).split("\n")]
    lines = [line for line in lines if _says_something(line)]
    if "Traceback (most recent call last)" in answer:
        lines.reverse()
    return one_line(next(filter(_TELLING.search, lines), next(iter(lines), "")), MESSAGE)


def _says_something(line: str) -> bool:
    words = " ".join([word for word in line.split() if not _PLACE.search(word)])
    is_said = _TWO_WORDS.search(words) and not words.endswith(":")
    return bool(is_said or _UNSPACED.search(words))


# A twenty-fifth of the window of Claude's models, 200,000 tokens.
BUDGET = 8_000
SHARE = 0.04
# What a ledger may take of what it newly stands for, and what it may take in any case: of a small
# window, whose session is no shorter than others, up to a tenth.
OF_HIDDEN, LEAST = 0.13, 200
OF_WINDOW, LEAST_OF_WINDOW = 0.1, 1_000


def ledger(
    hidden: Sequence[Message], *, budget_tokens: int = BUDGET, counter: TokenCounter | None = None
) -> tuple[TextBlock, ...]:
    """Return the facts of hidden messages as one text block, or none where there are none.

    The ledger of a summary or marker among them is carried on. Without a counter four bytes are a
    token.
    """
    text = render(gather(hidden, budget_tokens=budget_tokens, counter=counter))
    return (TextBlock(text),) if text else ()


def gather(
    hidden: Sequence[Message], *, budget_tokens: int = BUDGET, counter: TokenCounter | None = None
) -> Ledger:
    """Return the facts worth keeping whose text takes ``budget_tokens`` at most."""
    notebook = Notebook()
    notebook.read(hidden)
    known = estimate(plain_text([message for message in hidden if ledger_of(message)]))
    new = estimate(plain_text(hidden)) - known
    wanted = known + max(LEAST, OF_HIDDEN * new)

    def excess(text: str) -> float:
        tokens = counter.count(text) if counter else estimate(text)
        return max(tokens / budget_tokens, estimate(text) / wanted)

    carried = estimate(" ".join(notebook.names.carried))
    least, most = OF_NAMES
    of_names = min(most, max(least, carried + NAMES * new))
    return fit(notebook.ledger(), of_names, min(budget_tokens, wanted), excess)


def budget_in(window: int) -> int:
    """Return how many tokens a ledger may take of a context window; 0 is one that nobody knows."""
    return int(max(SHARE * window, min(LEAST_OF_WINDOW, OF_WINDOW * window))) or BUDGET
