"""Who is gone is judged by what an observer has seen itself, and by no clock but its own."""

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from chatapp.accounts import accounts
from chatapp.conversations import conversations
from chatapp.models import Conversation, Turn
from chatapp.models.database import execute
from chatapp.models.processes import this_process
from chatapp.turns import crash_recovery
from chatapp.turns.crash_recovery import GRACE, LATE, SILENCE
from tests.chatapp.observers import Watch, long_watch
from tests.chatapp.scripted_turns import ask, elsewhere


@contextlib.contextmanager
def outage() -> Iterator[None]:
    """Let the database answer nothing."""

    def refuse(_execute: Callable[..., Any], *_rest: Any) -> Any:
        raise OperationalError("the server closed the connection")

    with connection.execute_wrapper(refuse):
        yield


def look_in_vain(watch: Watch, seconds: float) -> None:
    """Look during an outage."""
    with outage(), pytest.raises(OperationalError):
        watch.wait(seconds)


def beat(turn: Turn) -> None:
    """Let the turn's process give a sign of life."""
    turn.heartbeat_at = (turn.heartbeat_at or timezone.now()) + timedelta(seconds=2)
    Turn.objects.filter(pk=turn.pk).update(heartbeat_at=turn.heartbeat_at)


def is_gone(watch: Watch, turn: Turn) -> bool:
    """Whether the turn's process is gone, as far as its row tells."""
    return watch.is_gone(Turn.objects.get(pk=turn.pk))


@pytest.fixture
def turn(conversation: Conversation) -> Turn:
    """A turn that its process, which is this one, gives no signs for by itself."""
    return ask(conversation)


def test_a_process_of_another_machine_is_judged_by_its_signs(conversation: Conversation) -> None:
    """Unless only one process can use the database: all others have left what is theirs."""
    turn = elsewhere(ask(conversation))
    assert is_gone(Watch().wait(0), turn) == (connection.vendor == "sqlite")
    assert is_gone(long_watch(), turn)


def test_a_process_is_gone_once_it_was_silent_for_long_enough(turn: Turn) -> None:
    """Its last sign was the newest in looks that are six seconds apart, and not before."""
    watch = Watch().wait(0, 2, 2, 1.9)
    assert not is_gone(watch, turn)
    watch.wait(0.1)
    assert is_gone(watch, turn)
    assert watch.look() == [turn.pk]
    beat(turn)
    assert watch.look() == []
    assert not is_gone(watch, turn)


@pytest.mark.postgresql("nobody can let others only read from SQLite")
def test_what_nobody_can_write_is_no_silence(turn: Turn) -> None:
    """As on a standby: what was read meanwhile counts for nobody, nor does a moment after it."""
    watch = Watch().wait(0, 2)
    with transaction.atomic():
        execute("SET TRANSACTION READ ONLY")
        watch.wait(2, 2, 2)
        assert not is_gone(watch, turn)
    watch.wait(2, 2)
    assert not is_gone(watch, turn)
    assert is_gone(watch.wait(2, 2, 2), turn)


@pytest.mark.parametrize("wrong", [-86_400, -60, 0, 60, 86_400])
def test_no_two_clocks_are_compared(turn: Turn, wrong: float) -> None:
    """However wrong another one is, a new sign is a new sign, and an old one grows old."""
    turn.heartbeat_at = timezone.now() + timedelta(seconds=wrong)
    watch = Watch()
    for _ in range(10):
        beat(turn)
        watch.wait(2)
        assert not is_gone(watch, turn)
    assert is_gone(watch.wait(2, 2, 2), turn)


def test_an_outage_counts_for_nobody(turn: Turn) -> None:
    """Who could not write is no more silent than who could not look; then it has time to write."""
    watch = Watch().wait(0, 2, 2)
    look_in_vain(watch, 2)
    look_in_vain(watch, 60)
    watch.wait(2)
    assert not is_gone(watch, turn)
    # Six seconds are over, but the outage is not for long enough.
    watch.wait(2)
    assert not is_gone(watch, turn)
    watch.wait(GRACE - 2)
    assert is_gone(watch, turn)


