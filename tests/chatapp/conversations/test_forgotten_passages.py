"""What a person has forgotten stays on record, and nothing that the model reads carries it."""

import json

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db.models import Q
from django.test import Client
from django.urls import reverse
from django.utils import timezone

import condense
from chatapp.condensing import undo
from chatapp.conversations import conversations, forgotten_passages, forks, pins, rewind
from chatapp.conversations.toolbox import history_search
from chatapp.models import (
    AuditEntry,
    Conversation,
    Message,
    Pin,
    Preferences,
    Source,
    hidden_messages,
    message_store,
)
from chatapp.models.errors import Refused
from chatapp.records.transfer.record_import import load_conversation
from tests.chatapp.claude import converse
from tests.chatapp.condensing.findings import finding
from tests.chatapp.conftest import summarise
from tests.chatapp.conversations.context.recalled import newest, recalled
from tests.chatapp.scripted_turns import ask, end
from tests.chatapp.sockets import Page
from tests.records import append_many, put_on_record, record_for
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db

SAID = "The door is red. We spoke of the garden. My door code is 4711. Never tell it to Ben."
NOTED = "Noted: the door code. You open it with 4711."
WAYS = (
    "Please forget my door code.",
    "Forget that my door code is 4711!",
    "I want you to forget what I told you about the door code. And write a poem.",
    "Delete my door code from your memory, please.",
    "Don't remember the door code 4711.",
    "My door code should be forgotten.",
    "You know that my door code is 4711. Forget my door code!",
)


@pytest.fixture
def conversation(alice: User, anthropic_standin: Standin) -> Conversation:
    """A conversation in which the door code was said, and much of the rain."""
    Preferences.objects.filter(owner=alice).update(auto_recall=True)
    conversation = converse(alice, anthropic_standin)
    filler = [condense.Message("assistant", f"It rains on day {day}.") for day in range(40)]
    append_many(conversation.pk, [(one, 10) for one in filler])
    end(ask(conversation, SAID), NOTED)
    return conversation


def fresh(conversation: Conversation) -> Conversation:
    """Return a conversation as it is stored."""
    return Conversation.objects.get(pk=conversation.pk)


def seen(conversation: Conversation) -> str:
    """Return the texts that the model sees."""
    return "\n".join([one.text for one in message_store.read_effective(conversation.pk)])


def told(conversation: Conversation) -> str:
    """Return all that the model can read: what it sees, a ledger of that, and what it finds."""
    texts = [seen(conversation)]
    effective = message_store.read_effective(conversation.pk)
    texts += [block.text for block in condense.ledger(effective)]
    texts += [one.excerpt for one in history_search.search(conversation.pk, "door code 4711", 9)]
    numbers = Message.objects.filter(conversation=conversation).values_list("seq", flat=True)
    texts += [history_search.read(conversation.pk, seq) or "" for seq in numbers]
    end(ask(fresh(conversation), "What is the door code?"), "I see.")
    texts.append(recalled(newest(conversation)))
    return "\n".join(texts)


@pytest.mark.parametrize("way", WAYS)
def test_what_a_person_asks_to_forget_is_carried_by_nothing(
    conversation: Conversation, way: str
) -> None:
    """Neither before nor after a condensation; what else was said is, and the record has all."""
    end(ask(fresh(conversation), way), "Done.")
    assert "4711" not in told(conversation)
    summarise(conversation)
    assert "4711" not in (later := told(conversation))
    assert "The door is red. We spoke of the garden." in later
    assert ("write a poem" in later) == ("poem" in way)
    assert Message.objects.filter(conversation=conversation, content__icontains="4711").count() >= 2
    entry = AuditEntry.objects.get(kind="forgetting")
    assert json.loads(entry.payload)["facts"]["messages"][:2] == [41, 42]


NAMED = {
    "The door code is 4711": SAID[:38],
    "Code of my door": SAID[:38],
    "The red door": "The red door",
}


