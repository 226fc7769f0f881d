"""``python -m condense``: compare strategies on recorded sessions, or look into one."""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path

from condense.errors import CondenseError
from condense.evaluation import (
    PRICES,
    Recording,
    cuts_at,
    describe,
    evaluate,
    find_recordings,
    format_table,
    read_recording,
    recorded_history,
    replayed_history,
)
from condense.strategies import Strategy, load_strategy
from condense.tokens import CharacterCounter, TiktokenCounter, TokenCounter
from condense.usage import Prices

STRATEGIES = ("fresh_start", "sliding_window", "ledger")
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
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of transcripts")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
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
    counter = COUNTERS[options.counter]()
    paths = find_recordings(options.folder)
    prices = Prices(
        options.price_input,
        options.price_output,
        options.price_cache_read,
        options.price_cache_write,
    )
    result = asyncio.run(
        evaluate(
            [partial(_usable, path, counter) for path in paths],
            [_strategy(name) for name in options.strategy or STRATEGIES],
            counter,
            prices=prices,
            threshold=options.at,
            on_progress=partial(_progress, of=len(paths)),
        )
    )
    print(json.dumps(result.to_json(), indent=2) if options.json else format_table(result))
    return 0 if result.compactions else 2


def _strategy(name: str) -> Strategy:
    try:
        return load_strategy(name)
    except (LookupError, ImportError, AttributeError) as error:
        raise CondenseError(f"There is no strategy {name!r}: {error}") from error


def _usable(path: Path, counter: TokenCounter) -> Recording:
    """Return the file's session; one that can't be read is named and counts as empty."""
    try:
        return read_recording(path, counter)
    except CondenseError as error:
        print(f"\nskipped: {error}", file=sys.stderr)
        return Recording(path.name, ())


def _progress(done: int, *, of: int) -> None:
    filled = "#" * (BAR * done // of)
    end = "\n" if done == of else ""
    print(f"\r[{filled:<{BAR}}] {done}/{of} sessions", end=end, file=sys.stderr, flush=True)


def _show(options: argparse.Namespace) -> int:
    counter = COUNTERS[options.counter]()
    recording = read_recording(options.file, counter)
    cuts = cuts_at(recording.messages, options.at) if options.at else recording.cuts
    if options.strategy or options.at:
        strategy = _strategy(options.strategy or "ledger")
        history = asyncio.run(replayed_history(recording, cuts, strategy, counter))
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
