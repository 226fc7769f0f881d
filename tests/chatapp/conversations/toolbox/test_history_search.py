"""What is hidden can be found again: by this conversation only, and the best comes first."""

import random
import re
import uuid
from datetime import UTC, date, datetime
from typing import override

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

import condense
from chatapp.agent.errors import ToolError
from chatapp.conversations import conversations
from chatapp.conversations.toolbox import history_search
from chatapp.models import Conversation, Message, hidden_messages, message_store
from chatapp.tools import search_history
from tests.chatapp.conftest import Say, summarise, use_tools
from tests.growth import assert_cheap
from tests.records import append_many

_TOPICS = """
database index migration query transaction row column schema backup restore replica cache garden
tomato soil water seed spring harvest compost fence gate path light shade winter server port socket
request response header timeout retry proxy certificate domain route ticket flight hotel museum
train station bridge river market square coffee bakery street invoice payment customer order
discount refund shipping address parcel label stock price
"""
_NAMES = "Ada Bela Chiara Dmitri Esra Farid Greta Hugo Ines Jonas Kira Lars Mona Nils Olga Rosa"
TOPICS, NAMES = _TOPICS.split(), _NAMES.split()

# How a fact is said, and how somebody asks for it later, in other words and forms.
FACTS = (
    ("The {topic} for {name} runs on port {value}.", "Which port did {name}'s {topic} use?"),
    ("{name} decided to move the {topic} to {value} next week.",
     "Where was the {topic} moved, as {name} had decided?"),
    ("We set the limit of the {topic} to {value} because {name} complained.",
     "What limit was set for the {topic} when {name} complained?"),
    ("Use the password {value} when you open {name}'s {topic}.",
     "What is the password to open the {topic} of {name}?"),
    ("{name} prefers that the {topic} is called {value} from now on.",
     "How does {name} want the {topic} to be called?"),
)  # fmt: skip


# Words of a sentence between facts.
WORDS = (2, 7)


def chatter(dice: random.Random) -> str:
    """Return some sentences about what the facts are about, too, and that name nobody's value."""
    words = [dice.choice([*TOPICS, *NAMES, "port", "limit", "password", "moved", "the", "of", "is"])
             for _ in range(dice.randint(*WORDS))]  # fmt: skip
    return " ".join(words).capitalize() + "."


def plant(conversation: Conversation, count: int, facts: int, seed: int) -> list[tuple[str, int]]:
    """Store messages, some of which say a fact; return questions with the message's number."""
    dice = random.Random(seed)  # noqa: S311 - the same each time
    places = sorted(dice.sample(range(count), facts))
    asked, messages = [], []
    for number in range(count):
        text = chatter(dice)
        if number in places:
            said, question = dice.choice(FACTS)
            about = {"topic": dice.choice(TOPICS), "name": dice.choice(NAMES)}
            fact = said.format(**about, value=f"x{dice.randint(100, 9_999)}")
            text = f"{text} {fact} {chatter(dice)}"
            asked.append((question.format(**about), number + 1))
        role: condense.Role = "user" if number % 2 == 0 else "assistant"
        messages.append((condense.Message(role, (condense.TextBlock(text),)), 10))
    append_many(conversation.pk, messages)
    Message.objects.filter(conversation=conversation).update(hidden=True)
    return asked


class HistoryHere(history_search.StoredHistory):
    """Searches on the test's own connection."""

    @override
    async def search(
        self, words: str, limit: int, days: search_history.Days = search_history.ALWAYS
    ) -> list[search_history.FoundMessage]:
        return await sync_to_async(history_search.search)(self.conversation_id, words, limit, days)


def search(conversation: Conversation, *given: str) -> str:
    """Return the answer of the tool to a query and days."""
    history = HistoryHere(conversation.pk)
    return async_to_sync(search_history.run)(history, search_history.Arguments(*given))


def test_the_message_that_holds_an_answer_is_among_the_first_five(alice: User) -> None:
    """For at least 95 % of questions; plain BM25 gets no more than 92 %."""
    found = []
    conversation = conversations.start_conversation(owner=alice)
    for question, seq in plant(conversation, 600, 100, 1):
        best = history_search.search(conversation.pk, question, 5)
        found.append(seq in [one.seq for one in best])
    assert sum(found) / len(found) >= 0.95


