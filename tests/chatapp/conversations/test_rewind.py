"""An answer is asked for again, and its versions are kept and switched."""

import uuid

import pytest

from chatapp.conversations import rewind
from chatapp.conversations.conversations import start_conversation
from chatapp.models import Conversation, Message, Rewind, errors
from tests.chatapp.conftest import Say, use_tools
from tests.chatapp.scripted_turns import ask, end, regenerate, seen


def test_an_answer_is_asked_for_again_and_the_old_one_kept(conversation: Conversation) -> None:
    """With all its steps, and all that followed it."""
    turn = ask(conversation, "Why?")
    use_tools(conversation, 2, "I look.", turn=turn)
    end(turn, "Because.")
    end(ask(conversation, "Really?"), "Yes.")
    another = regenerate(conversation, 4)
    assert seen(conversation) == ["Why?"]
    aside = Rewind.objects.get()
    assert (aside.cause, aside.root_seq, aside.version) == (Rewind.Cause.REGENERATED, 1, 1)
    assert (aside.messages_hidden, aside.results_hidden) == (4, 2)
    assert (another.question_seq, another.rewind_parent) == (1, None)


def test_an_imported_answer_can_be_asked_for_again(conversation: Conversation, say: Say) -> None:
    """It belongs to no turn: the question is the user's last message before it."""
    say("user", "Why?")
    say("assistant", "Because.")
    asked = regenerate(conversation, 2)
    assert asked.question_seq == 1
    end(asked, "So it is.")
    with pytest.raises(errors.Refused, match="can't be asked for again"):
        regenerate(conversation, 2)


def test_an_answer_is_not_asked_for_while_a_turn_runs(conversation: Conversation) -> None:
    """And nothing of it is set aside."""
    end(ask(conversation), "Because.")
    ask(conversation, "Really?")
    with pytest.raises(errors.Refused, match="still running"):
        regenerate(conversation, 2)
    assert not Rewind.objects.exists()


def test_versions_are_switched_back_and_forth_and_each_goes_on_from_where_it_was(
    conversation: Conversation,
) -> None:
    """What is written in one is not part of the other; every step is on record."""
    end(ask(conversation, "Why?"), "First.")
    end(regenerate(conversation, 2), "Second.")
    end(ask(conversation, "More."), "More of the second.")

    def switch() -> None:
        aside = Rewind.objects.get(undone_at=None)
        rewind.switch_version(rewind=aside)

    switch()
    assert seen(conversation) == ["Why?", "First."]
    end(ask(conversation, "On."), "More of the first.")
    switch()
    assert seen(conversation) == ["Why?", "Second.", "More.", "More of the second."]
    switch()
    assert seen(conversation) == ["Why?", "First.", "On.", "More of the first."]
    assert Rewind.objects.count() == 4
    assert Message.objects.count() == 7


def test_a_version_is_shown_once(conversation: Conversation) -> None:
    """Two clicks at once are one; a page that is out of date is told so."""
    end(ask(conversation, "Why?"), "First.")
    end(regenerate(conversation, 2), "Second.")
    first = Rewind.objects.get()
    for _ in range(2):
        rewind.switch_version(rewind=first)
        assert seen(conversation) == ["Why?", "First."]
    assert Rewind.objects.count() == 2
    rewind.switch_version(rewind=Rewind.objects.get(version=2))
    with pytest.raises(errors.Refused, match="Reload the page"):
        rewind.switch_version(rewind=first)


def test_versions_are_not_switched_while_a_turn_runs(conversation: Conversation) -> None:
    """It writes into the one that is shown."""
    end(ask(conversation, "Why?"), "First.")
    regenerate(conversation, 2)
    with pytest.raises(errors.Refused, match="Stop it first"):
        rewind.switch_version(rewind=Rewind.objects.get())


def test_a_rewind_is_made_once_by_its_key(conversation: Conversation) -> None:
    """And nobody gets one of another conversation by it."""
    end(ask(conversation, "Why?"), "Because.")
    key, other = uuid.uuid4(), start_conversation(owner=conversation.owner)
    made = [rewind.rewind_conversation(conversation=conversation, first_hidden_seq=seq, key=key)
            for seq in (2, 1)]  # fmt: skip
    assert (made[0], seen(conversation)) == (made[1], ["Why?"])
    with pytest.raises(errors.Refused, match="in another conversation"):
        rewind.rewind_conversation(conversation=other, first_hidden_seq=1, key=key)
