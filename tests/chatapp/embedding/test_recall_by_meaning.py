"""What is hidden is found by its meaning, by whoever may see it, and is gone where it is gone."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from django.conf import LazySettings, settings
from django.contrib.auth.models import User
from django.core.management import call_command

from chatapp.conversations import conversations, forgotten_passages
from chatapp.embedding import vectors
from chatapp.embedding.embedders import asked
from chatapp.models import (
    Conversation,
    Meanings,
    Message,
    MessageMeaning,
    ModelCall,
    hidden_messages,
)
from chatapp.toolbox.history_search import StoredRecall
from tests.chatapp.conftest import Say, summarise
from tests.standin.embeddings import Embeddings, embed

pytestmark = pytest.mark.django_db

SAID = (
    "Our puppy is called Bruno.",
    "The boiler is from 1998.",
    "I earn a salary of 4,100.",
    "Nothing much happened.",
)
DOG, MONEY = "What is my hound?", "How much is my wage?"


@pytest.fixture
def embeddings(settings: LazySettings) -> Iterator[Embeddings]:
    """The server that embeds."""
    with Embeddings() as server:
        settings.RECALL_BY_MEANING, settings.EMBEDDINGS_MODEL = True, "topics"
        settings.EMBEDDINGS_URL = server.url.rstrip("/")
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
    while vectors.make_vectors(conversation.pk):
        pass


def found(conversation: Conversation, question: str, most: int = 1) -> list[str]:
    """Return the texts of the messages whose passages are nearest to a question."""
    vector = np.array(embed(question), np.float32)
    asked[settings.EMBEDDINGS_MODEL, question] = vector / np.linalg.norm(vector)
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