def test_what_is_found_is_told_with_who_said_it(conversation: Conversation, say: Say) -> None:
    """The model is "you": it is the one who reads that. What stands beside is found, too."""
    say("user", "The cellar has two barrels.")
    say("assistant", "I noted the barrels in the cellar.")
    use_tools(conversation, 1, "Which barrels?")
    say("assistant", "So be it.")
    conversation.messages.update(hidden=True)
    who = {
        one.seq: one.who
        for one in history_search.search(conversation.pk, "barrels cellar its text", 9)
    }
    assert who == {1: "the user", 2: "you", 3: "you", 4: "the tool read_file (a.txt)", 5: "you"}


def test_recall_costs_alike_whatever_is_stored(alice: User) -> None:
    """Ten times the messages take at most twice as long, in as many statements."""
    asked = []
    for messages in (300, 3_000):
        conversation = conversations.start_conversation(owner=alice)
        planted = plant(conversation, messages, 20, 1)
        asked.append((conversation.pk, [question for question, _seq in planted]))

    def search(pk: uuid.UUID, questions: list[str]) -> None:
        for question in questions:
            history_search.StoredRecall(pk)(question, 5)

    small, large = asked
    assert_cheap(lambda: search(*large), lambda: search(*small), 2)
    with CaptureQueriesContext(connection) as statements:
        history_search.StoredRecall(large[0])(large[1][0], 5)
    # Where a failure would end the transaction, each look at the index has a savepoint.
    assert len([one for one in statements if "SAVEPOINT" not in one["sql"]]) <= 7


def test_the_engines_own_search_finds_the_same(alice: User) -> None:
    """Passages, their order and how well they fit."""
    conversation, between = [conversations.start_conversation(owner=alice) for _ in range(2)]
    asked = plant(conversation, 150, 20, 2)
    plant(between, 150, 20, 3)
    last = Message.objects.filter(conversation=conversation).latest("seq")
    message = condense.Message("assistant", (condense.TextBlock("The port, said late."),))
    message_store.append_message(conversation.pk, message, tokens=10)
    Message.objects.filter(conversation=conversation).update(hidden=True)
    rows = Message.objects.filter(conversation=conversation).order_by("seq")
    memory = condense.MemoryRecall([message_store.to_engine(row) for row in rows])
    for question, _seq in asked:
        here = history_search.StoredRecall(conversation.pk)(question, 5)
        there = memory(question, 5)
        assert [one.seq for one in here][:1] == [one.seq for one in there][:1]
        assert {one.said_on for one in here} == {last.created_at.date()}


def test_words_that_correct_what_is_found_are_found_with_it(
    conversation: Conversation, say: Say
) -> None:
    """Right behind the reply, though they share no word with the question."""
    for role, text in (
        ("user", "The budget is 1200 euros."),
        ("assistant", "Noted."),
        ("user", "no, 1500 not 1200"),
        ("assistant", "I see."),
        ("user", "Later we spoke of rain."),
    ):
        say(role, text)
    summarise(conversation)
    found = history_search.search(conversation.pk, "How much is the budget?", 9)
    assert [one.seq for one in found][:2] == [1, 3]


def test_a_message_too_long_to_read_at_once_is_left_out(
    conversation: Conversation, say: Say
) -> None:
    """Its neighbours are found, by another form of the word."""
    say("user", "The vault's word is heliotrope.")
    say("assistant", "heliotrope " * 100)
    conversation.messages.update(tokens=F("seq") + 39_999)
    summarise(conversation)
    assert [one.seq for one in history_search.StoredRecall(conversation.pk)("heliotropic?", 5)] == [
        1
    ]


def test_only_what_is_hidden_here_is_found(conversation: Conversation, say: Say, bob: User) -> None:
    """Not what the model sees, not what was rewound, not a summary, and nobody else's words."""
    say("user", "The vault's word is heliotrope.")
    say("assistant", "Heliotrope, noted.")
    summarise(conversation)
    say("user", "Heliotrope again, in sight.")
    other = conversations.start_conversation(owner=bob)
    message = condense.Message("user", (condense.TextBlock("Bob's heliotrope."),))
    message_store.append_message(other.pk, message, tokens=10)
    Message.objects.filter(conversation=other).update(hidden=True)
    found = history_search.search(conversation.pk, "Which heliotrope?", 8)
    assert [one.seq for one in found] == [2, 1]
    assert [one.seq for one in history_search.search(other.pk, "heliotrope", 8)] == [1]
    assert history_search.read(conversation.pk, 2) == "Heliotrope, noted."
    hidden_messages.rewind(conversation.pk, first_hidden_seq=2)
    assert [one.seq for one in history_search.search(conversation.pk, "heliotrope", 8)] == []
    assert history_search.read(conversation.pk, 2) is None
    assert history_search.search(uuid.uuid4(), "heliotrope", 8) == []


