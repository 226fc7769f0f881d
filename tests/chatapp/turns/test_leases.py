"""A turn is a lease: claimed once, given back while somebody is asked, handed over, and listed."""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chatapp.agent.errors import TurnEnded
from chatapp.models import Conversation, Message, Question, Review, Turn, TurnRequest
from chatapp.models.turns import this_process
from chatapp.turns import crash_recovery, lifecycle
from tests.chatapp.observers import long_watch
from tests.chatapp.scripted_turns import ask
from tests.chatapp.turns.test_interruptions import elsewhere
from tests.records import put_on_record

pytestmark = pytest.mark.django_db


def ask_unclaimed(conversation: Conversation) -> Turn:
    """Send a message, whose turn some process is to claim."""
    started = lifecycle.start_turn(
        conversation=conversation,
        text="Why?",
        tokens=1,
        nonce=uuid.uuid4(),
        zone="Asia/Tokyo",
        claimed=False,
    )
    assert started
    turn = started[0]
    turn.refresh_from_db()
    return turn


def test_a_turn_is_claimed_once(conversation: Conversation) -> None:
    """By whoever names the attempt that it has had; it is alive from then on."""
    turn = ask_unclaimed(conversation)
    assert (turn.owner, turn.attempt, turn.status) == ("", 0, Turn.Status.QUEUED)
    assert turn.zone == "Asia/Tokyo"
    an_hour_ago = timezone.now() - timedelta(hours=1)
    Turn.objects.update(heartbeat_at=an_hour_ago)
    mine = Turn.objects.claim(turn.pk, 0)
    assert mine
    assert (mine.pk, mine.owner, mine.attempt) == (turn.pk, this_process(), 1)
    assert mine.heartbeat_at
    assert mine.heartbeat_at > an_hour_ago
    assert [Turn.objects.claim(turn.pk, attempt) for attempt in (0, 2)] == [None, None]
    assert Turn.objects.claim(uuid.uuid4(), 0) is None
    mine.go_on(Turn.Doing.CALLING)
    with pytest.raises(TurnEnded):
        turn.go_on(Turn.Doing.CALLING)
    again = Turn.objects.claim(turn.pk, 1)
    assert again
    with pytest.raises(TurnEnded):
        mine.wait()
    lifecycle.finish_turn(turn=again, status=Turn.Status.SUCCEEDED)
    assert Turn.objects.claim(turn.pk, 2) is None


def test_a_turn_that_is_handed_over_waits_for_whoever_claims_it(conversation: Conversation) -> None:
    """As before its first step, or for the same person."""
    turn = ask(conversation)
    turn.go_on(Turn.Doing.CALLING, step=3)
    turn.hand_over()
    left = Turn.objects.get()
    assert (left.status, left.owner, left.doing, left.step) == ("queued", "", "", 3)
    assert left.is_unclaimed
    mine = Turn.objects.claim(turn.pk, turn.attempt)
    assert mine
    mine.wait()
    mine.hand_over()
    assert Turn.objects.get().status == Turn.Status.WAITING
    lifecycle.finish_turn(turn=Turn.objects.get(), status=Turn.Status.STOPPED)
    assert not Turn.objects.get().is_unclaimed


def test_a_turn_that_nobody_has_claimed_is_stopped_at_once(conversation: Conversation) -> None:
    """By whoever asks for it; one that a process works on is its own, and one that is over is."""
    turn = ask_unclaimed(conversation)
    assert lifecycle.stop_unclaimed(turn)
    turn.refresh_from_db()
    assert (turn.status, turn.is_over) == (Turn.Status.STOPPED, True)
    assert not lifecycle.stop_unclaimed(turn)
    turn = ask_unclaimed(conversation)
    assert Turn.objects.claim(turn.pk, 0)
    assert not lifecycle.stop_unclaimed(turn)
    assert not Turn.objects.get(pk=turn.pk).is_over


def unclaimed(older_than: float = 0.0) -> list[Turn]:
    """Return turns that should be claimed."""
    return [*Turn.objects.unclaimed(older_than)]


