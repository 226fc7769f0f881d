"""Who is gone is judged by what an observer has seen itself, and by no clock but its own."""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, connection, transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from chatapp.models import Process
from chatapp.models.database import execute
from chatapp.models.processes import is_left, this_process
from chatapp.operations import processes
from chatapp.operations.processes import LATE, SILENT_SECONDS, STUCK, WATCHED, Heartbeat, Member
from tests.chatapp.observers import ELSEWHERE, Watch, live_elsewhere

pytestmark = pytest.mark.django_db

PATIENCE = 60
LONG_AGO = timezone.now() - timedelta(hours=1)


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


def beat(sign: float = 0) -> None:
    """Let the other process give a sign of life, which is another one than those before."""
    Process.objects.filter(pk=ELSEWHERE).update(heartbeat_at=LONG_AGO + timedelta(seconds=sign))


@pytest.fixture
def silent() -> None:
    """A process elsewhere that is silent for an hour, as far as the database's clock tells."""
    live_elsewhere()
    beat()


def test_a_process_is_gone_once_it_was_silent_for_long_enough(silent: None) -> None:
    """It is watched from then on, and what it owns is left when it is gone."""
    watch = Watch()
    assert watch.wait(0, 2, WATCHED - 2.1) == []
    assert not is_left(ELSEWHERE)
    assert watch.wait(0.1) == [ELSEWHERE]
    assert is_left(ELSEWHERE)
    assert watch.wait(2) == []


def test_a_new_sign_is_waited_for_as_long(silent: None) -> None:
    """Though it comes at the last moment."""
    watch = Watch()
    assert watch.wait(0, 2) == []
    beat(1)
    assert watch.wait(1, 2) == []
    assert not Process.objects.remove(ELSEWHERE, LONG_AGO)
    assert watch.wait(WATCHED) == [ELSEWHERE]


def test_a_process_that_gives_signs_is_not_even_watched() -> None:
    """By the clock of the database, which all of them share."""
    live_elsewhere()
    watch = Watch()
    assert watch.wait(0, 2, 2, 2) == []
    assert watch.silent == {}
    later = timezone.now() + timedelta(seconds=SILENT_SECONDS + 60)
    Process.objects.filter(pk=ELSEWHERE).update(heartbeat_at=later)
    # That clock was put back: it may not wait until the clock comes there again.
    assert watch.wait(0, 2, 2) == [ELSEWHERE]


def test_whoever_was_taken_for_gone_lives_with_its_next_sign() -> None:
    """What it has left by then may be closed; what is not is its own."""
    watch = Watch()
    watch.look()
    assert Process.objects.get().name == this_process()
    Process.objects.all().delete()
    assert not is_left(this_process())
    watch.look()
    assert Process.objects.get().name == this_process()
    assert not is_left(this_process())
    assert is_left(None)


def test_a_process_that_was_taken_for_gone_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """Each time, and not with its first sign."""
    watch = Watch()
    watch.wait(0, 2)
    assert not caplog.records
    for _ in range(2):
        Process.objects.all().delete()
        watch.wait(2, 2)
    said = [one.message for one in caplog.records]
    assert [text.startswith("others took this process for gone") for text in said] == [True, True]


class Listener:
    """One that answers each sign of life with what a test wants, and says when it has."""

    def __init__(self, *answers: float | Exception) -> None:
        self._answers, self.over = [*answers], threading.Event()
        self.signs: list[datetime] = []

    def __call__(self, _gone: bool) -> float:
        """Answer; the last answer is given again and again."""
        self.signs += Process.objects.values_list("heartbeat_at", flat=True)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if len(self._answers) == 1:
            self.over.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("is_cluster", "answers", "signs"),
    [
        # Whatever goes wrong, the next sign is given.
        (True, [ZeroDivisionError(), InterfaceError(), MemoryError(), RuntimeError(), 0, 0], 5),
        # Where the event loop stands still, none is given until it goes on.
        (True, [0, STUCK - 1, STUCK + 1, STUCK + 60, STUCK + 60, 0, 0, 0], 4),
        # To a server that is alone nobody listens.
        (False, [0, 0, 0], 1),
    ],
)
def test_signs_of_life_end_with_no_error_and_stop_while_all_stands_still(
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    is_cluster: bool,
    answers: list[float | Exception],
    signs: int,
) -> None:
    """Others would take it for gone, or never end what hangs in it."""
    settings.CLUSTER, listener = is_cluster, Listener(*answers)
    processes.begin()
    monkeypatch.setattr(processes, "listeners", [listener])
    monkeypatch.setattr(processes, "INTERVAL", 0.01)
    with contextlib.closing(Heartbeat(Member("web", "1", "here"))) as heartbeat:
        heartbeat.begin()
        assert listener.over.wait(PATIENCE)
    assert len({*listener.signs[: len(answers) - 1]}) == signs
    assert not Process.objects.exists()


