"""An attempt as one line of the history: what it came to, in words and figures."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from chatapp.models import Condensation
from chatapp.transcript import labels
from chatapp.transcript.facts import facts_kept

_REWOUND = "rewound"


@dataclass(frozen=True, slots=True)
class AttemptLine:
    """One attempt; ``words`` say how and why it was made and what it hid.

    ``status`` is how it stands: what it made may have been rewound since.

    ``instead`` is what happened in place of one that came to nothing, and of one that failed that
    nothing did. ``row`` is the record whose
    row the chat has: too little to clear leaves none, so there it is of what was made instead.
    """

    attempt: Condensation
    row: Condensation
    name: str
    icon: str
    saved_percent: int | None
    status: str
    status_words: str
    words: tuple[str, ...]
    instead: str


def attempt_lines(attempts: Iterable[Condensation]) -> list[AttemptLine]:
    """Return a line for each attempt, in one query for all."""
    rows = list(attempts)
    followers = _find_followers(rows)
    return [_line(row, followers[row.conversation_id, row.at_seq]) for row in rows]


def _find_followers(rows: Iterable[Condensation]) -> dict[object, list[Condensation]]:
    """Return what was made of the same messages as attempts that fell back, oldest first."""
    fallen = [row for row in rows if row.fell_back_to]
    found: defaultdict[object, list[Condensation]] = defaultdict(list)
    if fallen:
        made = Condensation.objects.filter(
            conversation__in={row.conversation_id for row in fallen},
            at_seq__in={row.at_seq for row in fallen},
            message__isnull=False,
        )
        for row in made.with_place().brief().order_by("started_at"):
            found[row.conversation_id, row.at_seq].append(row)
    return found


def _line(attempt: Condensation, followers: list[Condensation]) -> AttemptLine:
    failed = attempt.outcome == Condensation.Outcome.FAILED
    other = labels.made_instead(attempt, followers)
    succeeded = attempt.status == Condensation.Status.SUCCEEDED
    was_rewound = succeeded and getattr(attempt, "gone_with", None) is not None
    has_row = not labels.is_unremarkable(attempt)
    return AttemptLine(
        attempt=attempt,
        row=attempt if has_row else other or attempt,
        name=labels.outcome_name(attempt.kind, attempt.status),
        icon="alert" if failed else labels.kind_words(attempt.kind).icon,
        saved_percent=labels.saved_percent(attempt),
        status=_REWOUND if was_rewound else attempt.status,
        status_words=_("Rewound") if was_rewound else capfirst(attempt.get_status_display()),
        words=tuple(filter(None, _words(attempt))),
        instead=labels.instead_text(other) if failed or other else "",
    )


def _words(attempt: Condensation) -> Iterator[str]:
    yield labels.strategy_name(attempt.strategy)
    yield labels.trigger_text(attempt)
    yield labels.hidden_text(attempt)
    yield facts_kept(attempt.receipt)
