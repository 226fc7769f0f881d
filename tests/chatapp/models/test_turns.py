"""A turn is a lease: claimed once, given back while somebody is asked, handed over, and listed."""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from pytest_django import Settings

from chatapp.agent.errors import TurnEndedElsewhere
from chatapp.conversations import conversations
from chatapp.conversations.context.condense_requests import CondenseRequest
from chatapp.models import Conversation, Question, Review, Turn, TurnRequest, accounts
from chatapp.models.processes import this_process
from chatapp.models.turns import claim
from chatapp.turns import crash_recovery, lifecycle
from tests.chatapp.scripted_turns import ask, elsewhere
from tests.records import put_on_record

pytestmark = pytest.mark.django_db


def ask_unclaimed(conversation: Conversation) -> Turn:
    """Send a message, whose turn some process is to claim."""
    with override_settings(CLUSTER=True):
        turn = ask(conversation, zone="Asia/Tokyo")
    turn.refresh_from_db()
    return turn


def test_a_turn_is_claimed_once(conversation: Conversation) -> None:
    """By whoever names the attempt that it has had; it is alive from then on."""
    turn = ask_unclaimed(conversation)
    assert (turn.owner, turn.attempt, turn.status) == ("", 0, Turn.Status.QUEUED)
    assert turn.zone == "Asia/Tokyo"
    mine = claim(turn.pk, 0)
    assert mine
    assert (mine.pk, mine.owner, mine.attempt) == (turn.pk, this_process(), 1)
    assert [claim(turn.pk, attempt) for attempt in (0, 2)] == [None, None]
    assert claim(uuid.uuid4(), 0) is None
    mine.go_on(Turn.Doing.CALLING)
    with pytest.raises(TurnEndedElsewhere):
        turn.go_on(Turn.Doing.CALLING)
    again = claim(turn.pk, 1)
    assert again
    with pytest.raises(TurnEndedElsewhere):
        mine.wait()
    lifecycle.finish_turn(turn=again, status=Turn.Status.SUCCEEDED)
    assert claim(turn.pk, 2) is None
    assert Turn.objects.get(pk=turn.pk).attempt == 2


def test_a_turn_that_is_handed_over_waits_for_whoever_claims_it(conversation: Conversation) -> None:
    """As before its first step, or for the same person."""
    turn = ask(conversation)
    turn.go_on(Turn.Doing.CALLING, step=3)
    turn.hand_over()
    left = Turn.objects.get()
    assert (left.status, left.owner, left.doing, left.step) == ("queued", "", "", 3)
    assert left.is_unclaimed
    mine = claim(turn.pk, turn.attempt)
    assert mine
    mine.wait()
    mine.hand_over()
    assert Turn.objects.get().status == Turn.Status.WAITING
    lifecycle.finish_turn(turn=Turn.objects.get(), status=Turn.Status.STOPPED)
    assert not Turn.objects.get().is_unclaimed


def test_a_turn_that_nobody_has_claimed_is_stopped_at_once(conversation: Conversation) -> None:
    """By its id, its nonce, or without a name; one that a process works on is that one's."""
    for name in ("pk", "nonce", None):
        turn = ask_unclaimed(conversation)
        assert not lifecycle.stop_unclaimed(conversation.pk, uuid.uuid4())
        named = getattr(turn, name) if name else None
        assert lifecycle.stop_unclaimed(conversation.pk, named)
        turn.refresh_from_db()
        assert (turn.status, turn.is_over) == (Turn.Status.STOPPED, True)
        assert not lifecycle.stop_unclaimed(conversation.pk, named)
    turn = ask_unclaimed(conversation)
    assert claim(turn.pk, 0)
    assert not lifecycle.stop_unclaimed(conversation.pk, None)
    assert not Turn.objects.get(pk=turn.pk).is_over


def unclaimed(older_than: float = 0.0) -> list[Turn]:
    """Return turns that should be claimed."""
    return [*Turn.objects.unclaimed(older_than)]


def test_what_nobody_claims_is_listed_after_a_while(conversation: Conversation) -> None:
    """Its job may be lost; not what a process works on, nor what is over."""
    turn = ask_unclaimed(conversation)
    assert unclaimed() == [turn]
    assert unclaimed(60) == []
    mine = claim(turn.pk, 0)
    assert mine
    assert unclaimed() == []
    mine.hand_over()
    assert unclaimed() == [turn]
    lifecycle.stop_unclaimed(conversation.pk, None)
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


@pytest.mark.parametrize("kind", ["question", "review"])
def test_an_answer_is_kept_while_the_server_stops(
    waiting: Waiting, browser: Client, kind: str
) -> None:
    """No process has the turn any more, and no queue is there: the next start reads the answer."""
    asked = waiting.ask() if kind == "question" else waiting.show()
    assert lifecycle.release(waiting.turn)
    address = reverse(f"answer_{kind}", args=[waiting.turn.conversation_id, asked.pk])
    decision = {"question": "once", "review": "discard"}[kind]
    assert browser.post(address, {"decision": decision}).status_code == HTTPStatus.FOUND
    asked.refresh_from_db()
    assert asked.answered_at
    assert [one.turn for one in crash_recovery.recover().taken] == [waiting.turn]


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


