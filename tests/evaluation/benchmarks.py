"""Benchmarks: public chats with questions, and the messages that hold each answer.

Read are checkouts of BEAM (mohammadtavakoli78/BEAM) and LoCoMo (snap-research/locomo), which are
fetched and never kept here.
"""

import json
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from condense.messages import Message
from condense.tokens.counters import TokenCounter
from tests.evaluation.contents import leaves
from tests.evaluation.recordings import Cut, Recording

SIZE, TAIL = "100K", 10  # BEAM's chats of this size; messages at the end that stay visible
# What may be tuned on, by the numbers of chats and the places of dialogues. Others only report.
TUNED_ON = {"beam": range(1, 11), "locomo": range(1, 6)}
# What BEAM leaves at the end of a message: the place in the plan by which it was written.
_PLAN = re.compile(r"\s*->->[\d,\s]*\Z")
_SESSION = re.compile(r"session_(\d+)\Z")
_TURN = re.compile(r"D:?(\d+):0*(\d+)")
# The types of LoCoMo's questions by their numbers.
_CATEGORIES = ("", "several messages", "temporal", "open domain", "one message", "adversarial")
# What a reply should know: under the first of these keys that a question has.
_STATEMENTS = (
    "instruction_being_tested", "preference_being_tested", "answer", "ideal_answer",
    "ideal_response", "ideal_summary", "adversarial_answer",
)  # fmt: skip

Said = tuple[str, str, str]  # the name of a message in the benchmark, its role, its text
Raw = tuple[str, Sequence[Said], Sequence["Asked"]]


class Asked(NamedTuple):
    """A question, its type, the names of the messages that answer it, and what they should say."""

    kind: str
    words: str
    evidence: frozenset[str]
    statement: str


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A chat that is cut before its last messages, its questions, and its messages' indices."""

    chat: Recording
    asked: Sequence[Asked]
    places: Mapping[str, int]


def benchmark_of(folder: Path) -> str:
    """Return which benchmark a folder is a checkout of: "beam", "locomo", or ""."""
    if any(folder.glob("chats/*/*/chat.json")):
        return "beam"
    return "locomo" if any(folder.glob("data/locomo10.*")) else ""


def read_benchmark(
    folder: Path, counter: TokenCounter, size: str = SIZE, numbers: Collection[int] = ()
) -> Iterator[Benchmark]:
    """Yield the chats of a checkout in order: those of some numbers, or all."""
    chats = _beam(folder / "chats" / size) if benchmark_of(folder) == "beam" else _locomo(folder)
    for number, read in chats:
        if not numbers or number in numbers:
            yield _benchmark(*read(), counter)


def _benchmark(
    name: str, said: Sequence[Said], asked: Sequence[Asked], counter: TokenCounter
) -> Benchmark:
    messages = [
        Message(
            "assistant" if role == "assistant" else "user",
            text, id=f"m{seq}", seq=seq, tokens=counter.count(text),
        )
        for seq, (_name, role, text) in enumerate(said, start=1)
    ]  # fmt: skip
    chat = Recording(name, tuple(messages), (Cut(max(1, len(messages) - TAIL)),))
    places = {key: at for at, (key, _role, _text) in enumerate(said)}
    # Some name messages that there are not.
    known = [one._replace(evidence=one.evidence & places.keys()) for one in asked]
    return Benchmark(chat, [one for one in known if one.evidence], places)


def _beam(folder: Path) -> Iterator[tuple[int, Callable[[], Raw]]]:
    for path in sorted(folder.glob("*/chat.json"), key=lambda one: int(one.parent.name)):
        yield int(path.parent.name), partial(_read_beam, path.parent)


def _read_beam(folder: Path) -> Raw:
    said = [
        (str(one["id"]), one["role"], _PLAN.sub("", one["content"]))
        for one in _turns(json.loads((folder / "chat.json").read_text("utf-8")))
    ]
    probing = folder / "probing_questions" / "probing_questions.json"
    asked = [
        _asked(kind.replace("_", " "), one, [id_ for _, id_ in leaves(one.get("source_chat_ids"))])
        for kind, questions in json.loads(probing.read_text("utf-8")).items()
        for one in questions
    ]
    return f"beam {folder.name}", said, asked


def _turns(node: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the messages, which are in lists within batches within a list."""
    match node:
        case {"role": _, "content": _}:
            yield node
        case dict() | list():
            for inner in node.values() if isinstance(node, dict) else node:
                yield from _turns(inner)


def _locomo(folder: Path) -> Iterator[tuple[int, Callable[[], Raw]]]:
    """Yield the dialogues: of one list, or of files that are packed into one."""
    packed = folder / "data" / "locomo10.zip"
    if packed.exists():
        with zipfile.ZipFile(packed) as files:
            names = sorted(name for name in files.namelist() if name.endswith(".json"))
            dialogues = [json.loads(files.read(name)) for name in names]
    else:
        dialogues = json.loads(packed.with_suffix(".json").read_text("utf-8"))
    for number, one in enumerate(dialogues, start=1):
        yield number, partial(_read_dialogue, f"locomo {number}", one)


def _read_dialogue(name: str, data: Mapping[str, Any]) -> Raw:
    """Return a dialogue; who speaks first is the user, as its name and each text say."""
    talk = data.get("conversation", data)
    sessions = sorted((int(found[1]), key) for key in talk if (found := _SESSION.match(key)))
    said = [
        (
            one["dia_id"],
            "user" if one["speaker"] == talk["speaker_a"] else "assistant",
            ": ".join(filter(None, (one["speaker"], one["text"], one.get("blip_caption")))),
        )
        for _, session in sessions
        for one in talk[session]
    ]
    asked = [
        _asked(_CATEGORIES[one["category"]], one,
               [f"D{day}:{turn}" for day, turn in _TURN.findall(" ".join(one["evidence"]))])
        for one in data["qa"]
    ]  # fmt: skip
    return name, said, asked


def _asked(kind: str, one: Mapping[str, Any], evidence: Sequence[str]) -> Asked:
    statement = next((one[key] for key in _STATEMENTS if one.get(key)), one["question"])
    return Asked(kind, one["question"], frozenset(evidence), str(statement))