@pytest.mark.parametrize(("title", "left"), NAMED.items())
def test_a_title_that_tells_it_is_replaced_by_what_is_left(
    conversation: Conversation, title: str, left: str
) -> None:
    """Also one that was cut; a rewind brings it back, unless somebody gave another."""
    Conversation.objects.update(title=title)
    end(ask(fresh(conversation), "Forget my door code."), "Done.")
    new = fresh(conversation).title
    assert new.startswith(left)
    assert "4711" not in new
    asked = newest(conversation).seq
    record = rewind.rewind_conversation(conversation=conversation, first_hidden_seq=asked)
    assert fresh(conversation).title == title
    rewind.undo_rewind(rewind=record)
    assert fresh(conversation).title == new
    conversations.rename_conversation(conversation=conversation, title="Doors")
    rewind.rewind_conversation(conversation=conversation, first_hidden_seq=asked)
    assert fresh(conversation).title == "Doors"


@pytest.mark.parametrize("by", ["button", "Forget the spare key below the boat."])
def test_a_conversation_of_nothing_else_loses_its_title(
    conversation: Conversation, by: str
) -> None:
    """The button forgets the whole sentence, of which the title shows the beginning.

    What is left of a request is no title.
    """
    conversation.messages.all().delete()
    Conversation.objects.update(title="", last_seq=0)
    said = "On the way to the harbour we have hidden the spare key below the old blue boat."
    end(ask(fresh(conversation), said), "OK.")
    assert fresh(conversation).title == f"{said[:59]}…"
    if by == "button":
        forgotten_passages.forget_passage(conversation=conversation, text=said)
    else:
        end(ask(fresh(conversation), by), "OK.")
    assert fresh(conversation).title == ""
    end(ask(fresh(conversation), "Where is south?"), "Down.")
    assert fresh(conversation).title == "Where is south?"


LANGUAGES = (
    ("Mein Türcode ist {}.", "Vergiss bitte meinen Türcode."),
    ("Le mot de passe du serveur est {}.", "S'il te plaît, oublie le mot de passe du serveur."),
    ("El código de la puerta es {}.", "Por favor, olvida el código de la puerta."),
    ("A senha da conta é {}.", "Esqueça a senha da conta."),
    ("La combinazione della cassaforte è {}.", "Dimentica la combinazione della cassaforte."),
    ("Kapı kodum {}.", "Lütfen kapı kodumu unut."),
    ("Код двери {}.", "Забудь код двери."),
    ("我的门锁密码是{}。", "请忘记我的门锁密码。"),
    ("玄関の暗証番号は{}です。", "玄関の暗証番号を忘れてください。"),
    ("현관 비밀번호는 {}입니다.", "현관 비밀번호는 잊어 줘."),
    ("رمز الباب هو {}.", "من فضلك انس رمز الباب."),
    ("मेरा दरवाज़ा कोड {} है।", "कृपया दरवाज़ा कोड भूल जाओ।"),
)


def test_it_is_asked_in_the_languages_that_are_told_apart(conversation: Conversation) -> None:
    """Those in which rules are known, too."""
    for number, (said, way) in enumerate(LANGUAGES):
        end(ask(fresh(conversation), said.format(8300 + number)), "OK.")
        assert str(8300 + number) in seen(conversation)
        end(ask(fresh(conversation), way), "OK.")
        assert str(8300 + number) not in seen(conversation), way
    assert "4711" in seen(conversation)


def test_what_is_no_such_request_forgets_nothing(conversation: Conversation) -> None:
    """Nor is there a word of it."""
    for text in (
        "Don't forget my door code.",
        "I forget the door code.",
        "Forget it.",
        "Forget to lock the door and you will see.",
        "Never forget the door code!",
        "Vergiss nicht den Türcode.",
        "别忘记门锁密码。",
        "Delete the door code from the file.",
    ):
        end(ask(fresh(conversation), text), "OK.")
    assert "4711" in seen(conversation)
    assert not AuditEntry.objects.filter(kind="forgetting").exists()


