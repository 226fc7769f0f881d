"""Budget: the share of each kind of fact in a ledger."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from condense.facts.calls import is_lookup
from condense.facts.ledger import Demand, Ledger, Run, render
from condense.facts.rules import STATEMENT_CHARS, statements_in
from condense.facts.texts import GAP, estimate, is_telling, shortened

# As much of each kind as was measured to be worth its room on recorded sessions. A request has so
# many tokens for sure, and a share of its rest; or what is left of a ledger's usual size.
WHOLE_TOKENS, REST_SHARE = 500, 0.1
NAMES_TOKENS, NAMES_SHARE = 280, 0.28  # the share is of the ledger's usual size; the larger holds
# Commands that act, and that only look; of older ones those that are short, or came so often.
NEWEST_ACTS, NEWEST_LOOKS, OLDER_RUNS = 8, 10, 30
SHORT_ACT_CHARS, SHORT_LOOK_CHARS, OFTEN_TIMES = 48, 22, 3
NEWEST_FAILURES, LAST_REPLY_TOKENS = 5, 60
# Where not everything fits, requests and names shrink first, requests to no less than a few words.
# The newest and the first may be so many times longer; rules and short statements have shares.
BRIEF_TOKENS, NEWEST_TIMES, FIRST_TIMES = 12, 5, 3
RULES_SHARE, STATEMENTS_SHARE, LINES_SHARE = 0.3, 0.2, 0.1
# The fewest lines of lists and figures that are a plan.
SEVERAL_LINES = 3
# Other kinds shrink once requests are so many times shorter; after so many halvings none are left.
LATER_TIMES, HALVINGS = 8, 10
_WORD = re.compile(r"\w+")
# Text that begins with a small letter or has no full stop may be the rest of a sentence.
_STATEMENT = re.compile(r"[^\Wa-z\u0430-\u044f][^{}=<>|`#_()\[\];\\/\n]*[.!।。！…][\"'”»」]*")


def worth_keeping(ledger: Ledger, usual: float) -> Ledger:
    """Return the facts that are worth their room, in a ledger that usually has so many tokens."""
    made = replace(
        ledger,
        runs=tuple(_needed(ledger.runs)),
        failures=ledger.failures[:NEWEST_FAILURES],
        names=(),
        last_reply=_cut_once(ledger.last_reply, LAST_REPLY_TOKENS),
    )
    sizes = [estimate(one.text) for one in ledger.requests if GAP not in one.text]
    over = [size - WHOLE_TOKENS for size in sizes if size > WHOLE_TOKENS]
    room = max(NAMES_TOKENS, NAMES_SHARE * usual)
    rest = usual - room - estimate(render(made)) + sum(over)
    limit = WHOLE_TOKENS + max(rest, REST_SHARE * sum(over)) / max(1, len(over))
    requests = [replace(one, text=_cut_once(one.text, limit)) for one in ledger.requests]
    made = replace(made, requests=tuple(requests))
    said = frozenset(_WORD.findall(f"{render(made)} {[file.path for file in made.files]}"))
    names: list[str] = []
    for name in ledger.names:
        if name not in said and estimate(name) < room:
            names.append(name)
            room -= estimate(name) + 1 / 4
    return replace(made, names=tuple(names))


def _cut_once(text: str, tokens: float) -> str:
    return text if GAP in text else shortened(text, tokens)


def fit(ledger: Ledger, room: float, excess: Callable[[str], float]) -> Ledger:
    """Return as many of the facts as fit; none if not even a few do.

    ``room`` is in tokens, ``excess`` tells how many times too long a text is.
    """
    made, scale = _scaled(ledger, 1, room), 1.0
    while excess(render(made)) > 1:
        if LATER_TIMES * scale < 2**-HALVINGS:
            return Ledger()
        scale /= 2
        made = _scaled(ledger, scale, room)
    for step in [scale / 2, scale / 4, scale / 8, scale / 16] if scale < 1 else ():
        tried = _scaled(ledger, scale + step, room)
        if excess(render(tried)) <= 1:
            made, scale = tried, scale + step
    return made


def _scaled(ledger: Ledger, scale: float, room: float) -> Ledger:
    texts = [*_cut(ledger.requests, scale)]
    said, left = "\n".join(texts), RULES_SHARE * room
    rules: list[str] = []
    # Oldest first: what was kept once is kept again, and the newest requests stand here.
    for rule in reversed(ledger.rules):
        if rule not in said and (scale == 1 or estimate(rule) <= left):
            rules.insert(0, rule)
            left -= estimate(rule)
    # Short statements of shortened requests stay: one may be a rule in odd words. So do lines of
    # lists and figures, of the longest requests first: these may be plans.
    cut = [(at, one.text) for at, one in enumerate(ledger.requests) if texts[at] != one.text]
    cut.reverse()
    longest = sorted(cut, key=lambda one: -len(one[1]))
    for share, those, read in (
        (STATEMENTS_SHARE, cut, _statements),
        (LINES_SHARE, longest, _lines),
    ):
        left = share * room
        for at, text in those:
            for one in read(text):
                size = estimate(one) + 2
                if size <= left and one not in rules and one not in said:
                    texts[at] = f"{texts[at]}\n{GAP}\n{one}".removeprefix(f"\n{GAP}\n")
                    said, left = f"{said}\n{one}", left - size
    told = zip(ledger.requests, texts, strict=True)
    part = min(1, max(0, 1 + math.log2(LATER_TIMES * scale) / HALVINGS))

    def some[Fact](facts: Sequence[Fact]) -> tuple[Fact, ...]:
        return tuple(facts[: int(part * len(facts) + 0.9)])

    last = some([ledger.last_reply])
    return replace(
        ledger,
        rules=tuple(rules),
        requests=tuple([replace(one, text=text) for one, text in told if text]),
        todos=some(ledger.todos),
        files=some(ledger.files),
        runs=some(ledger.runs),
        failures=some(ledger.failures),
        names=ledger.names[: int(scale**3 * len(ledger.names))],
        last_reply="".join(shortened(one, max(BRIEF_TOKENS, part * estimate(one))) for one in last),
    )


def _cut(requests: Sequence[Demand], scale: float) -> Iterator[str]:
    """Yield the texts cut to one length; if that is too short, "" for the older ones."""
    length = scale * max([BRIEF_TOKENS, *[estimate(one.text) for one in requests]])
    between = int(min(1, length / BRIEF_TOKENS) * len(requests))
    last = len(requests) - 1
    for at, one in enumerate(requests):
        tokens = length * (NEWEST_TIMES if at == 0 else FIRST_TIMES if at == last else 1)
        yield shortened(one.text, max(BRIEF_TOKENS, tokens)) if at <= between or at == last else ""


@lru_cache(2_000)
def _statements(text: str) -> tuple[str, ...]:
    """Return the short sentences of a text that are no questions, no list and no code."""
    said = [one for one, _ in statements_in(text)]
    return tuple([one for one in said if one == text or _STATEMENT.fullmatch(one)])


@lru_cache(2_000)
def _lines(text: str) -> tuple[str, ...]:
    """Return the short lines of lists and figures of a text that has several."""
    lines = [one.strip() for one in text.split("\n") if len(one) <= STATEMENT_CHARS]
    telling = [one for one in lines if is_telling(one)]
    return tuple(telling) if len(telling) >= SEVERAL_LINES else ()


def _needed(runs: Sequence[Run]) -> Iterator[Run]:
    """Yield the newest commands, and those older ones that are likely to run again."""
    acted = looked = older = 0
    for run in runs:
        looks = is_lookup(run.head)
        is_new = looked < NEWEST_LOOKS if looks else acted < NEWEST_ACTS
        short = SHORT_LOOK_CHARS if looks else SHORT_ACT_CHARS
        comes_again = run.times >= OFTEN_TIMES or len(run.head) <= short
        looked, acted = looked + looks, acted + (not looks)
        if is_new or (comes_again and older < OLDER_RUNS):
            older += not is_new
            yield run
