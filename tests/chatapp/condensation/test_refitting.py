"""A summary that was drafted stands for what it was made of, in a conversation that went on."""

import uuid
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

import condense
from chatapp.condensation.draft_log import DraftLog
from chatapp.models import Conversation, message_store
from tests.chatapp.agent.fakes import RecordingAudience
from tests.chatapp.conftest import Say, reduction_of
from tests.chatapp.runs import journal_of, run_in
from tests.records import put_on_record

pytestmark = pytest.mark.django_db

WINDOW, ALLOWED = 10_000, 4_000


@pytest.fixture
def log(conversation: Conversation, say: Say) -> DraftLog:
    """A log with the draft of a summary of all that was said so far."""
    say("user", "Where is north?", tokens=3_000)
    say("assistant", "Up.", tokens=3_000)
    tags = condense.Tags(condense_id=uuid.uuid4().hex)
    summary = condense.Message("user", (condense.TextBlock("North is up."),), tags=tags, tokens=500)
    effective = message_store.read_effective(conversation.pk)
    log = DraftLog(journal_of(run_in(conversation), RecordingAudience()))
    log.reduction = reduction_of(summary, tuple(one.id for one in effective))
    return log


def now(conversation: Conversation) -> condense.Situation:
    """Return what a turn finds that is about to take the draft over."""
    effective = message_store.read_effective(conversation.pk)
    return condense.Situation(
        effective=effective,
        tokens=condense.TokenCount(sum(one.tokens or 0 for one in effective)),
        budget=condense.Budget(WINDOW, max_output=1_000, threshold=100 * ALLOWED / WINDOW),
    )


def test_it_has_the_sizes_of_the_turn_that_takes_it_over(
    log: DraftLog, conversation: Conversation, say: Say
) -> None:
    """What came since is in both, and stays; where it takes as much, another would be due."""
    say("user", "And south?", tokens=2_000)
    assert log.refit(now(conversation)) == ""
    made = log.reduction
    assert made is not None
    assert (made.tokens_before.value, made.tokens_after.value) == (8_000, 2_500)
    say("assistant", "Down.", tokens=ALLOWED - 2_500)
    assert "What came since takes too much" in log.refit(now(conversation))
    log.reduction = None
    assert "came to nothing" in log.refit(now(conversation))


@pytest.mark.django_db(transaction=True)
async def test_one_that_is_dropped_was_finished_when_it_was_written(
    log: DraftLog, conversation: Conversation
) -> None:
    """Nobody waited for it since; one that was stopped in the middle is finished now."""
    then = timezone.now() - timedelta(hours=1)
    for finished in (then, None):
        attempt = await sync_to_async(put_on_record)(
            conversation, status="drafted", at_seq=2, finished_at=finished
        )
        log.attempt = condense.Attempt(
            id=str(attempt.pk),
            strategy="fresh_start",
            kind="condensed",
            trigger=condense.Trigger.AUTO,
            threshold=50,
            threshold_source="global",
            tokens_before=condense.TokenCount(900),
        )
        await log.close("Pins were changed.")
        await attempt.arefresh_from_db()
        assert (attempt.status, attempt.error) == ("unused", "Pins were changed.")
        assert attempt.finished_at is not None
        assert (attempt.finished_at == then) is (finished == then)