def test_thinking_behind_it_is_not_sent_any_more(conversation: Conversation) -> None:
    """It is signed for what stood before it; what people read of it has no word of it either."""
    thought = {"type": "thinking", "thinking": "The door code is 4711.", "signature": "abc"}
    message = condense.Message("assistant", (condense.OpaqueBlock(thought),))
    message_store.append_message(conversation.pk, message, tokens=5)
    later = condense.OpaqueBlock({**thought, "thinking": "It rains."})
    message_store.append_message(conversation.pk, condense.Message("assistant", (later,)), tokens=5)
    end(ask(fresh(conversation), WAYS[0]), "Done.")
    seen = message_store.read_effective(conversation.pk)
    assert all(one.tags.unbound for one in seen if any(map(condense.is_thinking, one.blocks)))
    assert "4711" not in told(conversation)


def test_what_means_nearly_all_forgets_nothing(conversation: Conversation) -> None:
    """It says so: no passage was forgotten."""
    append_many(
        conversation.pk, [(condense.Message("assistant", f"It rains, {n}."), 5) for n in range(60)]
    )
    end(ask(fresh(conversation), "Forget that it rains."), "OK.")
    assert "It rains" in told(conversation)
    asked = Message.objects.get(conversation=conversation, content__icontains="Forget that")
    assert asked.content[0]["beside"] == {"kind": "forgotten", "passages": []}


def test_a_rewind_to_before_it_brings_it_back(conversation: Conversation) -> None:
    """And undone it is forgotten again; in a fork it is as in its original.

    One from before the request forgets it as well, until that is taken back there.
    """
    end(ask(fresh(conversation), WAYS[0]), "Done.")
    own = fresh(conversation)
    asked = newest(conversation).seq
    copy = forks.fork_conversation(conversation=own, seq=own.last_seq)
    early = forks.fork_conversation(conversation=own, seq=asked - 1)
    end(ask(fresh(early), "Go on."), "I do.")
    rewind.rewind_conversation(conversation=early, first_hidden_seq=newest(early).seq)
    for one in (own, copy, early):
        assert "4711" not in seen(one)
        record = rewind.rewind_conversation(conversation=one, first_hidden_seq=asked)
        assert "4711" in seen(one)
        rewind.undo_rewind(rewind=record)
        assert "4711" not in seen(one)


def test_pins_earlier_summaries_and_what_was_recalled_go_along(conversation: Conversation) -> None:
    """What is forgotten is pinned no more, and what stood for it has no word of it left."""
    pins.pin_message(conversation=fresh(conversation), seq=41)
    (facts,) = condense.ledger(message_store.read_effective(conversation.pk))
    made = summarise(conversation)
    content = [*made.content, facts.to_api(), {"type": "text", "text": "He has a code for a door."}]
    Message.objects.filter(pk=made.pk).update(content=content)
    found = [condense.Passage("", 41, SAID, 1)]
    beside = condense.recalled_block(found, counter=condense.CharacterCounter(), limit=900)
    assert beside
    message = condense.Message("user", (beside, condense.TextBlock("Go on.")))
    message_store.append_message(conversation.pk, message, tokens=5)
    end(ask(fresh(conversation), WAYS[0]), "Done.")
    assert "4711" not in told(conversation)
    hidden_messages.undo_reduction(made)
    assert "4711" not in told(conversation)
    assert not Pin.objects.filter(unpinned_at=None).exists()
    assert not Message.objects.filter(Q(pinned=True)).exists()


@pytest.mark.usefixtures("transactional_db")
async def test_no_summary_is_asked_for_with_it(
    anthropic_standin: Standin, conversation: Conversation, page: Page
) -> None:
    """Nor is any request sent with it from then on; the page, which is shown anew, has it still.

    The reason of a rating goes without it, too.
    """
    rated = {"rating": -1, "rating_words": "The code 4711 is lost.", "rated_at": timezone.now()}
    await sync_to_async(put_on_record)(conversation, at_seq=1, **rated)
    summary = "<analysis>Short.</analysis><summary>We spoke of a garden.</summary>"
    anthropic_standin.then(Reply("Done."), Reply(summary), Reply("A garden."))
    await page.say(WAYS[0])
    await page.until("transcript.changed")
    await page.until_idle()
    await page.condense()
    await page.ask("What did we speak of?")
    sent = [json.dumps(one.body) for one in anthropic_standin.requests]
    assert len(sent) == 3
    assert not [one for one in sent if "4711" in one]
    assert [one for one in sent if "We spoke of the garden" in one]
    html = await sync_to_async(shown)(conversation)
    assert "My door code is 4711" in html
    assert "Forgot 4 passages" in html


