"""Chats that were made up for the evaluation, with facts that somebody comes back to later.

A chat is a text: ``USER`` and ``AGENT`` begin turns, ``...`` stands for the next three paragraphs
below ``FILLER``, in turn, a line of ``====`` is where it is cut, and ``[[…]]`` marks a fact.

Some have questions that are asked weeks later, and are spliced to any size. Below ``QUESTIONS`` a
question begins with ``?``, and each form of its answer with ``=``. Below ``SLOTS`` a line has the
values of a slot. Below ``FILLER`` stand exchanges, ``U:`` and ``A:``, with slots and ``{###}`` for
digits, whose values are drawn anew each time.
"""

import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from condense.messages import Message, Role
from condense.tokens.counters import TokenCounter
from tests.evaluation.recordings import Cut, Fact, Question, Recording

CHATS = sorted((Path(__file__).parent / "chats").glob("*.txt"))
# What rules are tuned on: of each language about half. All others are only run to report.
TUNED_ON = {
    *("booking.en", "clinic.zh", "course.de", "data.en", "garden.ru", "kitchen.es"),
    *("planning.ar", "rules.de", "trip.en"),
}
PARAGRAPHS = 3  # in place of each "..."
_ROLES: dict[str, Role] = {"USER": "user", "AGENT": "assistant"}
_FACT = re.compile(r"\[\[(.+?)\]\]")
_TURNS = re.compile(r"^(USER|AGENT|====)\n", re.MULTILINE)
_SECTIONS = re.compile(r"^(QUESTIONS|SLOTS|FILLER)\n", re.MULTILINE)
_SLOT = re.compile(r"\{(#+|\w+)\}")

Exchange = tuple[str, str]


def read_chat(path: Path, counter: TokenCounter) -> Recording:
    """Return a chat with its cuts, facts and questions, as it is written."""
    script, sections = _parts(path)
    paragraphs = itertools.cycle(sections.get("FILLER", "").strip().split("\n\n"))
    turns = [
        (kind, "\n\n".join(_paragraphs(words, paragraphs)) if kind in _ROLES else words)
        for kind, words in itertools.batched(_TURNS.split(script)[1:], 2)
    ]
    return _recording(path.stem, turns, _asked(sections), counter)


def splice_chat(path: Path, counter: TokenCounter, size: int) -> Recording:
    """Return a chat with questions among so much other talk that it has ``size`` tokens.

    Its own exchanges are spread evenly. What is drawn is the same in each run.
    """
    script, sections = _parts(path)
    asked = _asked(sections)
    turns = [(kind, words.strip()) for kind, words in
             itertools.batched(_TURNS.split(script)[1:], 2)]  # fmt: skip
    filler = _filler(sections, [form for one in asked for form in one[1]], path.stem)
    cut = next(place for place, (kind, _) in enumerate(turns) if kind not in _ROLES)
    left = size - sum(counter.count(words) for _kind, words in turns)
    spliced: list[tuple[str, str]] = []
    drawn = 0
    for place in range(0, cut, 2):
        spliced += turns[place : min(place + 2, cut)]
        while drawn < left * (place + 2) / cut:
            exchange = next(filler)
            drawn += sum(map(counter.count, exchange))
            spliced += zip(_ROLES, exchange, strict=True)
    return _recording(path.stem, [*spliced, *turns[cut:]], asked, counter)


def _parts(path: Path) -> tuple[str, Mapping[str, str]]:
    """Return the script of a chat, and its sections by their names."""
    script, *rest = _SECTIONS.split(path.read_text("utf-8"))
    return script, dict(itertools.batched(rest, 2))


def _asked(sections: Mapping[str, str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the questions, each with the forms of its answer."""
    asked = [
        [line[1:].strip() for line in one.strip().splitlines()]
        for one in re.split(r"^(?=\?)", sections.get("QUESTIONS", ""), flags=re.MULTILINE)[1:]
    ]
    return [(words, tuple(filter(None, forms))) for words, *forms in asked]


def _filler(sections: Mapping[str, str], answers: Sequence[str], seed: str) -> Iterator[Exchange]:
    """Yield exchanges without end; none says an answer."""
    drawing = random.Random(seed)  # noqa: S311 - drawn to be the same each time
    slots = {
        name.strip(): [value.strip() for value in values.split("|")]
        for line in sections["SLOTS"].strip().splitlines()
        for name, values in [line.split(":", 1)]
    }
    exchanges = [
        [said.strip() for said in re.split(r"^[UA]:", one.strip(), flags=re.MULTILINE)[1:]]
        for one in sections["FILLER"].strip().split("\n\n")
    ]
    while True:
        for user, agent in drawing.sample(exchanges, len(exchanges)):
            drawn = {name: drawing.choice(values) for name, values in slots.items()}

            def value(slot: re.Match[str], drawn: Mapping[str, str] = drawn) -> str:
                if slot[1][0] == "#":
                    return str(drawing.randrange(10 ** (len(slot[1]) - 1), 10 ** len(slot[1])))
                return drawn[slot[1]]

            exchange = _SLOT.sub(value, user), _SLOT.sub(value, agent)
            if not any(one in said for one in answers for said in exchange):
                yield exchange


def _recording(
    name: str,
    turns: Sequence[tuple[str, str]],
    asked: Sequence[tuple[str, tuple[str, ...]]],
    counter: TokenCounter,
) -> Recording:
    messages: list[Message] = []
    cuts: list[Cut] = []
    facts: list[Fact] = []
    for kind, words in turns:
        if kind not in _ROLES:
            cuts.append(Cut(len(messages)))
            continue
        facts += (Fact(len(messages), fact) for fact in _FACT.findall(words))
        said = _FACT.sub(r"\1", words)
        seq = len(messages) + 1
        message = Message(_ROLES[kind], said, id=f"m{seq}", seq=seq)
        messages.append(replace(message, tokens=counter.count(said)))
    questions = [Question(_place(forms, messages), words, forms) for words, forms in asked]
    return Recording(name, tuple(messages), tuple(cuts), tuple(facts), tuple(questions))


def _place(forms: Sequence[str], messages: Sequence[Message]) -> int:
    """Return the index of the message that answers a question; raise where that is not just one."""
    places = [at for at, one in enumerate(messages) if any(form in one.text for form in forms)]
    if len(places) != 1:
        raise ValueError(f"{forms[0]!r} is in {len(places)} messages.")
    return places[0]


def _paragraphs(words: str, filler: Iterator[str]) -> Iterator[str]:
    for line in words.strip().split("\n"):
        if line == "...":
            yield from itertools.islice(filler, PARAGRAPHS)
        else:
            yield line
