"""Rows of the list of condensations: how soon it is there, however many were made."""

import itertools
import uuid
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from chatapp.models import Condensation, Conversation, Message, Profile
from tests.bench.clock import beside
from tests.bench.conversations import BATCH, WORDS, prepare_owner
from tests.bench.server import serving
from tests.bench.table import Row
from tests.records import USUAL

ATTEMPTS, EACH = 100_000, 100
# 2 kB, as summaries have.
SUMMARY = WORDS * 7
FLOOR = "bare SELECT of their sums"
STRATEGIES = ("fresh_start", "keep_recent", "ledger")
STATUSES = ("succeeded",) * 7 + ("failed", "undone", "unused")
TRIGGERS = ("auto", "auto", "manual", "ahead")
# What is chosen in the list, and what it takes at most beside one look at all figures.
CHOSEN = (
    (f"list {ATTEMPTS:,} condensations: all", "", 5),
    ("… by strategy, sorted by cost", "strategy=ledger&sort=cost", 5),
    ("… by text in every summary", "text=lazy+dog", 10),
)
FIGURES = """
SELECT c.kind, c.status, c.profile_name, COUNT(*), SUM(c.cost), SUM(c.tokens_before)
FROM chatapp_condensation c JOIN chatapp_conversation t ON c.conversation_id = t.id
WHERE t.owner_id = %s GROUP BY 1, 2, 3
"""


def measure_attempts() -> Iterator[Row]:
    """Yield the rows of the list of condensations, by each filter and in each order."""
    with serving(DATA_DIR=str(settings.DATA_DIR)) as server:
        owner, profile = prepare_owner()
        make_attempts(owner, profile)

        def add_up() -> None:
            with connection.cursor() as cursor:
                cursor.execute(FIGURES, [owner.pk])
                cursor.fetchall()

        for work, query, bound in CHOSEN:

            def show(query: str = query) -> None:
                assert server.ask("GET", f"/condensations/?{query}").status == 200

            show()
            here, least = beside(show, add_up, clock=lambda: server.spent)
            yield Row(work, here, "ms", bound, FLOOR, least)


def make_attempts(owner: Any, profile: Profile) -> None:
    """Put condensations on record, in many conversations."""
    talks = [
        Conversation(owner=owner, profile=profile, title=f"Talk {number}", last_seq=EACH)
        for number in range(ATTEMPTS // EACH)
    ]
    Conversation.objects.bulk_create(talks)
    for batch in itertools.batched(range(ATTEMPTS), BATCH):
        made = [_summary(talks[number // EACH], number % EACH + 1) for number in batch]
        Message.objects.bulk_create(made)
        attempts = map(_attempt, batch, made)
        Condensation.objects.bulk_create(list(attempts))


def _summary(conversation: Conversation, seq: int) -> Message:
    return Message(
        conversation=conversation,
        seq=seq,
        position=seq,
        role="user",
        content=[{"type": "text", "text": "A summary."}],
        tokens=3,
        condense_id=uuid.uuid4(),
    )


def _attempt(number: int, made: Message) -> Condensation:
    """Return an attempt of the last years, of which no two are alike."""
    began = timezone.now() - timedelta(minutes=10 * (ATTEMPTS - number))
    columns = {
        "status": STATUSES[number % len(STATUSES)],
        "strategy": STRATEGIES[number % len(STRATEGIES)],
        "trigger": TRIGGERS[number % len(TRIGGERS)],
        "profile_name": f"Profile {number % 5}",
        "tokens_before": 100_000 + number * 7 % 90_001,
        "tokens_after": 5_000,
        "cost": Decimal(number * 11 % 997) / 1000,
        "summary": SUMMARY,
        "started_at": began,
        "finished_at": began + timedelta(seconds=number * 13 % 89),
        "at_seq": made.seq,
    }
    return Condensation(conversation=made.conversation, message=made, **USUAL | columns)
