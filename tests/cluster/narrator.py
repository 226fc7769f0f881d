"""The model: it tells stories of numbered words, and goes on where what it is sent breaks off.

A message asks for one: ``Tell 7: 60 words every 0.05 s``, perhaps ``, using {a tool's call}``
after half of them. No word is in two stories, or twice in one.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, override

from tests.standin.behaviours import Behaviour, Gate, Reply, ToolCall
from tests.standin.rules import blocks_of
from tests.standin.server import Standin

WORD = re.compile(r"\bs\d+w\d+\b")
# On a line of its own, as it is kept through a condensation.
ASKED = re.compile(r"^Tell (\d+): (\d+) words every ([\d.]+) s(?:, using (.+))?$", re.MULTILINE)
# What asks for a summary, or for a title, quotes what was asked.
SUMMARY, TITLE = "<summary>", "<question>"
TAGS = re.compile(r"<[^>]*>")
# Words of a paragraph: some of a long answer is closed for good while it is written.
PARAGRAPH = 12

_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Story:
    """What a message asks for, and what a page should show in the end."""

    number: int
    length: int
    pace: float
    call: ToolCall | None = None

    @property
    def words(self) -> Sequence[str]:
        """All of its words."""
        return [f"s{self.number}w{place}" for place in range(1, self.length + 1)]

    @property
    def message(self) -> str:
        """The message that asks for it."""
        asked = f"Tell {self.number}: {self.length} words every {self.pace} s"
        if self.call is None:
            return asked
        return (
            f"{asked}, using {json.dumps({'name': self.call.name, 'input': dict(self.call.input)})}"
        )


def story(length: int = 60, pace: float = 0.05, call: ToolCall | None = None) -> Story:
    """Return a story that nobody has heard: some words, three of them each ``pace`` seconds."""
    return Story(next(_numbers), length, pace, call)


def read_words(html: str) -> list[str]:
    """Return the words of stories in a text or in HTML."""
    return WORD.findall(TAGS.sub(" ", html))


class Narrator(Standin):
    """The stand-in, which tells what it is asked for; everything else it answers as it does."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # How often each story was asked for, and gates that hold all stories where there is one.
        self.asked: Counter[int] = Counter()
        self.held: dict[int, Gate] = {}
        self._lock = threading.Lock()

    def hold(self, number: int) -> Gate:
        """Have a story stand after its first words, until the gate is opened."""
        gate = self.held[number] = Gate()
        self._gates.append(gate)
        return gate

    @override
    def next(self, body: Mapping[str, Any]) -> Behaviour:
        messages = body["messages"]
        asked, since = _asked(messages)
        wanted = json.dumps(blocks_of(messages[-1])[-1])
        if asked is None or SUMMARY in wanted:
            return super().next(body)
        if TITLE in wanted:
            return Reply(f"Story number {asked.number}")
        with self._lock:
            self.asked[asked.number] += 1
        said, used = _said(since)
        words, calls = asked.words[len(said) :], list[ToolCall]()
        if asked.call and not used:
            # What is said before it is half of them; one that broke off there may have more.
            words, calls = words[: max(0, asked.length // 2 - len(said))], [asked.call]
        return Reply(
            _text(words, len(said)) or ("" if calls else "The end."),
            tools=calls,
            pace=asked.pace,
            gate=self.held.get(asked.number),
        )


def _text(words: Sequence[str], before: int) -> str:
    """Return words as a text in paragraphs."""
    ends = [
        "\n\n" if place % PARAGRAPH == 0 else " "
        for place in range(before + 1, before + 1 + len(words))
    ]
    return "".join(word + end for word, end in zip(words, ends, strict=True)).rstrip()


def _asked(messages: Sequence[Mapping[str, Any]]) -> tuple[Story | None, Sequence[Any]]:
    """Return what the newest message that asks for a story wants, and what was said since."""
    for place in range(len(messages) - 1, -1, -1):
        for block in blocks_of(messages[place]):
            if block["type"] == "text" and (found := ASKED.search(block["text"])):
                number, length, pace, using = found.groups()
                call = ToolCall(**json.loads(using)) if using else None
                return Story(int(number), int(length), float(pace), call), messages[place + 1 :]
    return None, ()


def _said(messages: Sequence[Mapping[str, Any]]) -> tuple[list[str], bool]:
    """Return which words the model has said in these, and whether it used a tool."""
    own = [one for one in messages if one["role"] == "assistant"]
    blocks = [block for message in own for block in blocks_of(message)]
    text = " ".join(block["text"] for block in blocks if block["type"] == "text")
    return WORD.findall(text), any(block["type"] == "tool_use" for block in blocks)
