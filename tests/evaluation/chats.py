"""Chats that were made up for the evaluation, with facts that somebody comes back to later.

A chat is a text: ``USER`` and ``AGENT`` begin turns, ``...`` stands for the next three paragraphs
below ``FILLER``, in turn, a line of ``====`` is where it is cut, and ``[[…]]`` marks a fact.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from condense.messages import Message, Role
from condense.tokens.counters import TokenCounter
from tests.evaluation.recordings import Cut, Fact, Recording

CHATS = sorted((Path(__file__).parent / "chats").glob("*.txt"))
PARAGRAPHS = 3  # in place of each "..."
_ROLES: dict[str, Role] = {"USER": "user", "AGENT": "assistant"}
_FACT = re.compile(r"\[\[(.+?)\]\]")
_TURNS = re.compile(r"^(USER|AGENT|====)\n", re.MULTILINE)


def read_chat(path: Path, counter: TokenCounter) -> Recording:
    """Return a chat with its cuts and facts."""
    script, _, filler = path.read_text("utf-8").partition("\nFILLER\n")
    paragraphs = itertools.cycle(filler.strip().split("\n\n"))
    messages: list[Message] = []
    cuts: list[Cut] = []
    facts: list[Fact] = []
    for kind, words in itertools.batched(_TURNS.split(script)[1:], 2):
        if kind not in _ROLES:
            cuts.append(Cut(len(messages)))
            continue
        facts += (Fact(len(messages), fact) for fact in _FACT.findall(words))
        said = "\n\n".join(_paragraphs(_FACT.sub(r"\1", words), paragraphs))
        seq = len(messages) + 1
        message = Message(_ROLES[kind], said, id=f"m{seq}", seq=seq)
        messages.append(replace(message, tokens=counter.count(said)))
    return Recording(path.stem, tuple(messages), tuple(cuts), tuple(facts))


def _paragraphs(words: str, filler: Iterator[str]) -> Iterator[str]:
    for line in words.strip().split("\n"):
        if line == "...":
            yield from itertools.islice(filler, PARAGRAPHS)
        else:
            yield line
