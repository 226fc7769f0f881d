"""Chats that were made up for the comparison, with facts that somebody comes back to later.

A chat is a text: ``USER`` and ``AGENT`` begin turns, ``...`` stands for the next three paragraphs
below ``FILLER``, in turn, a line of ``====`` is where it is cut, and ``[[…]]`` marks a fact.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files

from condense.evaluation.recordings import Cut, Fact, Recording
from condense.messages import Message, Role
from condense.tokens import TokenCounter

_ROLES: dict[str, Role] = {"USER": "user", "AGENT": "assistant"}
_FACT = re.compile(r"\[\[(.+?)\]\]")
_TURNS = re.compile(r"^(USER|AGENT|====)\n", re.MULTILINE)
_MORE = "..."
PARAGRAPHS = 3  # in place of each "..."


def chats(counter: TokenCounter) -> Sequence[Callable[[], Recording]]:
    """Return all chats by name, each to be read when its turn comes."""
    texts = (path for path in files(__name__).iterdir() if path.name.endswith(".txt"))
    return [
        partial(read_chat, path.name.removesuffix(".txt"), path.read_text("utf-8"), counter)
        for path in sorted(texts, key=lambda path: path.name)
    ]


def read_chat(name: str, text: str, counter: TokenCounter) -> Recording:
    """Return a chat with its cuts and facts."""
    script, _, filler = text.partition("\nFILLER\n")
    paragraphs = itertools.cycle(filler.strip().split("\n\n"))
    messages: list[Message] = []
    cuts: list[Cut] = []
    facts: list[Fact] = []
    for kind, words in itertools.batched(_TURNS.split(script)[1:], 2):
        if kind not in _ROLES:
            cuts.append(Cut(len(messages), "script"))
            continue
        facts += (Fact(len(messages), fact) for fact in _FACT.findall(words))
        said = "\n\n".join(_paragraphs(_FACT.sub(r"\1", words), paragraphs))
        seq = len(messages) + 1
        message = Message(_ROLES[kind], said, id=f"m{seq}", seq=seq)
        messages.append(replace(message, tokens=counter.count(said)))
    return Recording(name, tuple(messages), tuple(cuts), tuple(facts))


def _paragraphs(words: str, filler: Iterator[str]) -> Iterator[str]:
    for line in words.strip().split("\n"):
        if line == _MORE:
            yield from itertools.islice(filler, PARAGRAPHS)
        else:
            yield line