def test_what_waits_in_a_process_that_is_gone_is_given_back(
    waiting: Waiting, settings: Settings
) -> None:
    """Where there is a queue: to go on if it was answered, or to wait without a process."""
    question = waiting.ask()
    elsewhere(waiting.turn)
    enqueued = list[Turn]()
    settings.CLUSTER = True
    crash_recovery.recover(enqueue=enqueued.append)
    assert (Turn.objects.get().owner, enqueued) == ("", [])
    Question.objects.filter(pk=question.pk).change(status=Question.Status.ALLOWED)
    elsewhere(waiting.turn)
    crash_recovery.recover(enqueue=enqueued.append)
    assert (Turn.objects.get().owner, enqueued) == ("", [waiting.turn])
    crash_recovery.recover(enqueue=enqueued.append)
    assert enqueued == [waiting.turn]


def test_a_job_that_was_lost_is_enqueued_again(conversation: Conversation) -> None:
    """Once in a while, until somebody claims the turn."""
    turn, enqueued = ask_unclaimed(conversation), list[Turn]()
    crash_recovery.enqueue_unclaimed(enqueued.append)
    assert enqueued == []
    long_ago = timezone.now() - timedelta(seconds=crash_recovery.LOST_AFTER)
    Turn.objects.update(offered_at=long_ago)
    for _ in range(2):
        crash_recovery.enqueue_unclaimed(enqueued.append)
        assert [(one.pk, one.attempt) for one in enqueued] == [(turn.pk, 0)]


def test_a_request_goes_along_with_a_turn_that_leaves_its_process(waiting: Waiting) -> None:
    """Whoever claims it next condenses after the step, as was asked for; one that stays has it."""
    request = CondenseRequest(uuid.uuid4())
    TurnRequest.objects.ask(
        TurnRequest.Kind.CONDENSE,
        conversation_id=waiting.turn.conversation_id,
        nonce=request.nonce,
        details=request.to_json(),
    )
    TurnRequest.objects.take([*TurnRequest.objects.all()])
    assert not lifecycle.release(waiting.turn, request)
    assert not TurnRequest.objects.untaken([waiting.turn.pk])
    waiting.ask()
    assert lifecycle.release(waiting.turn, request)
    assert TurnRequest.objects.untaken([waiting.turn.pk])
    assert unclaimed() == []
    assert not lifecycle.release(waiting.turn, request)
    mine = claim(waiting.turn.pk, 1)
    assert mine
    mine.go_on(Turn.Doing.CALLING)
    TurnRequest.objects.take([*TurnRequest.objects.all()])
    enqueued = list[Turn]()
    lifecycle.hand_over(mine, request, enqueue=enqueued.append)
    assert TurnRequest.objects.untaken([mine.pk])
    lifecycle.hand_over(mine, request, enqueue=enqueued.append)
    assert enqueued == [mine]


STEPS = st.sampled_from(
    ["claim", "claim late", "go_on", "wait", "ask", "release", "hand_over", "end"]
)


class AnySteps(TestCase):
    """What processes may do with a turn, in whatever order, and however late."""

    @given(steps=st.lists(st.tuples(STEPS, st.integers(0, 5)), max_size=30))
    def test_a_turn_is_never_two_processes(self, steps: list[tuple[str, int]]) -> None:
        """Whoever claimed it last has it, until it gives the turn back or ends it; nobody else."""
        turn = ask_unclaimed(conversations.start_conversation(owner=accounts.prepare_owner()))
        # As before it was opened: a turn that nobody owns is no process's.
        never = Turn(pk=turn.pk, owner="nobody", attempt=0, conversation=turn.conversation)
        claimed, holder = [never], None
        for step, which in steps:
            now, one = Turn.objects.get(pk=turn.pk), claimed[which % len(claimed)]
            if step.startswith("claim"):
                attempt = now.attempt - (step == "claim late")
                mine = claim(turn.pk, attempt)
                assert (mine is None) == (now.is_over or step == "claim late")
                if mine:
                    claimed.append(mine)
                    holder = mine
            elif step == "ask":
                Question.objects.create(turn=turn, seq=1, place=Question.objects.count())
            elif step == "end":
                ended = lifecycle.finish_turn(turn=one, status=Turn.Status.STOPPED)
                assert ended == (one is holder)
                holder = None if ended else holder
            elif one is holder:
                if self.take(step, one):
                    holder = None
            else:
                with pytest.raises(TurnEndedElsewhere):
                    self.take(step, one)
        left = Turn.objects.get(pk=turn.pk)
        assert (left.owner == this_process() and not left.is_over) == (holder is not None)

    def take(self, step: str, one: Turn) -> bool:
        """Take a step with a turn; return whether it is nobody's then."""
        match step:
            case "go_on":
                one.go_on(Turn.Doing.CALLING)
            case "wait":
                one.wait()
            case "release":
                return one.release()
            case "hand_over":
                one.hand_over()
                return True
        return False
