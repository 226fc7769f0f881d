"""Size of a conversation's context over its turns, every condensation as a drop."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models.functions import Coalesce

from chatapp.conversations.context.sizes import CondensingPoint
from chatapp.models import Condensation, Conversation, ModelCall
from chatapp.models.calls import PROMPT

# The latest, each the end of a turn or a drop.
STEPS = 200
WIDTH, HEIGHT = 400, 120
# Numbers closer to each other than this would lie on each other.
APART = 14
_FIGURES = (
    *("turn", "created_at", "tokens_input", "tokens_cache_read", "tokens_cache_write"),
    *("usage_measured", "tokens_estimated"),
)


@dataclass(frozen=True, slots=True)
class Moment:
    """The size of the context when a turn's latest call was made, or around a condensation."""

    when: datetime
    before: int
    tokens: int
    turn: object = None
    call: ModelCall | None = None
    drop: Condensation | None = None

    @property
    def saved(self) -> int:
        """The tokens that the condensation saved."""
        return self.before - self.tokens

    @property
    def measured(self) -> bool:
        """True if its sizes are measured, not estimated."""
        if self.call:
            return self.call.prompt_measured
        one = self.drop
        return one is None or (one.tokens_before_measured and one.tokens_after_measured)


@dataclass(frozen=True, slots=True)
class Step:
    """A moment's place in the chart; turns and drops are numbered, each on their own."""

    moment: Moment
    number: int
    x: float
    top: float
    y: float
    shown: bool  # there is room for its number


@dataclass(frozen=True, slots=True)
class SizeHistory:
    """The latest steps, the oldest first; the largest context among them had ``most`` tokens."""

    steps: Sequence[Step]
    most: int
    cut: bool  # there were earlier steps
    limit: int  # at which the newest condensation was due
    limit_y: float
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def drops(self) -> Sequence[Step]:
        """The condensations among the steps."""
        return [one for one in self.steps if one.moment.drop]

    @property
    def turns(self) -> Sequence[Step]:
        """The other steps."""
        return [one for one in self.steps if not one.moment.drop]

    @property
    def line(self) -> str:
        """The path through all steps, as an SVG path."""
        ends = [(one.x, one.top if one.moment.drop else one.y, one.y) for one in self.steps]
        return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, *both in ends for y in dict.fromkeys(both))


def draw_size_history(conversation: Conversation) -> SizeHistory | None:
    """Return the context's size over time, None if nothing made it smaller."""
    moments = sorted([*_calls(conversation), *_drops(conversation)], key=lambda one: one.when)
    # The last of a turn's calls in a row stands for all.
    rows = itertools.groupby(moments, lambda one: one.drop or one.turn)
    steps = [[*row][-1] for _key, row in rows]
    if not any(one.drop for one in steps):
        return None
    # Turns and drops are numbered separately.
    turns, drops = dict[object, int](), itertools.count(1)
    numbers = [
        next(drops) if one.drop else turns.setdefault(one.turn, len(turns) + 1) for one in steps
    ]
    latest = steps[-STEPS:]
    most = max(max(one.before, one.tokens) for one in latest) or 1
    limit = CondensingPoint.of_attempt([one.drop for one in steps if one.drop][-1]).at
    top = max(most, limit)
    places = _place(latest, numbers[-STEPS:], top)
    y = HEIGHT * (1 - limit / top)
    return SizeHistory([*places], most, len(steps) > len(latest), limit, y)


def _calls(conversation: Conversation) -> Iterator[Moment]:
    """Yield the calls for an answer, as far as the size of their prompt is known."""
    calls = conversation.calls.filter(purpose=ModelCall.Purpose.CHAT)
    for call in calls.annotate(prompt=PROMPT).filter(prompt__gt=0).only(*_FIGURES):
        tokens, turn = call.tokens_prompt, call.turn_id or f"call {call.pk}"
        yield Moment(call.created_at, tokens, tokens, turn=turn, call=call)


def _drops(conversation: Conversation) -> Iterator[Moment]:
    made = conversation.condensations.filter(tokens_after__isnull=False)
    # A draft is older than the summary that is made of it.
    applied = Coalesce("message__created_at", "started_at")
    rows: Iterable[Any] = made.brief().annotate(applied_at=applied)
    for one in rows:
        yield Moment(one.applied_at, one.tokens_before, one.tokens_after or 0, drop=one)


def _place(moments: Sequence[Moment], numbers: Sequence[int], most: int) -> Iterator[Step]:
    width, taken = WIDTH / len(moments), -float(APART)
    for index, (one, number) in enumerate(zip(moments, numbers, strict=True)):
        x = (index + 0.5) * width
        shown = one.drop is not None and x - taken >= APART
        taken = x if shown else taken
        top, y = (HEIGHT * (1 - tokens / most) for tokens in (one.before, one.tokens))
        yield Step(one, number, x, top, y, shown)
