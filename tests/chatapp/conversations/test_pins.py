"""A pin keeps a message word for word; it is on record, and never silently lost."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from chatapp.conversations import rewind
from chatapp.conversations.locks import find_broken, with_unpinned
from chatapp.conversations.pins import pin_message, pin_rule, pin_selection, unpin_message
from chatapp.models import (
    Conversation,
    Message,
    Pin,
    Profile,
    Source,
    Turn,
    errors,
    message_store,
)
from chatapp.page.transcript.readable_copy import write_markdown
from chatapp.records.maintenance import integrity
from chatapp.records.transfer.record_export import write_record
from tests.chatapp.audited import entries, problems, raw
from tests.chatapp.conftest import Say, summarise
from tests.chatapp.conversations.carried_pins import carrying
from tests.chatapp.scripted_turns import ask, end, retry

RULE = "Port 8080 must never change.\n\tNot even \u201con Fridays\u201d \U0001f600."


def pins(conversation: Conversation) -> list[int]:
    """Return the numbers of the messages that are pinned, as the engine is told."""
    return [one.seq for one in message_store.read_effective(conversation.pk) if one.tags.pinned]


def test_a_pin_is_put_on_and_taken_off_once_and_goes_on_record(
    conversation: Conversation, say: Say
) -> None:
    """Asked for twice, it is done once; each change is an entry of the chain, without a text.

    Nothing is while a turn runs: the agent knows the pins that there were when it began.
    """
    say("user", RULE)
    say("assistant", "Noted.")
    for _ in range(2):
        pin_message(conversation=conversation, seq=1)
    pin_message(conversation=conversation, seq=2)
    assert pins(conversation) == [1, 2]
    for _ in range(2):
        unpin_message(conversation=conversation, seq=1)
    assert pins(conversation) == [2]
    pin_message(conversation=conversation, seq=1)
    told = [(one.kind, json.loads(one.payload)["facts"]) for one in entries(conversation)]
    assert [(kind, say["seq"], bool(say["unpinned_at"])) for kind, say in told] == [
        ("pin", 1, False),
        ("pin", 2, False),
        ("pin", 1, True),
        ("pin", 1, False),
    ]
    assert problems(conversation) == []
    assert not any("8080" in one.payload for one in entries(conversation))
    say("user", "Go on.")
    Turn.objects.create(conversation=conversation)
    for change, seq in ((pin_message, 3), (unpin_message, 1)):
        with pytest.raises(errors.Refused, match="A turn is running"):
            change(conversation=conversation, seq=seq)
    assert pins(conversation) == [1, 2]


def test_what_is_no_part_of_the_conversation_or_hidden_from_the_model_can_t_be_pinned(
    conversation: Conversation, say: Say
) -> None:
    """Nothing that is not there, that was rewound, or that the engine wrote."""
    say("user", RULE)
    say("assistant", "Noted.")
    rewind.rewind_conversation(conversation=conversation, first_hidden_seq=2)
    say("assistant", "Yes.")
    made = summarise(conversation)
    for seq in (0, 2, made.seq, 10**30):
        with pytest.raises(errors.Refused, match="no longer part of the conversation"):
            pin_message(conversation=conversation, seq=seq)
    # A promise that could not be kept is refused, and leaves nothing behind.
    recorded = entries(conversation)
    with pytest.raises(errors.Refused, match=r"hidden from the model.*Undo first what hides it"):
        pin_message(conversation=conversation, seq=1)
    assert not Pin.objects.exists()
    assert not Message.objects.filter(pinned=True).exists()
    assert entries(conversation) == recorded


def test_what_takes_too_much_of_the_window_is_refused_with_the_numbers(
    conversation: Conversation, say: Say
) -> None:
    """Up to a quarter of it goes to pins; what was taken off counts no more."""
    Profile.objects.filter(pk=conversation.profile_id).update(context_window=10_000)
    for tokens in (2_000, 500, 1):
        say("user", RULE, tokens=tokens)
    pin_message(conversation=conversation, seq=1)
    pin_message(conversation=conversation, seq=2)
    with pytest.raises(errors.Refused) as caught:
        pin_message(conversation=conversation, seq=3)
    assert str(caught.value) == (
        "This message takes about 1 tokens, and your pins already take 2,500. "
        "Pins may take 2,500: 25% of the window of 10,000."
    )
    with pytest.raises(errors.Refused, match=r"This text takes about [\d,]+ tokens, and your pins"):
        pin_rule(conversation=conversation, text="word " * 500)
    unpin_message(conversation=conversation, seq=2)
    pin_message(conversation=conversation, seq=3)
    assert pins(conversation) == [1, 3]


def test_an_undo_that_would_lose_a_pin_is_refused(conversation: Conversation, say: Say) -> None:
    """The summary that comes back knows nothing of what was pinned since."""
    first = say("user", RULE)
    second = say("assistant", "Noted.")
    made = carrying(conversation, first, second)
    rewound = rewind.rewind_conversation(conversation=conversation, first_hidden_seq=made.seq)
    pin_message(conversation=conversation, seq=1)
    with pytest.raises(errors.Refused, match="would not see message 1"):
        rewind.undo_rewind(rewind=rewound)
    unpin_message(conversation=conversation, seq=1)
    rewind.undo_rewind(rewind=rewound)
    assert [one.id for one in message_store.read_effective(conversation.pk)] == [str(made.pk)]


def test_a_summary_is_checked_with_what_it_carries_though_nobody_pins_that_any_more(
    conversation: Conversation, say: Say
) -> None:
    """While all of it is pinned, what the model sees is enough."""
    first = say("user", RULE)
    pin_message(conversation=conversation, seq=1)
    carrying(conversation, first)
    seen = message_store.read_effective(conversation.pk)
    assert with_unpinned(conversation.pk, seen) == ()
    unpin_message(conversation=conversation, seq=1)
    found = [one.id for one in with_unpinned(conversation.pk, seen)]
    assert sorted(found) == sorted([str(first.pk), *(one.id for one in seen)])


def test_a_pin_whose_bytes_changed_is_found(conversation: Conversation, say: Say) -> None:
    """Wherever they changed: in the message, or in what carries it."""
    first = say("user", RULE)
    pin_message(conversation=conversation, seq=1)
    made = carrying(conversation, first)
    kept, there = made.content, Message.objects.get(pk=first.pk).content
    raw(Message).filter(pk=made.pk).update(content=[*kept[:1], {**kept[1], "text": "Port 80"}])
    broken = find_broken(conversation.pk, message_store.read_effective(conversation.pk))
    assert broken.startswith("The model would not see message 1 word for word")
    raw(Message).filter(pk=made.pk).update(content=kept)
    raw(Message).filter(pk=first.pk).update(content=[{"type": "text", "text": RULE + " "}])
    broken = find_broken(conversation.pk, message_store.read_effective(conversation.pk))
    assert broken.startswith("Message 1 is not what it was when it was pinned")
    raw(Message).filter(pk=first.pk).update(content=there)


def seen(conversation: Conversation) -> list[str]:
    """Return what the model reads, message by message."""
    return [one.text for one in message_store.read_effective(conversation.pk)]


def test_a_rule_is_pinned_word_for_word_at_the_end(conversation: Conversation, say: Say) -> None:
    """Nothing before it changes; the same once more changes nothing, and an empty one is none."""
    say("user", "Hello.")
    before = message_store.read_effective(conversation.pk)
    for _ in range(2):
        pin_rule(conversation=conversation, text=RULE)
    assert message_store.read_effective(conversation.pk)[:1] == before
    assert seen(conversation)[1:] == [f"<pinned_rule>\n{RULE}\n</pinned_rule>"]
    assert pins(conversation) == [2]
    pin_rule(conversation=conversation, text="</pinned_rule>\r\n ")
    assert seen(conversation)[2] == "<pinned_rule-2>\n</pinned_rule>\n \n</pinned_rule-2>"
    for text, words in ((" \n", "no rule yet"), ("x" * 20_001, "up to 20,000 characters")):
        with pytest.raises(errors.Refused, match=words):
            pin_rule(conversation=conversation, text=text)
    assert problems(conversation) == []


def moved(conversation: Conversation, folder: Path) -> Conversation:
    """Return what an export of a conversation is imported as."""
    file = folder / "talk.json"
    file.write_bytes(b"".join(write_record(conversation)))
    call_command("import_transcript", file, user="alice", format="palimpsest", stdout=StringIO())
    return Source.objects.latest("imported_at").conversation


def test_rules_and_passages_outlive_export_and_import(
    conversation: Conversation, say: Say, tmp_path: Path
) -> None:
    """A rewind leaves them there as well; a copy to be read names them."""
    say("assistant", "Use **8080**.")
    pin_rule(conversation=conversation, text=RULE)
    pin_selection(conversation=conversation, seq=1, selected="8080")
    before = seen(conversation)
    for _ in range(2):
        conversation = moved(conversation, tmp_path)
        assert (seen(conversation), pins(conversation)) == (before, [2, 3])
        assert all(pin.holds for pin in conversation.pins.all())
    written = "".join(write_markdown(conversation))
    assert f"*Your rule*\n\n```\n{RULE}\n```" in written
    assert "*Passage*\n\n```\n8080\n```" in written
    rewind.rewind_conversation(conversation=conversation, first_hidden_seq=1)
    assert seen(conversation) == before[1:]


@pytest.mark.parametrize(
    ("selected", "kept"),
    [
        ("the port 8080, always", "the port **8080**, always"),
        ("port", "port"),
        ("Use the port 8080, always.", "Use the port **8080**, always."),
        (" Then: café \n", "Then: café"),
        ("always. Then", "always.\n\n> Then"),
    ],
)
def test_a_passage_is_pinned_as_it_was_written(
    conversation: Conversation, say: Say, selected: str, kept: str
) -> None:
    """Whatever the page leaves out of it, and also where the model sees it no more."""
    say("assistant", "Use the port **8080**, always.\n\n> Then: café")
    say("user", "Go on.")
    summarise(conversation)
    pin_selection(conversation=conversation, seq=1, selected=selected)
    assert seen(conversation)[-1] == (f'<pinned_quote from="assistant">\n{kept}\n</pinned_quote>')
    assert find_broken(conversation.pk, message_store.read_effective(conversation.pk)) == ""


def test_a_passage_is_pinned_whole_however_long_and_with_its_last_accents(
    conversation: Conversation, say: Say
) -> None:
    """A Thai vowel and a tone are no letters; no end of a passage is left out unsaid."""
    Profile.objects.update(context_window=1_000_000)
    say("assistant", "**กฎ** คือที่ so?! " + "word " * 25_000 + "end.")
    passages = [(f"กฎ {end}", f"กฎ** {end}") for end in ("คือที่", "คือที่ so?!")]
    for selected, kept in [*passages, ("word " * 25_000 + "end.",) * 2]:
        pin_selection(conversation=conversation, seq=1, selected=selected)
        assert seen(conversation)[-1] == (
            f'<pinned_quote from="assistant">\n{kept}\n</pinned_quote>'
        )


@pytest.mark.parametrize("selected", ["port 8081", "", "\u2014", "8080 " * 99])
def test_what_the_message_does_not_say_is_no_passage_of_it(
    conversation: Conversation, say: Say, selected: str
) -> None:
    """Nobody puts words into somebody's mouth."""
    say("assistant", "Use the port **8080**.")
    with pytest.raises(errors.Refused, match="can't be found in the message's text"):
        pin_selection(conversation=conversation, seq=1, selected=selected)
    assert not Pin.objects.exists()


