"""The cast: Alice owns what the tests make, Bob must not see it."""

import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from django.db.models import F, Q, QuerySet
from django.test import Client
from pytest_django import Settings

import condense
from chatapp.conversations import conversations
from chatapp.models import (
    Conversation,
    Manifest,
    Message,
    Preferences,
    Turn,
    hidden_messages,
    message_store,
)
from chatapp.project.languages import Reader
from chatapp.records.maintenance.audit_check import verify_all
from chatapp.records.maintenance.integrity import find_changed
from chatapp.storage.request_reader import RequestReader
from tests.chatapp.claude import converse
from tests.standin.fixtures import anthropic_standin
from tests.standin.server import Standin

if TYPE_CHECKING:
    from tests.chatapp.sockets import Page

__all__ = ["anthropic_standin"]


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Leave no language behind: what answers a request leaves its reader's in this thread."""
    with Reader().reading():
        yield


@pytest.fixture(autouse=True)
def shown_as_sent(request: pytest.FixtureRequest) -> Iterator[None]:
    """At the end of each test, every request that is on record is the one that was sent."""
    names = request.fixturenames
    database = next((name for name in ("transactional_db", "db") if name in names), None)
    if database is None:
        yield
        return
    request.getfixturevalue(database)
    standin: Standin | None = None
    if "anthropic_standin" in names:
        standin = request.getfixturevalue("anthropic_standin")
    yield
    assert [*find_changed()] == []
    assert [one for verdict in verify_all() for one in verdict.problems] == []
    if standin is not None:
        elsewhere = Q(call__conversation__source__imported_at__gt=F("call__created_at"))
        manifests = Manifest.objects.exclude(elsewhere).exclude(call__model="offline")
        # What was stopped as it was sent may not have arrived, or not yet.
        unheard = manifests.filter(call__request_id="").exclude(call__status="succeeded")
        arrived, recorded = Counter(one.raw for one in standin.requests), rebuilt(manifests)
        assert arrived <= recorded
        if unknown := recorded - arrived:
            assert unknown <= rebuilt(unheard)


def rebuilt(manifests: QuerySet[Manifest]) -> Counter[bytes]:
    """Return requests as the record says that they were sent."""
    return Counter(RequestReader(one.call.conversation_id).read(one) for one in manifests)


@pytest.fixture
def alice(db: None) -> User:
    """The owner of everything; her messages are her words, and no call names what she asks."""
    alice = User.objects.create_user("alice", password="correct horse")
    Preferences.objects.create(
        owner=alice, environment_details=False, name_conversations=False, auto_recall=False
    )
    return alice


@pytest.fixture
def bob(db: None) -> User:
    """Somebody else."""
    return User.objects.create_user("bob", password="battery staple")


@pytest.fixture
def browser(alice: User) -> Client:
    """Alice's browser."""
    client = Client()
    client.force_login(alice)
    return client


@pytest.fixture
def conversation(request: pytest.FixtureRequest, alice: User) -> Conversation:
    """An empty conversation of Alice's, answered by the stand-in where there is one, or Offline."""
    if "anthropic_standin" in request.fixturenames:
        return converse(alice, request.getfixturevalue("anthropic_standin"))
    return conversations.start_conversation(owner=alice)


@pytest.fixture
def standin(transactional_db: None, anthropic_standin: Standin) -> Iterator[Standin]:
    """The provider, whose requests are all in order."""
    yield anthropic_standin
    assert not anthropic_standin.problems


@pytest.fixture
def short_summaries(settings: Settings) -> None:
    """Let a summary of one sentence pass."""
    settings.CONDENSE_DEFAULT_HOOKS = False


@pytest.fixture
async def page(conversation: Conversation, alice: User) -> "AsyncIterator[Page]":
    """An open page of the conversation, past its snapshot."""
    from tests.chatapp.sockets import open_page  # noqa: PLC0415 - imports the whole server

    async with open_page(conversation, alice) as page:
        yield page


Say = Callable[..., Message]


@pytest.fixture
def say(conversation: Conversation) -> Say:
    """Append a message to the conversation: ``say("user", "Hello")``."""

    def append(role: condense.Role, text: str, *, tokens: int = 10) -> Message:
        message = condense.Message(role=role, content=(condense.TextBlock(text),))
        return message_store.append_message(conversation.pk, message, tokens=tokens)

    return append


def use_tools(
    conversation: Conversation, count: int, text: str = "", *, turn: Turn | None = None
) -> Message:
    """Append a reply with ``count`` tool calls, and one message with their results; return it."""
    last = Conversation.objects.get(pk=conversation.pk).last_seq
    names = [f"call_{last}_{number}" for number in range(count)]
    calls = [condense.ToolUseBlock(name, "read_file", {"path": "a.txt"}) for name in names]
    said = (condense.TextBlock(text),) if text else ()
    reply = condense.Message(role="assistant", content=(*said, *calls))
    message_store.append_message(conversation.pk, reply, tokens=10, turn=turn)
    results = tuple(condense.ToolResultBlock(name, "its text") for name in names)
    answer = condense.Message(role="user", content=results)
    return message_store.append_message(conversation.pk, answer, tokens=10, turn=turn)


def summarise(conversation: Conversation, *, keep: int = 0, tokens: int = 5) -> Message:
    """Condense all but the last ``keep`` visible messages behind a summary, and return it."""
    effective = message_store.read_effective(conversation.pk)
    hidden = tuple(message.id for message in effective[: len(effective) - keep])
    summary = condense.Message(
        role="user",
        content=(condense.TextBlock("## Conversation Summary\nWhat was said."),),
        tags=condense.Tags(condense_id=uuid.uuid4().hex),
        tokens=tokens,
    )
    return hidden_messages.apply_reduction(conversation.pk, reduction_of(summary, hidden))


def reduction_of(message: condense.Message, hidden: tuple[str, ...]) -> condense.Reduction:
    """Return a reduction as a strategy would, with made-up sizes."""
    return condense.Reduction(
        kind="condensed" if message.is_summary else "truncated",
        strategy="fresh_start",
        message=message,
        hidden=hidden,
        tokens_before=condense.TokenCount(100, measured=False),
        tokens_after=condense.TokenCount(10, measured=False),
    )
