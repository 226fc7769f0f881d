"""An import is known by its row, to whichever process is asked for it or goes on with it."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import translation
from pytest_django import Settings

from chatapp.models import Conversation, ImportRun, Message, Process, Source, errors
from chatapp.models.import_runs import SILENCE
from chatapp.records.transfer import Begin, Piece, Problem, import_jobs
from chatapp.records.transfer.import_jobs import begin_import, find_import, find_running, run_import
from tests.chatapp.observers import ELSEWHERE, live_elsewhere
from tests.panics import PanicException

pytestmark = pytest.mark.django_db(transaction=True)


def said(text: str) -> Piece:
    """A message of a file."""
    return {"role": "user", "content": text}


def sent(owner: User) -> ImportRun:
    """An import whose files are there, and which waits."""
    run = begin_import(owner=owner)
    (run.folder / "talk.json").write_text(json.dumps([said("Hello")]))
    ImportRun.objects.filter(pk=run.pk).update(form="messages", name="talk.json")
    return ImportRun.objects.get(pk=run.pk)


class Held:
    """A file of three conversations, which is read up to the second until it may go on."""

    def __init__(self) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __call__(self, _form: str, _path: Path) -> Iterator[Piece]:
        """Read it."""
        for title in ("one", "two", "three"):
            yield Begin(title)
            yield said(title)
            if title == "two":
                self.reached.set()
                self.go_on.wait()
        yield said("the end")


def let_go(_form: str, _path: Path) -> Iterator[Piece]:
    """Read the same file without a pause."""
    held = Held()
    held.go_on.set()
    yield from held("", Path())


def texts() -> list[str]:
    """Return what was imported, each conversation by its first message."""
    there = Conversation.objects.present().order_by("created_at")
    return [one.messages.order_by("seq")[0].content for one in there]


def test_a_user_has_one_import_at_a_time(alice: User, bob: User) -> None:
    """The database says so, whichever process asks; others import beside it."""
    run = sent(alice)
    with pytest.raises(errors.Refused, match="Another import is still running"):
        begin_import(owner=alice)
    assert begin_import(owner=bob).pk != run.pk
    run.finish("")
    assert begin_import(owner=alice).pk != run.pk


def test_an_import_is_seen_from_its_row(alice: User, browser: Client) -> None:
    """A process that works on none shows those of others."""
    run = sent(alice)
    ImportRun.objects.update(messages=1_234)
    assert find_running(alice) == run
    page = browser.get(reverse("import_job", args=[run.pk])).text
    assert "1,234 messages read…" in page
    told = {"title": "T", "refusal": "R.", "problems": [], "left_out": 0}
    ImportRun.objects.update(left_out=[told, told], unused=1_000)
    assert run.refresh_from_db() or run.finish("Nothing.")
    page = browser.get(reverse("import_job", args=[run.pk])).text
    assert all(words in page for words in ("Nothing.", "<bdi>T</bdi>", "R.", "1,000 in all."))


async def test_another_attempt_goes_on_where_one_was_left(alice: User) -> None:
    """What was imported stays, what was half imported is imported anew, and nothing is twice."""
    run = await sync_to_async(sent)(alice)
    held = Held()
    attempt = asyncio.create_task(run_import(str(run.pk), held))
    await asyncio.to_thread(held.reached.wait)
    attempt.cancel()

    @sync_to_async
    def check(wanted: list[str]) -> None:
        assert texts() == wanted
        assert not Source.objects.exclude(importer="").exists()

    # It has heard of it by then.
    await check(["one"])
    held.go_on.set()
    await asyncio.wait({attempt})
    assert attempt.cancelled()
    await check(["one"])
    await run_import(str(run.pk), let_go)
    await check(["one", "two", "three"])
    run = await sync_to_async(ImportRun.objects.get)()
    assert (run.attempt, run.messages, run.refusal, run.finished_at is None) == (2, 4, "", False)
    assert not run.folder.exists()
    # Once it is over, another attempt does nothing.
    await run_import(str(run.pk), let_go)
    await check(["one", "two", "three"])


def refuse(_form: str, _path: Path) -> Iterator[Piece]:
    """Read two conversations of which nothing can be used."""
    for title in ("one", "two"):
        yield Begin(title)
        yield from (Problem(number, "No.") for number in range(1, 6))


async def test_of_a_refused_conversation_few_problems_are_kept(alice: User) -> None:
    """All of the first one's; of a later one, the others are counted."""
    run = await sync_to_async(sent)(alice)
    await run_import(str(run.pk), refuse)
    await run.arefresh_from_db()
    kept = [(len(one["problems"]), one["left_out"]) for one in run.left_out]
    assert (kept, run.unused) == ([(5, 0), (3, 2)], 2)