class Away(sqlite3.Connection):
    """A connection to a database that is away; each time that it is tried is counted."""

    tried = threading.Semaphore(0)

    def __init__(self, *_given: Any, **_named: Any) -> None:
        self.tried.release()
        raise sqlite3.OperationalError("disk I/O error")


@pytest.mark.sqlite("others have no class of connections")
def test_a_start_says_itself_that_its_database_is_away(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In one sentence, however long it takes; once it serves, that is told in the log."""
    options = connection.settings_dict["OPTIONS"] | {"factory": Away}
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", options)
    monkeypatch.setattr(processes, "INTERVAL", 0.01)
    with contextlib.closing(Heartbeat(Member("web", "1", "here"))) as heartbeat:
        for expected in (0, 1):
            # The first of these may have begun before, and with the last all before it are over.
            assert all(Away.tried.acquire(timeout=PATIENCE) for _ in range(3))
            assert len(caplog.messages) == expected
            heartbeat.begin()


@pytest.mark.postgresql("nobody can let others only read from SQLite")
def test_whoever_cannot_write_judges_nobody(silent: None) -> None:
    """As on a standby: the others can't give a sign either."""
    watch = Watch()
    watch.wait(0, 2)
    with transaction.atomic():
        execute("SET TRANSACTION READ ONLY")
        with pytest.raises(OperationalError), transaction.atomic():
            watch.wait(2)
    assert watch.wait(1, 2) == []
    assert watch.wait(WATCHED) == [ELSEWHERE]


def test_an_outage_counts_for_nobody(silent: None) -> None:
    """Who could not write is no more silent than who could not look; then it has time to write."""
    watch = Watch()
    watch.wait(0, 2)
    look_in_vain(watch, 2)
    look_in_vain(watch, 60)
    assert watch.wait(2, 2) == []
    assert watch.wait(WATCHED) == [ELSEWHERE]


@pytest.mark.parametrize("seconds", [LATE, 20.0, 3_600.0])
def test_a_look_that_comes_late_counts_for_nobody(silent: None, seconds: float) -> None:
    """As of an observer that was frozen itself, or kept waiting by the database."""
    watch = Watch()
    assert watch.wait(0, 2, seconds, 2) == []
    assert watch.wait(WATCHED) == [ELSEWHERE]


def test_a_command_signs_once_and_lives_until_it_ends() -> None:
    """A server that starts leaves it alone; one that was killed is forgotten after a day."""
    with processes.working():
        Process.objects.update(name=ELSEWHERE, heartbeat_at=LONG_AGO)
        assert Watch().wait(0, 2, 2, 2) == []
        processes.begin()
        assert not is_left(ELSEWHERE)
        Process.objects.filter(pk=ELSEWHERE).update(heartbeat_at=LONG_AGO - timedelta(days=1))
        processes.begin()
        assert is_left(ELSEWHERE)
    assert not Process.objects.filter(name=this_process()).exists()


@pytest.mark.parametrize("is_cluster", [False, True])
def test_a_server_that_is_alone_takes_all_others_for_gone(
    silent: None, settings: Any, is_cluster: bool
) -> None:
    """Nobody else can work on what it works on."""
    settings.CLUSTER = is_cluster
    processes.begin()
    assert is_left(ELSEWHERE) != is_cluster


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
        """Also while the database's clock is wrong, so that all seem to be silent."""
        live_elsewhere()
        watch, began = Watch(), 1_000.0
        dark, at = list[tuple[float, float]](), began
        for light, length in outages:
            dark.append((at + light, at + light + length))
            at += light + length
        died = at + 20
        gone = list[str]()
        for moment, is_look in sorted(
            [(one, False) for one in _times(began, died, beats)]
            + [(one, True) for one in _times(began, died + 8, looks)]
        ):
            if moment <= died:
                assert gone == []
            if any(begin <= moment < end for begin, end in dark):
                if is_look:
                    look_in_vain(watch, moment - watch.clock.now)
            elif is_look:
                gone += watch.wait(moment - watch.clock.now)
            else:
                beat(moment)
        assert gone == [ELSEWHERE]


def _times(begin: float, end: float, pauses: list[float]) -> Iterator[float]:
    moment, number = begin, 0
    while moment <= end:
        yield moment
        moment += pauses[number % len(pauses)]
        number += 1