def shown(conversation: Conversation) -> str:
    """Return the conversation's page."""
    client = Client()
    client.force_login(conversation.owner)
    return client.get(reverse("chat", args=[conversation.pk])).content.decode()


def test_a_button_forgets_a_fact_a_pin_and_a_recalled_passage(
    conversation: Conversation, browser: Client
) -> None:
    """Each by what it says, or a message whole; what nobody said is refused, as is a stranger."""
    address = reverse("forget", args=[conversation.pk])
    pins.pin_rule(conversation=fresh(conversation), text="The alarm is 9953.")
    rule = Message.objects.get(pinned=True)
    assert (
        f'"seq": "{rule.seq}"'
        in browser.get(reverse("pins", args=[conversation.pk])).content.decode()
    )
    browser.post(address, {"text": "…My door code is 4711."})
    assert "My door code" not in (left := told(conversation))
    assert "You open it with 4711" in left
    assert "9953" in left
    browser.post(address, {"seq": rule.seq})
    assert "9953" not in told(conversation)
    assert AuditEntry.objects.filter(kind="forgetting").count() == 2
    for nothing in ({"text": "Nobody said this."}, {"seq": "999"}, {"text": "…"}, {}):
        browser.post(address, nothing)
    Client().post(address, {"text": "It rains on day 1."})
    assert AuditEntry.objects.filter(kind="forgetting").count() == 2
    summarise(conversation)
    end(ask(fresh(conversation), "How was the garden we spoke of?"), "Fine.")
    html = shown(conversation)
    assert 'name="text" value="The door is red' in html
    lines = browser.get(reverse("audit", args=[conversation.pk])).content.decode()
    assert "Forgetting: message 41" in lines


VALUES = (
    ("My salary is 4,100 euros.", "4,100 a month is decent.", "Erase my salary from your memory."),
    ("体重是八十九公斤。", "八十九不算重。", "请你忘掉体重。"),
    ("My locker opens with 17-04-33.", "17-04-33, noted.", "I want my locker forgotten."),
)  # fmt: skip


def test_a_reply_that_only_repeats_the_value_is_forgotten_with_it(
    conversation: Conversation,
) -> None:
    """A number with its signs, or in words of a script where such are numbers."""
    for said, reply, way in VALUES:
        end(ask(fresh(conversation), said), reply)
        end(ask(fresh(conversation), way), "OK.")
        shown = seen(conversation)
        assert said not in shown
        assert reply not in shown


def test_a_fact_that_was_forgotten_is_not_put_back(conversation: Conversation) -> None:
    """It is refused; one that was put back before is forgotten with all that says it."""
    attempt = record_for(conversation, summarise(conversation))
    lost = [finding(one, "lost", "names") for one in ("code is 4711", "door is red")]
    attempt.receipt = condense.Receipt((*lost, finding("My door code is 4711.", "lost")))
    attempt.save()
    undo.put_back(condensation=attempt, index=0)
    assert "4711" in seen(conversation)
    end(ask(fresh(conversation), WAYS[0]), "Done.")
    assert "4711" not in told(conversation)
    with pytest.raises(Refused, match="forgotten"):
        undo.put_back(condensation=attempt, index=2)
    undo.put_back(condensation=attempt, index=1)
    assert "4711" not in (left := told(conversation))
    assert "door is red" in left


def test_what_was_forgotten_elsewhere_is_forgotten_in_an_import(alice: User) -> None:
    """What was said after the request stays, and the record says what was forgotten."""
    said = (SAID, NOTED, WAYS[0], "Done.", "My door code is 9953 now.")
    roles = ("user", "assistant", "user", "assistant", "user")
    pieces = [{"role": role, "content": text} for role, text in zip(roles, said, strict=True)]
    own = load_conversation(pieces, owner=alice, source=Source(form="messages", name="a.json"))
    assert "4711" not in (left := seen(own))
    assert "We spoke of the garden" in left
    assert "9953" in left
    entry = AuditEntry.objects.get(kind="forgetting")
    assert json.loads(entry.payload)["facts"]["messages"] == [1, 2, 3]