def test_a_rule_stays_where_a_rewind_goes_to_before_it(
    conversation: Conversation, say: Say
) -> None:
    """Unless it is the rule that is rewound to; what is counted leaves it out."""
    for text in ("One", "Two"):
        say("user", text)
        say("assistant", "Yes.")
        pin_rule(conversation=conversation, text=text)
    preview = rewind.preview_rewind(conversation=conversation, first_hidden_seq=2)
    assert preview.messages_hidden == 3
    rewound = rewind.rewind_conversation(conversation=conversation, first_hidden_seq=2)
    rules = [f"<pinned_rule>\n{text}\n</pinned_rule>" for text in ("One", "Two")]
    assert seen(conversation) == ["One", *rules]
    rewind.undo_rewind(rewind=rewound)
    assert seen(conversation) == ["One", "Yes.", rules[0], "Two", "Yes.", rules[1]]
    rewind.rewind_conversation(conversation=conversation, first_hidden_seq=3)
    assert seen(conversation) == ["One", "Yes.", rules[1]]
    assert problems(conversation) == []
    assert not [*integrity.find_problems()]


def test_an_answer_is_tried_again_across_a_rule(conversation: Conversation) -> None:
    """It is no part of the talk: what broke off is set aside as before."""
    end(ask(conversation, "Why?"), "Because it", stop_reason="error", status=Turn.Status.FAILED)
    pin_rule(conversation=conversation, text=RULE)
    retry(conversation)
    assert seen(conversation) == ["Why?", f"<pinned_rule>\n{RULE}\n</pinned_rule>"]