@pytest.mark.parametrize("seconds", [LATE, 20.0, 3_600.0])
def test_a_look_that_comes_late_counts_for_nobody(turn: Turn, seconds: float) -> None:
    """As of an observer that was frozen itself, or kept waiting by the database."""
    watch = Watch().wait(0, 2, 2, seconds)
    assert not is_gone(watch, turn)
    watch.wait(2)
    assert not is_gone(watch, turn)
    assert is_gone(watch.wait(GRACE - 2), turn)


def test_each_observer_begins_with_nothing(turn: Turn) -> None:
    """It has seen nobody silent, whatever another one has."""
    assert is_gone(long_watch(), turn)
    assert not is_gone(Watch().wait(0), turn)
    assert crash_recovery.close_interrupted(Watch()) == set()


def test_another_attempt_is_another_turn_to_watch(turn: Turn) -> None:
    """Whoever took it has as much time as the one before."""
    watch = long_watch()
    Turn.objects.filter(pk=turn.pk).update(attempt=turn.attempt + 1)
    watch.look()
    assert not is_gone(watch, turn)
    assert is_gone(watch.wait(2, 2, 2), turn)


def test_what_nobody_owns_is_left_unless_a_queue_has_it(conversation: Conversation) -> None:
    """A worker is to claim it, however long that takes."""
    turn = elsewhere(ask(conversation), owner="")
    assert is_gone(Watch(), turn)
    assert not is_gone(long_watch(has_queue=True), turn)
    assert crash_recovery.close_interrupted(long_watch(has_queue=True)) == set()
    assert crash_recovery.close_interrupted(Watch()) == {conversation.pk}


def test_a_process_that_ended_on_this_machine_is_gone_at_once(conversation: Conversation) -> None:
    """Its number has another process now: that can't be wrong."""
    turn = elsewhere(ask(conversation), owner=f"{this_process()}0")
    assert is_gone(Watch(), turn)
    assert Watch().look() == [turn.pk]


def test_what_this_process_gives_no_signs_for_is_left_by_it(conversation: Conversation) -> None:
    """As by any other."""
    turn = ask(conversation)
    watch = Watch().wait(0, 2, 2)
    assert not is_gone(watch, turn)
    crash_recovery.keep_alive([turn])
    assert not is_gone(watch.wait(2), turn)
    assert is_gone(watch.wait(2, 2, 2), turn)


_PAUSES = st.floats(2.0, 2.3)
_OUTAGES = st.lists(st.tuples(st.floats(8.0, 20.0), st.floats(0.0, 30.0)), max_size=4)


class AnyOutages(TestCase):
    """Beats and looks as they may come, with outages between them."""

    @given(
        outages=_OUTAGES, beats=st.lists(_PAUSES, min_size=1), looks=st.lists(_PAUSES, min_size=1)
    )
    def test_whoever_lives_is_never_gone_and_whoever_died_soon_is(
        self, outages: list[tuple[float, float]], beats: list[float], looks: list[float]
    ) -> None:
        """A restart of the database hands nothing over, and a death is noticed in ten seconds."""
        owner = accounts.prepare_owner()
        turn = ask(conversations.start_conversation(owner=owner))
        watch, began = Watch(), 1_000.0
        dark, at = list[tuple[float, float]](), began
        for light, length in outages:
            dark.append((at + light, at + light + length))
            at += light + length
        died = at + 20
        signs = list(_times(began, died, beats))
        for moment, is_look in sorted(
            [(one, False) for one in signs]
            + [(one, True) for one in _times(began, died + 10, looks)]
        ):
            fails = any(begin <= moment < end for begin, end in dark)
            if not is_look:
                if not fails:
                    beat(turn)
                continue
            if fails:
                look_in_vain(watch, moment - watch.clock.now)
            else:
                watch.wait(moment - watch.clock.now)
                assert not is_gone(watch, turn) or moment - signs[-1] >= SILENCE
        assert is_gone(watch, turn)


def _times(begin: float, end: float, pauses: list[float]) -> Iterator[float]:
    moment, number = begin, 0
    while moment <= end:
        yield moment
        moment += pauses[number % len(pauses)]
        number += 1
