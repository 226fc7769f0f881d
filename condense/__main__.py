"""``python -m condense``: compare strategies on recorded sessions, or look into one."""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from condense.errors import CondenseError
from condense.evaluation import (
    LEGEND,
    PRICES,
    Course,
    Cut,
    Evaluation,
    Recording,
    all_contenders,
    chats,
    contender,
    cuts_at,
    describe,
    evaluate,
    even_cuts,
    find_recordings,
    format_table,
    read_recording,
    recorded_history,
    replayed_history,
)
from condense.tokens import CharacterCounter, TiktokenCounter, TokenCounter
from condense.usage import Prices

FULL = 0.8  # of a window, after which a session is cut where windows are compared
COUNTERS: dict[str, Callable[[], TokenCounter]] = {
    "characters": CharacterCounter,
    "tiktoken": partial(TiktokenCounter, 1.0),
}
BAR = 30  # characters


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, or 2 where the input can't be used."""
    options = _parser().parse_args(arguments)
    try:
        run: Callable[[argparse.Namespace], int] = options.run
        return run(options)
    except BrokenPipeError:
        return 0
    except (CondenseError, OSError) as error:
        print(f"condense: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m condense", description=__doc__)
    commands = parser.add_subparsers(required=True)
    _add_eval(commands.add_parser("eval", help="compare strategies on recorded sessions"))
    _add_show(commands.add_parser("show", help="what a model sees of a session, and what not"))
    return parser


def _add_eval(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=Path, nargs="?", metavar="DIR",
        help="folder of transcripts (the chats that come with this program)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument(
        "--window", type=int, action="append", default=[], metavar="TOKENS",
        help="also cut wherever a window of this size is full; may repeat",
    )  # fmt: skip
    parser.add_argument(
        "--rounds", type=int, default=0, metavar="N",
        help="also compare one to N condensations, the last always at the same place",
    )  # fmt: skip
    parser.add_argument("--strategy", action="append", help="name or dotted path; may repeat")
    for name in ("input", "output", "cache_read", "cache_write"):
        price = getattr(PRICES, name)
        flag = f"--price-{name.replace('_', '-')}"
        parser.add_argument(flag, type=Decimal, default=price, help=f"USD/M tokens ({price})")
    _add_common(parser)
    parser.set_defaults(run=_eval)


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a transcript")
    parser.add_argument("--strategy", help="condense by this instead of as recorded")
    parser.add_argument("--full", action="store_true", help="print messages whole")
    _add_common(parser)
    parser.set_defaults(run=_show)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--counter", choices=COUNTERS, default="characters")
    parser.add_argument(
        "--at", type=int, metavar="TOKENS", help="cut after so many tokens, not where recorded"
    )


def _eval(options: argparse.Namespace) -> int:
    results = {name: _evaluated(options, course, name) for name, course in _courses(options)}
    main, *others = results.items()
    if options.json:
        print(json.dumps({**main[1].to_json(), **_nested(dict(others))}, indent=2))
    else:
        tables = (f"{name}: {format_table(result)}" for name, result in results.items())
        print("\n\n".join((*tables, LEGEND)))
    return 0 if main[1].compactions else 2


def _courses(options: argparse.Namespace) -> Iterator[tuple[str, Course]]:
    """Yield where to cut, by the name that says so."""
    if options.at:
        yield f"every {options.at:,} tokens", Course(partial(_cuts_at, tokens=options.at))
    else:
        yield "as recorded", Course()
    for size in options.window:
        yield f"window {size}", Course(partial(_cuts_at, tokens=int(FULL * size)), size)
    most = options.rounds
    for count in range(1, most + 1):
        yield f"round {count}", Course(partial(_last_cuts, most=most, count=count), None, count - 1)


def _cuts_at(recording: Recording, *, tokens: int) -> Sequence[Cut]:
    return cuts_at(recording.messages, tokens)


def _last_cuts(recording: Recording, *, most: int, count: int) -> Sequence[Cut]:
    """Return the last cuts of as many as there may be; none where the session is too short."""
    cuts = even_cuts(recording.messages, most)
    return cuts[-count:] if len(cuts) == most else ()


def _nested(results: Mapping[str, Evaluation]) -> dict[str, dict[str, Any]]:
    """Return the further results as "windows" by size and "rounds" by number."""
    nested: dict[str, dict[str, Any]] = {}
    for name, result in results.items():
        kind, _, which = name.partition(" ")
        nested.setdefault(f"{kind}s", {})[which] = result.to_json()
    return nested


def _evaluated(options: argparse.Namespace, course: Course, name: str) -> Evaluation:
    counter = COUNTERS[options.counter]()
    recordings = _recordings(options.folder, counter)
    prices = Prices(
        options.price_input,
        options.price_output,
        options.price_cache_read,
        options.price_cache_write,
    )
    return asyncio.run(
        evaluate(
            recordings,
            [contender(one) for one in options.strategy or all_contenders()],
            counter,
            prices=prices,
            course=course,
            on_progress=partial(_progress, of=len(recordings), course=name),
        )
    )


def _recordings(folder: Path | None, counter: TokenCounter) -> Sequence[Callable[[], Recording]]:
    if folder is None:
        return chats(counter)
    return [partial(_usable, path, counter) for path in find_recordings(folder)]


def _usable(path: Path, counter: TokenCounter) -> Recording:
    """Return the file's session; one that can't be read is named and counts as empty."""
    try:
        return read_recording(path, counter)
    except CondenseError as error:
        print(f"\nskipped: {error}", file=sys.stderr)
        return Recording(path.name, ())


def _progress(done: int, *, of: int, course: str) -> None:
    filled = "#" * (BAR * done // of)
    end = "\n" if done == of else ""
    print(
        f"\r[{filled:<{BAR}}] {done}/{of} sessions, {course}", end=end, file=sys.stderr, flush=True
    )


def _show(options: argparse.Namespace) -> int:
    counter = COUNTERS[options.counter]()
    recording = read_recording(options.file, counter)
    cuts = cuts_at(recording.messages, options.at) if options.at else recording.cuts
    if options.strategy or options.at:
        chosen = contender(options.strategy or "ledger")
        history = asyncio.run(replayed_history(recording, cuts, chosen, counter))
    else:
        history = recorded_history(recording, counter)
    print(f"{recording.name}: {len(recording.messages)} messages, condensed {len(cuts)} times")
    for number, cut in enumerate(cuts, start=1):
        print(f"  {number}. before message {cut.at + 1} ({cut.trigger or 'unknown trigger'})")
    for line in describe(history, counter, full=options.full):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