async def test_an_attempt_that_another_one_replaced_imports_nothing_more(alice: User) -> None:
    """A process that stood still for a while has not noticed that it was taken for gone."""
    run = await sync_to_async(sent)(alice)
    held = Held()
    attempt = asyncio.create_task(run_import(str(run.pk), held))
    await asyncio.to_thread(held.reached.wait)
    other = await sync_to_async(ImportRun.objects.claim)(run.pk)
    held.go_on.set()
    await attempt
    assert other
    assert await sync_to_async(texts)() == ["one"]
    assert await sync_to_async(other.keep_alive)()
    assert run.folder.exists()


@pytest.mark.parametrize("error", [RuntimeError, PanicException])
async def test_an_import_that_fails_says_so_and_is_over(
    alice: User, error: type[BaseException]
) -> None:
    """Another one may begin, also after a native library gave up."""

    def read(_form: str, _path: Path) -> Iterator[Piece]:
        yield said("one")
        raise error

    run = await sync_to_async(sent)(alice)
    await run_import(str(run.pk), read)
    await sync_to_async(run.refresh_from_db)()
    assert run.refusal == "The import failed."
    await sync_to_async(begin_import)(owner=alice)


async def test_an_import_that_is_stopped_while_it_stores_leaves_at_once(alice: User) -> None:
    """What is there then is not a conversation; the next attempt begins anew."""
    begun = threading.Event()

    def read(_form: str, _path: Path) -> Iterator[Piece]:
        yield from map(said, map(str, range(5_000)))
        begun.set()

    run = await sync_to_async(sent)(alice)
    attempt = asyncio.create_task(run_import(str(run.pk), read))
    await asyncio.to_thread(begun.wait)
    attempt.cancel()
    await asyncio.wait({attempt})
    assert await Message.objects.acount() < 5_000
    assert await sync_to_async(texts)() == []
    await run_import(str(run.pk), let_go)
    assert await sync_to_async(texts)() == ["one", "two", "three"]
    assert await Message.objects.acount() == 4


async def test_its_progress_is_on_its_row_and_its_words_in_its_language(alice: User) -> None:
    """So every process can say how far it is."""

    def read(_form: str, _path: Path) -> Iterator[Piece]:
        yield said(translation.get_language() or "")
        while not ImportRun.objects.filter(messages=1).exists():
            time.sleep(0.01)

    with translation.override("de"):
        run = await sync_to_async(sent)(alice)
    await run_import(str(run.pk), read)
    assert await sync_to_async(texts)() == ["de"]


def age(run: ImportRun, worker: str, silence: timedelta) -> None:
    """Let a process be silent that works on an import, "" while any may take it."""
    mine = ImportRun.objects.filter(pk=run.pk)
    mine.update(worker=worker, heartbeat_at=F("heartbeat_at") - silence)


def test_an_import_of_an_ended_process_is_said_to_be_interrupted(
    alice: User, browser: Client
) -> None:
    """Nobody goes on with it, and its owner may import the file again."""
    run = sent(alice)
    age(run, ELSEWHERE, timedelta(0))
    page = browser.get(reverse("import_job", args=[run.pk])).text
    assert "The import was interrupted: the server was stopped meanwhile." in page
    assert "hx-get" not in page.split("<main")[1]
    begin_import(owner=alice)
    import_jobs.remove_left()
    assert not run.folder.exists()


def test_where_others_may_go_on_an_import_is_theirs_for_a_while(
    alice: User, settings: Settings
) -> None:
    """What it needs stays there, until nobody has gone on with it for long."""
    settings.CLUSTER = True
    run = sent(alice)
    part = Conversation.objects.create(owner=alice, profile=alice.profiles.first())
    Source.objects.create(conversation=part, run=run, importer=ELSEWHERE)
    live_elsewhere()
    for worker in (ELSEWHERE, ""):
        age(run, worker, timedelta(0))
        import_jobs.remove_left()
        assert run.folder.exists()
        assert Source.objects.exists()
    Process.objects.all().delete()
    age(run, "", SILENCE)
    assert find_running(alice) == run
    age(run, ELSEWHERE, timedelta(0))
    assert find_running(alice) is None
    found = find_import(run.pk, alice)
    assert found
    assert "interrupted" in found.refusal
    import_jobs.remove_left()
    assert not run.folder.exists()
    assert not Source.objects.exists()
