"""Background jobs of one process run beside it, on its event loop or without one."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import SynchronousOnlyOperation
from django.db import connections, transaction

from chatapp.operations import background_jobs
from chatapp.operations.background_jobs import UnknownJob, enqueue
from tests.chatapp.operations.background_jobs import played_jobs

pytestmark = pytest.mark.django_db(transaction=True)


async def here(work: Callable[[], None]) -> None:
    """Work for this event loop, as requests and turns do."""
    await sync_to_async(work)()


async def elsewhere(work: Callable[[], None]) -> None:
    """Work without an event loop, as a command does."""

    def whole() -> None:
        work()
        connections.close_all()

    thread = threading.Thread(target=whole)
    thread.start()
    await asyncio.to_thread(thread.join)


places = pytest.mark.parametrize("at", [here, elsewhere])
At = Callable[[Callable[[], None]], "asyncio.Future[None]"]


@places
async def test_a_job_runs_with_its_transaction_and_only_then(at: At, said: deque[str]) -> None:
    """What is rolled back enqueues nothing; what is committed is visible to its job."""

    def work() -> None:
        with transaction.atomic():
            enqueue("say", word="rolled back")
            transaction.set_rollback(True)
        with transaction.atomic():
            enqueue("say", word="committed")
            said.append("written")
        enqueue("say", word="alone")

    await at(work)
    await background_jobs.close()
    assert [*said] == ["written", "committed", "alone"]


@places
async def test_another_job_of_the_same_key_is_not_added_while_one_waits(
    at: At, said: deque[str]
) -> None:
    """Once it runs, the next one may wait; keys of other jobs are theirs."""

    def work() -> None:
        enqueue("say", key="one", after=3_600, word="an hour later")
        enqueue("say", key="one", word="not added")
        enqueue("say", key="two", word="two")
        enqueue("wait", key="one", word="waited")

    await at(work)
    await asyncio.to_thread(played_jobs.begun.wait)
    await at(lambda: enqueue("wait", key="one", word="next"))
    played_jobs.go_on.set()
    await background_jobs.close()
    assert sorted(said) == ["next", "two", "waited"]
    # The one that waited was cancelled, and waits no more.
    await at(lambda: enqueue("say", key="one", word="now"))
    await background_jobs.close()
    assert said[-1] == "now"


@places
@pytest.mark.parametrize(("panics", "error"), [(False, "RuntimeError"), (True, "RuntimeError")])
async def test_a_job_that_fails_is_logged_and_ends_nothing(
    at: At, said: deque[str], caplog: pytest.LogCaptureFixture, panics: bool, error: str
) -> None:
    """The next one runs."""
    await at(lambda: enqueue("fail", panics=panics))
    await at(lambda: enqueue("say", word="after"))
    await background_jobs.close()
    assert [*said] == ["after"]
    assert "the background job fail failed" in caplog.text
    assert error in caplog.text


@places
async def test_at_the_end_what_waits_is_cancelled_and_what_runs_has_some_time(
    at: At, said: deque[str]
) -> None:
    """Without any it is cancelled as well."""
    await at(lambda: enqueue("wait", word="running"))
    await asyncio.to_thread(played_jobs.begun.wait)
    closing = asyncio.create_task(background_jobs.close())
    await at(lambda: enqueue("say", word="meanwhile"))
    played_jobs.go_on.set()
    await closing
    assert "running" in said
    played_jobs.begun.clear()
    played_jobs.go_on.clear()
    await at(lambda: enqueue("wait", word="too long"))
    await asyncio.to_thread(played_jobs.begun.wait)
    await background_jobs.close(0)
    played_jobs.go_on.set()
    assert said[-1] == "cancelled: too long"


async def test_what_no_other_process_could_run_is_refused(said: deque[str]) -> None:
    """A name without a job, arguments that are no JSON, and a call beside the transaction."""
    with pytest.raises(UnknownJob):
        await here(lambda: enqueue("unheard of"))
    with pytest.raises(TypeError):
        await here(lambda: enqueue("say", word=object()))
    with pytest.raises(SynchronousOnlyOperation):
        enqueue("say", word="on the loop")
