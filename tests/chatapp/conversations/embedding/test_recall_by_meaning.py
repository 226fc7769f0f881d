"""What is hidden is found by its meaning, by whoever may see it, and is gone where it is gone."""

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import LazySettings, settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections
from django.test import Client
from django.urls import reverse

from chatapp.conversations import conversations, forgotten_passages
from chatapp.conversations.composer.slash_commands import expand
from chatapp.conversations.embedding import vectors
from chatapp.conversations.embedding.embedders import embedder_for
from chatapp.conversations.embedding.vectors import asked
from chatapp.conversations.toolbox.history_search import StoredHistory, StoredRecall
from chatapp.models import (
    Conversation,
    Meanings,
    Message,
    MessageMeaning,
    ModelCall,
    Preferences,
    Source,
    hidden_messages,
    message_store,
)
from chatapp.models.meanings import mark_due
from chatapp.operations import background_jobs
from chatapp.project import telemetry
from chatapp.records.transfer.record_import import load_conversation
from tests.chatapp.claude import converse
from tests.chatapp.conftest import Say, summarise
from tests.chatapp.conversations.context.recalled import newest, recalled
from tests.chatapp.scripted_turns import ask, end
from tests.chatapp.sockets import open_page
from tests.chatapp.web.api.programs import bearer
from tests.standin.behaviours import Reply
from tests.standin.embeddings import Embeddings, embed
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db

SAID = (
    "Our puppy is called Bruno.",
    "The boiler is from 1998.",
    "I earn a salary of 4,100.",
    "Nothing much happened.",
)
DOG, MONEY = "What is my hound?", "What is my wage?"


@pytest.fixture
def embeddings(settings: LazySettings) -> Iterator[Embeddings]:
    """The server that embeds."""
    with Embeddings() as server:
        settings.RECALL_BY_MEANING, settings.EMBEDDINGS_MODEL = True, "topics"
        settings.EMBEDDINGS_URL = server.url.rstrip("/")
        asked.clear()
        yield server


@pytest.fixture
def hidden(conversation: Conversation, say: Say, embeddings: Embeddings) -> Conversation:
    """A conversation whose messages are hidden and embedded."""
    for text in SAID:
        say("user", text)
    summarise(conversation)
    make(conversation)
    return conversation


def make(conversation: Conversation) -> None:
    """Do the background's work to its end."""
    mark_due(conversation.pk)
    while vectors.make_vectors(conversation.pk):
        pass


def asked_vector(question: str) -> Any:
    """Return a question as the server embeds it."""
    vector = np.array(embed(question), np.float32)
    return vector / np.linalg.norm(vector)


def found(conversation: Conversation, question: str, most: int = 1) -> list[str]:
    """Return the texts of the messages whose passages are nearest to a question."""
    asked[question] = settings.EMBEDDINGS_MODEL, asked_vector(question)
    found = StoredRecall(conversation.pk).nearest(question, most)
    near = [one for one in found if one.likeness > 0.5]
    rows = Message.objects.in_bulk([one.number for one in near])
    return [rows[one.number].content[0]["text"] for one in near]


def test_what_shares_no_word_with_a_question_is_found(hidden: Conversation, alice: User) -> None:
    """A conversation finds nothing of another one, and calls are on its record."""
    assert found(hidden, DOG) == [SAID[0]]
    assert found(hidden, MONEY) == [SAID[2]]
    other = conversations.start_conversation(owner=alice)
    assert found(other, DOG) == []
    calls = ModelCall.objects.filter(conversation=hidden, purpose="embedding")
    assert {(one.cost, one.tokens_input > 0) for one in calls} == {(0, True)}