@pytest.mark.parametrize(
    ("query", "since", "until", "found"),
    [
        ("What did we decide about the ferry?", "2026-05-05", "2026-05-05", [3]),
        ("Was haben wir vorigen Dienstag beschlossen?", "2026-05-05", "2026-05-05", []),
        ("", "2026-05-05", "2026-05-06", [3, 4]),
        ("ferry", "", "2026-05-04", [1, 2]),
        ("ferry", "2026-05-06", "", [4]),
        ("", "", "", [1, 2, 3, 4]),
        ("ferry", "2027-01-01", "", []),
    ],
)
def test_what_was_said_on_some_days_is_found(
    conversation: Conversation, say: Say, query: str, since: str, until: str, found: list[int]
) -> None:
    """The words are compared with those days only, and nothing next to them is found."""
    for text in ("The ferry at ten.", "The ferry at noon.", "The ferry at two.", "No ferry."):
        say("user", text)
    summarise(conversation)
    for seq in range(1, 5):
        said_at = datetime(2026, 5, 2 + seq, 12, tzinfo=UTC)
        conversation.messages.filter(seq=seq).update(created_at=said_at)
    told = search(conversation, query, since, until)
    assert [int(seq) for seq in re.findall(r"Message (\d)", told)] == found
    assert ("Message 3 (the user, Tue 5 May 2026):\nThe ferry at two." in told) == (3 in found)


def test_a_list_says_that_there_is_more(conversation: Conversation) -> None:
    """Calls and results between the words take no place in it."""
    call = condense.ToolUseBlock("t", "read_file", {"path": "a.txt"})
    result = condense.ToolResultBlock("t", "Its text.")
    talk = [
        message
        for number in range(30)
        for message in (
            condense.Message("user", f"Question {number}."),
            condense.Message("assistant", (call,)),
            condense.Message("user", (result,)),
            condense.Message("assistant", f"Answer {number}."),
        )
    ]
    append_many(conversation.pk, [(one, 10) for one in talk])
    Message.objects.filter(conversation=conversation).update(hidden=True)
    *listed, note = search(conversation).split("\n\n")
    assert (len(listed), listed[-1].endswith("Answer 19.")) == (40, True)
    assert note == "[Only the first 40. Read on with read_message from number 81, or search.]"
    Message.objects.filter(conversation=conversation, seq__gt=80).update(hidden=False)
    assert search(conversation).split("\n\n") == listed


def test_a_day_is_that_of_the_person_who_asks(conversation: Conversation, say: Say) -> None:
    """Half past eleven in the evening in London is the next day further east."""
    say("user", "The ferry at ten.")
    summarise(conversation)
    conversation.messages.filter(seq=1).update(created_at=datetime(2026, 1, 5, 23, 30, tzinfo=UTC))
    day = search_history.Days(date(2026, 1, 6), date(2026, 1, 6))
    for words in ("ferry", ""):
        (found,) = history_search.search(conversation.pk, words, 5, day, "Asia/Tokyo")
        assert found.day == day.first
        assert history_search.search(conversation.pk, words, 5, day, "Europe/London") == []


def test_a_day_that_is_none_is_named(conversation: Conversation) -> None:
    """The model reads how a day is written."""
    with pytest.raises(ToolError, match="2026-05-03"):
        search(conversation, "ferry", "last Tuesday")


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("船长把罗盘藏在木板下面。", "罗盘在哪里？"),
        ("船のコンパスは板の下にある。", "コンパスはどこ?"),
        ("Der Schlüssel liegt im Café.", "Wo ist der schlussel?"),
        ("وضع الكتاب تحت الطاولة", "كتاب؟"),
    ],
)
def test_every_script_is_found(conversation: Conversation, say: Say, said: str, asked: str) -> None:
    """With spaces between words or without, with accents or without."""
    say("user", "Something else.")
    say("user", said)
    summarise(conversation)
    assert [one.seq for one in history_search.search(conversation.pk, asked, 1)] == [2]


def test_no_question_is_an_error(conversation: Conversation, say: Say) -> None:
    """There is nothing it can say wrong."""
    say("user", "The vault's word is heliotrope.")
    summarise(conversation)
    anything = history_search.search(conversation.pk, "the", 8)
    for words in (
        "", "the of and", '"', "a AND b OR", "NEAR(x)", "\ud800", "x" * 9_000, "%s", "の",
    ):  # fmt: skip
        assert history_search.search(conversation.pk, words, 8) in ([], [*anything])
