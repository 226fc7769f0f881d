"""The index of words follows the messages, and finds each by any word people see of it."""

import uuid

import pytest
from django.contrib.auth.models import User
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import condense
from chatapp.conversations import conversations
from chatapp.models import Conversation, Message, hidden_messages, message_index, message_store
from chatapp.models.index_languages import INDEX_LANGUAGES
from chatapp.project.search import Query, fold
from tests.chatapp.conftest import Say, reduction_of, summarise
from tests.records import append_many

HOSTILE = [
    '"',
    '""" OR "',
    "a AND OR NOT NEAR(b, 3)",
    "^x * - + ( ) { }",
    "nul \0 byte",
    'y "' * 1_700,
    "\ud800 half",
    "%s %(x)s",
]


def found(owner: User, words: str) -> list[int]:
    """Return the numbers of the messages that say some words, the best first."""
    pks = [pk for pk, _chat in message_index.find_messages(owner, Query.read(words), limit=50)]
    seqs = dict(Message.objects.filter(pk__in=pks).values_list("pk", "seq"))
    return [seqs[pk] for pk in pks]


def places(conversation: Conversation, words: str) -> list[tuple[int, int]]:
    """Return where in a conversation some words are said."""
    return message_index.find_places(conversation, Query.read(words), limit=100)


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("heliotrope", {1}),
        ("HELIO", {1}),
        ("compass plank", {1}),
        ("compass p", {1}),
        ("compass s", set()),
        ('"third plank" c', {1}),
        ('"third plank"', {1}),
        ('"plank third"', set()),
        ("ompass", set()),
        ("logbook.txt", {2}),
        ("sails", {3}),
        ("盘", {4}),
        ("把罗盘藏", {4}),
        ("CAFÉ", {4}),
        ("罗 café", {4}),
    ],
)
def test_messages_are_found_by_words(
    conversation: Conversation, alice: User, say: Say, words: str, numbers: set[int]
) -> None:
    """All of them, in any order; the last may go on; each character of unspaced scripts is one."""
    say("user", "The heliotrope compass lies under the third plank.")
    call = condense.ToolUseBlock("c1", "read_file", {"path": "logbook.txt"})
    result = condense.ToolResultBlock("c1", "Of wind and sails.")
    for role, block in (("assistant", call), ("user", result)):
        message = condense.Message(role=role, content=(block,))
        message_store.append_message(conversation.pk, message, tokens=1)
    say("assistant", "船长把罗盘藏起来了,用Django的 café。")
    assert set(found(alice, words)) == numbers
    assert {seq for _position, seq in places(conversation, words)} == numbers


@pytest.mark.parametrize("words", HOSTILE)
def test_no_query_is_an_error(
    conversation: Conversation, alice: User, say: Say, words: str
) -> None:
    """The language of the index is not spoken outside."""
    say("user", "text x and y")
    found(alice, words)
    places(conversation, words)


WORDS = st.lists(
    st.sampled_from(["sea", "seal", "s", "Sée", "ship_log", "log", "海", "海里", "x1"])
)


@settings(
    max_examples=60,
    deadline=None,
    # The owner is the only thing examples share.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(texts=st.lists(WORDS, max_size=8), words=WORDS)
def test_the_index_finds_what_reading_finds(
    alice: User, texts: list[list[str]], words: list[str]
) -> None:
    """Exactly the messages in which every phrase matches."""
    chat = Conversation.objects.create(owner=alice)
    messages = [condense.Message(role="user", content=" ".join(text)) for text in texts]
    append_many(chat.pk, [(message, 1) for message in messages])
    query = Query.read(" ".join(words))
    # A phrase that another one follows ends with a whole word.
    patterns = [Query((phrase, ("zzz",))).pattern for phrase in query.phrases[:-1]]
    patterns += [Query(query.phrases[-1:]).pattern] if query else []
    read = [
        (seq, seq)
        for seq, text in enumerate(texts, 1)
        if patterns and all(one.search(fold(" ".join(text))) for one in patterns)
    ]
    assert places(chat, " ".join(words)) == read


def test_a_message_of_any_length_is_stored_and_found(
    conversation: Conversation, alice: User, say: Say
) -> None:
    """More words, longer ones, and a word more often than an index may take."""
    say("user", " ".join(f"word{number}" for number in range(40_000)) + " 海里" * 300)
    say("user", "x" * 5_000 + " plank")
    say("user", "oak " + " ".join(f"{number:016}" for number in range(80_000)))
    assert found(alice, '"word39998 word39999"') == found(alice, "海里") == [1]
    assert found(alice, '"word39999 word39998"') == []
    assert found(alice, f"{'x' * 150}") == found(alice, "plank") == [2]
    assert found(alice, "oak") == [3]


def test_nobody_finds_what_others_said(
    conversation: Conversation, bob: User, alice: User, say: Say
) -> None:
    """Nor what was deleted, until it is restored."""
    say("user", "heliotrope")
    assert found(bob, "heliotrope") == []
    assert found(alice, "heliotrope") == [1]
    conversations.delete_conversation(conversation=conversation)
    assert found(alice, "heliotrope") == []
    conversations.restore_conversation(conversation=conversation)
    assert found(alice, "heliotrope") == [1]


def test_what_is_about_the_words_comes_first_and_then_the_newest(
    conversation: Conversation, alice: User, say: Say
) -> None:
    """A short message that is all about it before a long one that mentions it."""
    say("user", "compass " + "and something else " * 100)
    say("user", "the compass")
    say("user", "the compass")
    assert found(alice, "compass") == [3, 2, 1]


def test_summaries_are_found_and_markers_are_not(
    conversation: Conversation, alice: User, say: Say
) -> None:
    """Nobody sees the text of a marker, but where it is the summary of a part."""
    for number in range(6):
        say("user" if number % 2 == 0 else "assistant", f"message {number}")
    summary = summarise(conversation, keep=3)
    assert found(alice, "what was said") == [summary.seq]
    visible = message_store.read_effective(conversation.pk)

    def mark(place: int, text: str) -> Message:
        tags = condense.Tags(truncation_id=uuid.uuid4().hex)
        marker = condense.Message(role="user", content=(condense.TextBlock(text),), tags=tags)
        reduction = reduction_of(marker, (visible[place].id,))
        return hidden_messages.apply_reduction(conversation.pk, reduction)

    mark(1, "Here 2 messages were cut.")
    assert found(alice, "cut") == []
    part = mark(2, "## Conversation Summary\nThe sextant is in the attic.")
    assert found(alice, "sextant") == [part.seq]
    part.delete()
    assert found(alice, "sextant") == []


def test_the_index_follows_every_change(conversation: Conversation, alice: User, say: Say) -> None:
    """Whoever makes it, in bulk or alone; hiding changes nothing of it."""
    say("user", "the first compass")
    message = condense.Message(role="user", content=(condense.TextBlock("a second compass"),))
    append_many(conversation.pk, [(message, 1), (message, 1)])
    assert len(found(alice, "compass")) == 3
    Message.objects.filter(seq=1).update(content="astrolabe")
    assert (len(found(alice, "compass")), found(alice, "astrolabe")) == (2, [1])
    hidden_messages.rewind(conversation.pk, first_hidden_seq=1)
    assert len(found(alice, "compass")) == 2
    conversation.delete()
    assert found(alice, "compass") == []
    with connection.cursor() as cursor:
        match = INDEX_LANGUAGES[connection.vendor].matches("'compass'")
        cursor.execute(f"SELECT count(*) FROM chatapp_message_index i WHERE {match}")  # noqa: S608 - ours
        assert cursor.fetchone() == (0,)