def test_what_nobody_claims_is_listed_after_a_while(conversation: Conversation) -> None:
    """Its job may be lost; not what a process works on, nor what is over."""
    turn = ask_unclaimed(conversation)
    assert unclaimed() == [turn]
    assert unclaimed(60) == []
    mine = Turn.objects.claim(turn.pk, 0)
    assert mine
    assert unclaimed() == []
    mine.hand_over()
    assert unclaimed() == [turn]
    lifecycle.stop_unclaimed(turn)
    assert unclaimed() == []


@dataclass
class Waiting:
    """A turn that waits for a person."""

    turn: Turn

    def ask(self) -> Question:
        """Ask whether a tool may run."""
        self.turn.wait()
        place = Question.objects.count()
        return Question.objects.create(turn=self.turn, seq=1, place=place, kind="permission")

    def show(self, **columns: Any) -> Review:
        """Show a summary."""
        self.turn.wait()
        attempt = put_on_record(self.turn.conversation, at_seq=1, status="running", turn=self.turn)
        review = Review.objects.create(condensation=attempt, ordinal=1, **columns)
        review.enter()
        return review


@pytest.fixture
def waiting(conversation: Conversation) -> Waiting:
    """One that is about to ask."""
    return Waiting(ask(conversation))


def test_a_turn_that_waits_is_given_back_while_nobody_has_answered(waiting: Waiting) -> None:
    """And to nobody else: the answer calls for a worker."""
    question = waiting.ask()
    assert waiting.turn.release()
    left = Turn.objects.get()
    assert (left.owner, left.status, left.attempt) == ("", "waiting", 1)
    assert unclaimed() == []
    Question.objects.filter(pk=question.pk).change(status=Question.Status.ALLOWED)
    assert unclaimed() == [left]


def test_a_turn_that_was_answered_keeps_its_worker(waiting: Waiting) -> None:
    """As does one that waits for nobody."""
    assert not waiting.turn.release()
    question = waiting.ask()
    Question.objects.filter(pk=question.pk).change(status=Question.Status.DENIED)
    assert not waiting.turn.release()
    waiting.ask()
    waiting.turn.go_on(Turn.Doing.USING_TOOLS)
    assert not waiting.turn.release()
    assert Turn.objects.get().owner == this_process()


def test_a_summary_that_applies_by_itself_keeps_its_worker(waiting: Waiting) -> None:
    """Until somebody is at work on it, who may take days."""
    review = waiting.show(applies_at=timezone.now())
    assert not waiting.turn.release()
    Review.objects.filter(pk=review.pk).change(applies_at=None)
    assert waiting.turn.release()
    assert unclaimed() == []


def test_a_request_keeps_a_turn_with_its_worker_until_it_is_taken(waiting: Waiting) -> None:
    """Or nobody would hear it before the answer; one that comes later calls for a worker."""
    waiting.ask()
    stop = {"conversation_id": waiting.turn.conversation_id, "kind": TurnRequest.Kind.STOP}
    TurnRequest.objects.ask(**stop)
    assert not waiting.turn.release()
    TurnRequest.objects.take([*TurnRequest.objects.all()])
    assert waiting.turn.release()
    assert unclaimed() == []
    TurnRequest.objects.ask(**stop)
    assert unclaimed() == [waiting.turn]


def test_what_waits_in_a_process_that_is_gone_is_given_back(waiting: Waiting) -> None:
    """Where there is a queue: to go on if it was answered, or to wait without a process."""
    question = waiting.ask()
    elsewhere(waiting.turn, owner=f"{this_process()}0")
    enqueued = list[Turn]()
    watch = long_watch(has_queue=True)
    crash_recovery.release_waiting(watch, enqueued.append)
    assert (Turn.objects.get().owner, enqueued) == ("", [])
    Question.objects.filter(pk=question.pk).change(status=Question.Status.ALLOWED)
    elsewhere(waiting.turn, owner=f"{this_process()}0")
    crash_recovery.release_waiting(watch, enqueued.append)
    assert (Turn.objects.get().owner, enqueued) == ("", [waiting.turn])
    crash_recovery.release_waiting(watch, enqueued.append)
    assert enqueued == [waiting.turn]
    assert Message.objects.filter(turn=waiting.turn).count() == 1
