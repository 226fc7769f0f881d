"""Versions of messages and answers, as rows of the transcript."""

from chatapp.conversations import rewind
from chatapp.models import Conversation, Rewind
from chatapp.transcript import row_builder, row_pages
from chatapp.transcript.rows import MessageRow, RewindRow, Row, TurnRow, VersionChoice
from tests.chatapp.conftest import use_tools
from tests.chatapp.scripted_turns import FAILED, ask, end, regenerate, retry


def rows(conversation: Conversation) -> list[Row]:
    """Return the rows of the newest page."""
    return list(row_pages.page(conversation).rows)


def choices(conversation: Conversation) -> dict[int, str]:
    """Return what stands at messages: "2/3", by seq."""
    found = [row for row in rows(conversation) if isinstance(row, MessageRow) and row.versions]
    for row in found:
        live, _ = row_builder.live_row(conversation.pk, row.seq, {})
        assert isinstance(live, MessageRow)
        assert live.versions == row.versions
    return {row.seq: shown(row.versions) for row in found}


def shown(choice: VersionChoice | None) -> str:
    """Return a choice as the page shows it."""
    assert choice
    return f"{choice.number}/{choice.count}"


def test_an_answer_asked_for_again_has_its_versions_at_its_end(conversation: Conversation) -> None:
    """At the last message of a turn that used tools; the version before is one line."""
    end(ask(conversation), "First.")
    turn = regenerate(conversation, 2)
    use_tools(conversation, 2, "I look.", turn=turn)
    end(turn, "Second.")
    assert choices(conversation) == {5: "2/2"}
    _question, aside, *_answer = rows(conversation)
    assert isinstance(aside, RewindRow)
    assert (aside.name, aside.words, aside.slim) == ("Version 1 of 2", "1 message", True)


def test_a_choice_leads_to_the_version_before_and_after(conversation: Conversation) -> None:
    """By the rewind that hides it."""
    end(ask(conversation), "First.")
    end(regenerate(conversation, 2), "Second.")
    end(regenerate(conversation, 3), "Third.")
    rewind.switch_version(rewind=Rewind.objects.get(version=2))
    (row,) = (one for one in rows(conversation) if isinstance(one, MessageRow) and one.versions)
    assert row.versions
    assert shown(row.versions) == "2/3"
    aside = {one.pk: one.version for one in Rewind.objects.filter(undone_at=None)}
    assert [aside.get(pk) for pk in (row.versions.earlier, row.versions.later)] == [1, 3]


def test_the_versions_of_a_message_stand_at_the_message(conversation: Conversation) -> None:
    """Whichever of them is shown."""
    end(ask(conversation, "Why?"), "Because.")
    end(ask(conversation, "How?", replaces=1), "Thus.")
    assert choices(conversation) == {3: "2/2"}
    rewind.switch_version(rewind=Rewind.objects.get())
    assert choices(conversation) == {1: "1/2"}


def test_a_question_and_its_answer_have_versions_of_their_own(conversation: Conversation) -> None:
    """Those of the answer go with the question they answer."""
    end(ask(conversation, "Why?"), "Because.")
    end(ask(conversation, "How?", replaces=1), "Thus.")
    end(regenerate(conversation, 4), "So.")
    assert choices(conversation) == {3: "2/2", 5: "2/2"}
    rewind.switch_version(rewind=Rewind.objects.get(cause=Rewind.Cause.EDITED))
    assert choices(conversation) == {1: "1/2"}
    first, _answer, aside = rows(conversation)
    assert first.seq == 1
    assert isinstance(aside, RewindRow)
    assert [type(row) for row in aside.rows] == [MessageRow, RewindRow, MessageRow]


def test_a_version_is_one_row_wherever_its_messages_stand(conversation: Conversation) -> None:
    """Its beginning and what was added later, with another version between them."""
    end(ask(conversation), "First.")
    end(regenerate(conversation, 2), "Second.")
    rewind.switch_version(rewind=Rewind.objects.get())
    end(ask(conversation, "More."), "More of the first.")
    rewind.switch_version(rewind=Rewind.objects.get(undone_at=None))
    _question, aside, second = rows(conversation)
    assert isinstance(aside, RewindRow)
    assert ([row.seq for row in aside.rows], aside.words) == ([2, 4, 5], "3 messages")
    assert (second.seq, choices(conversation)) == (3, {3: "2/2"})


def test_a_turn_that_failed_is_told_with_the_version_it_was_to_write(
    conversation: Conversation,
) -> None:
    """Under the version shown it would say what is not so."""
    end(ask(conversation), "First.")
    end(regenerate(conversation, 2), status=FAILED)
    assert isinstance(rows(conversation)[-1], TurnRow)
    rewind.switch_version(rewind=Rewind.objects.get())
    _question, answer, empty = rows(conversation)
    assert (answer.seq, choices(conversation)) == (2, {2: "1/2"})
    assert isinstance(empty, RewindRow)
    assert (empty.name, empty.words) == ("Version 2 of 2", "")
    assert [type(row) for row in empty.rows] == [TurnRow]


def test_a_broken_answer_that_was_set_aside_stays_on_record(conversation: Conversation) -> None:
    """As one line, before the failure that broke it."""
    end(ask(conversation), "It bro", stop_reason="error", status=FAILED)
    end(retry(conversation), "It broke.")
    _question, aside, failed, answer = rows(conversation)
    assert isinstance(aside, RewindRow)
    assert (aside.name, aside.slim, aside.undoable) == ("Set aside to try again", True, False)
    assert isinstance(failed, TurnRow)
    assert isinstance(answer, MessageRow)
    assert answer.versions is None