@pytest.mark.django_db(transaction=True)
def test_other_agents_find_by_meaning(hidden: Conversation, alice: User, bob: User) -> None:
    """Over MCP, in their owner's conversations alone."""
    asked = {"name": "search", "arguments": {"query": DOG}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
    for owner, texts in ((alice, [SAID[0]]), (bob, [])):
        client = Client(headers=bearer(owner, "read"))
        told = client.post("/api/mcp", message, "application/json").json()["result"]["content"]
        assert [one["text"] for one in json.loads(told[0]["text"])["found"]][:1] == texts


GONE: dict[str, tuple[Callable[[Conversation], object], int]] = {
    "forgotten": (
        lambda one: forgotten_passages.forget_passage(conversation=one, text=SAID[0]), 3
    ),
    "rewound": (lambda one: hidden_messages.rewind(one.pk, 1), 4),
    "shown again": (lambda one: hidden_messages.undo_reduction(one.messages.get(seq=5)), 4),
    "emptied": (lambda one: one.messages.filter(seq=1).update(content=[]), 3),
    "deleted": (lambda one: Conversation.objects.filter(pk=one.pk).delete(), 0),
}  # fmt: skip


@pytest.mark.parametrize(("act", "left"), GONE.values(), ids=GONE)
def test_what_is_gone_is_not_found(
    hidden: Conversation, act: Callable[[Conversation], object], left: int
) -> None:
    """What was deleted has no vector in the database any more, and no bit of one."""
    act(hidden)
    assert found(hidden, DOG) == []
    assert MessageMeaning.objects.count() == left
    if left == 3:
        assert bytes(Meanings.objects.get(pk=hidden.pk).signs) == b""
        make(hidden)
        assert SAID[0] not in found(hidden, DOG, 5)
        assert found(hidden, MONEY) == [SAID[2]]


def test_vectors_are_made_anew(
    hidden: Conversation, embeddings: Embeddings, settings: LazySettings
) -> None:
    """By another model, whose name is another one; and where the operator wants it."""
    embeddings.texts.clear()
    make(hidden)
    assert not embeddings.texts
    settings.EMBEDDINGS_MODEL = "other"
    assert found(hidden, DOG) == []
    for act in (lambda: None, lambda: call_command("rebuild_search")):
        act()
        make(hidden)
        assert {*SAID} <= {*embeddings.texts}
        assert found(hidden, DOG) == [SAID[0]]
        embeddings.texts.clear()


@pytest.mark.usefixtures("transactional_db")
async def test_a_message_recalls_what_shares_no_word_with_it(
    alice: User, anthropic_standin: Standin, embeddings: Embeddings
) -> None:
    """Vectors are made after the turn that hides; a question is embedded once, with its subject."""
    await Preferences.objects.filter(owner=alice).aupdate(auto_recall=True)
    conversation = await sync_to_async(converse)(alice, anthropic_standin)
    async with open_page(conversation, alice) as page:
        anthropic_standin.then(Reply("Noted."), Reply("word " * 3_000))
        await page.ask(SAID[0])
        await page.ask("Write a lot.")
        anthropic_standin.then(Reply("<summary>They talked.</summary>"))
        await page.condense()
        await background_jobs.close(60)
        embeddings.texts.clear()
        await page.ask(DOG)
    said = await sync_to_async(newest)(conversation)
    assert SAID[0] in recalled(said)
    assert embeddings.texts == [f"{DOG}\nWrite a lot."]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_hidden", [True, False])
def test_a_request_to_forget_offers_what_it_may_mean(
    conversation: Conversation, say: Say, embeddings: Embeddings, client: Client, is_hidden: bool
) -> None:
    """It forgets nothing by meaning alone; the page has a button for each passage."""
    hidden = conversation
    for text in SAID:
        say("user", text)
    if is_hidden:
        summarise(hidden)
        make(hidden)
    Preferences.objects.filter(owner=hidden.owner).update(auto_recall=True)
    client.force_login(hidden.owner)
    for text in ("Forget my wage.", "Go on.", "Forget the planet Mars."):
        own = Conversation.objects.get(pk=hidden.pk)
        own.has_meanings = is_hidden
        async_to_sync(expand)(own, text, strict=False)
        end(ask(own, text), "I see.")
    rows = [*hidden.messages.questions().filter(turn__isnull=False).order_by("seq")]
    assert "Forget: …" in message_store.to_engine(rows[0]).text
    assert SAID[2] in recalled(rows[0])
    page = client.get(reverse("chat", args=[hidden.pk])).content.decode()
    assert page.count("Forgot nothing") == 2
    assert f'name="text" value="{SAID[2]}"' in page
    assert not Message.objects.filter(forgotten__isnull=False).exists()
    client.post(reverse("forget", args=[hidden.pk]), {"text": SAID[2]})
    assert found(hidden, MONEY) != [SAID[2]]


@pytest.mark.usefixtures("transactional_db")
async def test_the_agent_finds_what_shares_no_word(hidden: Conversation) -> None:
    """Its tool goes by meaning as well."""
    asked[MONEY] = settings.EMBEDDINGS_MODEL, asked_vector(MONEY)
    found = await StoredHistory(hidden.pk).search(MONEY, 3)
    assert SAID[2] in [one.excerpt for one in found]


FAILURES = {
    "an answer that is none": (("puppy", "boiler", "salary", "Nothing", "."), 0, False),
    "a text that it refuses": (("puppy",), 4, True),
}


@pytest.mark.parametrize(("refused", "stored", "ends"), FAILURES.values(), ids=FAILURES)
def test_a_failure_ends_the_job_with_a_sentence(
    conversation: Conversation,
    say: Say,
    embeddings: Embeddings,
    caplog: pytest.LogCaptureFixture,
    refused: tuple[str, ...],
    stored: int,
    ends: bool,
) -> None:
    """What was hidden is due still, or found by its words only where a text is at fault."""
    embeddings.refused = refused
    for text in SAID:
        say("user", text)
    summarise(conversation)
    with caplog.at_level(logging.WARNING):
        make(conversation)
    assert len(caplog.messages) == 1
    assert MessageMeaning.objects.count() == stored
    assert (Meanings.objects.get(pk=conversation.pk).due == "") == ends
    assert found(conversation, DOG) == []


@pytest.mark.usefixtures("transactional_db")
def test_what_is_forgotten_while_it_is_embedded_leaves_no_vector(
    conversation: Conversation, say: Say, embeddings: Embeddings
) -> None:
    """Its vector would say what nobody may know any more."""

    def forget() -> None:
        embeddings.meanwhile = lambda: None
        conversation.messages.filter(seq=1).update(forgotten=[SAID[0]])
        connections.close_all()

    say("user", SAID[0])
    summarise(conversation)
    embeddings.meanwhile = forget
    make(conversation)
    assert SAID[0] in embeddings.texts
    assert found(conversation, DOG) == []


@pytest.mark.parametrize(("messages", "embedded"), [(4, 0), (120, 120)])
def test_a_long_import_is_embedded_before_it_is_hidden(
    alice: User, embeddings: Embeddings, messages: int, embedded: int
) -> None:
    """Of a short one nothing will be hidden soon."""
    pieces = [{"role": "user", "content": f"Our puppy ate {at} shoes."} for at in range(messages)]
    source = Source(form="plain", name="chat.json")
    conversation = load_conversation(pieces, owner=alice, source=source)
    while vectors.make_vectors(conversation.pk):
        pass
    assert MessageMeaning.objects.count() == embedded


def test_calls_that_embed_are_among_the_costs(
    hidden: Conversation, browser: Client, embeddings: Embeddings
) -> None:
    """A spent budget ends them, and recall goes on by words."""
    for address in (reverse("costs"), reverse("conversation_costs", args=[hidden.pk])):
        assert browser.get(address).status_code == 200
    assert "topics" in browser.get(reverse("costs")).content.decode()
    Conversation.objects.filter(pk=hidden.pk).update(budget=1)
    ModelCall.objects.filter(conversation=hidden).update(cost=1)
    embeddings.texts.clear()
    Message.objects.filter(conversation=hidden, seq=1).update(
        content=[{"type": "text", "text": "Cat."}]
    )
    make(hidden)
    assert embeddings.texts == []


@pytest.mark.django_db(transaction=True)
async def test_a_job_that_is_cancelled_ends_between_two_pieces_of_a_message(
    conversation: Conversation, say: Say, embeddings: Embeddings
) -> None:
    """A server that stops does not wait for a long message; its vectors come later."""
    await sync_to_async(say)("user", "The dog has slept. " * 5_000)
    await sync_to_async(summarise)(conversation)
    await sync_to_async(mark_due)(conversation.pk)
    embeddings.texts.clear()
    loop, is_cancelled = asyncio.get_running_loop(), threading.Event()
    job = asyncio.ensure_future(vectors.embed_messages(str(conversation.pk)))

    def cancel() -> None:
        job.cancel()
        # What the job does about it comes before.
        loop.call_soon(lambda: loop.call_soon(lambda: loop.call_soon(is_cancelled.set)))

    def meanwhile() -> None:
        loop.call_soon_threadsafe(cancel)
        is_cancelled.wait()

    embeddings.meanwhile = meanwhile
    with pytest.raises(asyncio.CancelledError):
        await job
    assert len(embeddings.texts) == vectors.TOGETHER
    assert not await MessageMeaning.objects.aexists()


def short(data: list[Any]) -> list[Any]:
    """Return an answer for half of the texts, whose vectors could be cut in two."""
    return data[: max(1, len(data) // 2)]


def broken(data: list[Any]) -> list[Any]:
    """Return vectors that are no numbers."""
    return [{**one, "embedding": [float("nan"), *one["embedding"][1:]]} for one in data]


ANSWERS: dict[str, tuple[Callable[[list[Any]], list[Any]], int]] = {
    "whole": (lambda data: data, 4),
    # A server that can't do with many is asked again, one text at a time.
    "fewer than texts": (short, 4),
    "no numbers": (broken, 0),
    "empty": (lambda data: [{**one, "embedding": []} for one in data], 0),
}


@pytest.mark.parametrize(("change", "stored"), ANSWERS.values(), ids=ANSWERS)
def test_only_an_answer_with_a_vector_for_each_text_counts(
    conversation: Conversation,
    say: Say,
    embeddings: Embeddings,
    change: Callable[[list[Any]], list[Any]],
    stored: int,
) -> None:
    """Another one is as none, and nothing wrong is stored."""
    embeddings.change = lambda said: {"data": change(said["data"])}
    for text in ("It rains. " * 300 + SAID[0], SAID[2]):
        say("user", text)
    summarise(conversation)
    make(conversation)
    assert sum(one.passages for one in MessageMeaning.objects.all()) == stored
    assert found(conversation, MONEY) == [SAID[2]] * bool(stored)
    # Each request is on record, and the reason if its answer was none.
    calls = conversation.calls.filter(purpose="embedding")
    failed = [one for one in calls if one.status == ModelCall.Status.FAILED]
    assert all("gave no answer" in one.error for one in failed)
    assert bool(failed) is (stored == 0 or change is short)


def test_each_vector_is_that_of_the_text_whose_number_it_has(
    conversation: Conversation, embeddings: Embeddings
) -> None:
    """A server may finish them in another order."""
    embeddings.change = lambda said: {"data": said["data"][::-1]}
    embedder = embedder_for(conversation.pk)
    assert embedder
    for text, vector in zip(SAID, embedder.embed(SAID), strict=True):
        assert np.allclose(vector, asked_vector(text), atol=1e-6)


USAGES: dict[str, tuple[dict[str, Any], int, bool]] = {
    "of the prompt": ({"usage": {"prompt_tokens": 7, "total_tokens": 7}}, 7, True),
    "of all": ({"usage": {"total_tokens": 7}}, 7, True),
    "none": ({}, 6, False),
    "odd": ({"usage": {"prompt_tokens": -1, "total_tokens": 2**40}}, 6, False),
}


@pytest.mark.parametrize(("usage", "tokens", "is_measured"), USAGES.values(), ids=USAGES)
def test_tokens_of_a_call_are_measured_if_its_server_counts_them(
    conversation: Conversation,
    say: Say,
    embeddings: Embeddings,
    usage: dict[str, Any],
    tokens: int,
    is_measured: bool,
) -> None:
    """Others are estimated, and none is zero; operators count them, too."""
    counted = "palimpsest_model_calls_total", {"purpose": "embedding", "outcome": "succeeded"}
    before = telemetry.registry.get_sample_value(*counted) or 0
    embeddings.change = lambda said: {"data": said["data"], **usage}
    say("user", SAID[0])
    summarise(conversation)
    make(conversation)
    call = conversation.calls.get(purpose="embedding")
    assert (call.tokens_input, call.usage_measured) == (tokens, is_measured)
    assert telemetry.registry.get_sample_value(*counted) == before + 1


def test_a_server_that_is_busy_for_a_moment_loses_no_message(
    conversation: Conversation, say: Say, embeddings: Embeddings
) -> None:
    """Only a text that is refused again and again is found by its words alone."""
    say("user", SAID[0])
    summarise(conversation)
    embeddings.refused = ("puppy",)
    embeddings.meanwhile = lambda: setattr(embeddings, "refused", ()) if embeddings.texts else None
    make(conversation)
    assert found(conversation, DOG) == [SAID[0]]


def test_a_model_whose_vectors_grow_is_embedded_with_anew(
    hidden: Conversation, say: Say, embeddings: Embeddings
) -> None:
    """Under the same name: those of one size alone can be compared."""
    embeddings.change = lambda said: {
        "data": [{**one, "embedding": one["embedding"] * 2} for one in said["data"]]
    }
    say("user", "Our hound sleeps.")
    summarise(hidden)
    make(hidden)
    assert {len(one.vectors) for one in MessageMeaning.objects.all()} == {512}


@pytest.fixture
def silence(embeddings: Embeddings) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Events: the server that embeds was asked, and it answers, which it does at the test's end.

    By then each call that was given up is on record.
    """
    asked, answers = threading.Event(), threading.Event()

    def meanwhile() -> None:
        asked.set()
        answers.wait(5)
        answers.set()

    embeddings.meanwhile = meanwhile
    yield asked, answers
    answers.set()
    over = threading.Barrier(3)
    for _thread in range(2):
        vectors._QUESTIONS.submit(over.wait)
    over.wait()


@pytest.mark.django_db(transaction=True)
async def test_a_job_that_is_cancelled_waits_for_no_answer(
    conversation: Conversation, say: Say, silence: tuple[threading.Event, threading.Event]
) -> None:
    """A server that stops would wait for a minute."""
    asked, answers = silence
    await sync_to_async(say)("user", SAID[0])
    await sync_to_async(summarise)(conversation)
    await sync_to_async(mark_due)(conversation.pk)
    job = asyncio.ensure_future(vectors.embed_messages(str(conversation.pk)))
    await asyncio.to_thread(asked.wait)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert not answers.is_set()
    call = await ModelCall.objects.aget(purpose=ModelCall.Purpose.EMBEDDING)
    assert (call.status, call.error) == (ModelCall.Status.INTERRUPTED, "")


@pytest.mark.django_db(transaction=True)
async def test_a_message_waits_for_vectors_only_so_long(
    conversation: Conversation,
    say: Say,
    silence: tuple[threading.Event, threading.Event],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is sent without them, also where it asks to forget what nothing was embedded of."""
    _asked, answers = silence
    monkeypatch.setattr(vectors, "LONGEST", 0.1)
    await sync_to_async(say)("user", SAID[0])
    await Preferences.objects.filter(owner=conversation.owner).aupdate(auto_recall=True)
    await expand(conversation, "Forget that I have a dog.", strict=True)
    assert not answers.is_set()
