"""What the user asked for, said and answered, and which of it later words replace."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from condense.facts.answering import words_in
from condense.facts.asking import names_in
from condense.facts.calls import Call
from condense.facts.excerpt import shortened
from condense.facts.ledger import Request
from condense.facts.plain import estimate, one_line
from condense.facts.questions import asks, question_in
from condense.facts.replacing import most_alike, replacing

SHORT = 8  # tokens; such an answer may say nothing without its question
QUOTE = 120  # characters of words that replace others
NAMES = 200  # more names than any ledger shows


class Requests:
    """The user's words, each once, the newest last."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[tuple[str, str], Request] = {}
        self._names: dict[str, None] = {}

    def hear(self, text: str, *, reply: str = "", to: str = "") -> None:
        """Note what the user said to a ``reply``, or in the result of the call ``to``."""
        if not to and estimate(text) <= SHORT and not asks(text):
            to = question_in(reply, text)
        self._mark_replaced(text)
        self._renew(Request(shortened(text), to))
        self._note_names(names_in(text))

    def overhear(self, call: Call) -> None:
        """Note what a person said in the result of a call."""
        for words, about in words_in(call):
            self.hear(words, to=about)

    def carry(self, earlier: Sequence[Request], names: Sequence[str]) -> None:
        """Take over the requests and names of an earlier ledger, the newest first there."""
        for request in reversed(earlier):
            known = self._known.get((request.text, request.to), request)
            self._renew(replace(request, replaced=request.replaced or known.replaced))
            self._note_names(names_in(request.text))
        self._note_names(names)

    def newest(self) -> tuple[Request, ...]:
        """Return them newest first."""
        return tuple(reversed(self._known.values()))

    def names(self) -> tuple[str, ...]:
        """Return what the words name, newest first."""
        return tuple(islice(reversed(self._names), NAMES))

    def _note_names(self, names: Sequence[str]) -> None:
        for name in reversed(names):
            self._names.pop(name, None)
            self._names[name] = None

    def _renew(self, request: Request) -> None:
        self._known.pop((request.text, request.to), None)
        self._known[request.text, request.to] = request

    def _mark_replaced(self, text: str) -> None:
        """Mark the request that each sentence says it replaces, if one is about the same."""
        for sentence in replacing(text):
            others = (key for key in reversed(self._known) if key[0] != text)
            if key := most_alike(sentence, ((key, key[0]) for key in others)):
                quote = one_line(sentence, QUOTE)
                self._known[key] = replace(self._known[key], replaced=quote)
