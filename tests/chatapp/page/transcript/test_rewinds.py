"""Rewinds and versions as rows: what they hide is in one of them, and none ever disappears."""

from chatapp.conversations import rewind
from chatapp.conversations.rewind import rewind_conversation, undo_rewind
from chatapp.models import Conversation, Rewind
from chatapp.page.transcript import row_builder, row_pages
from chatapp.page.transcript.rows import FailureRow, MessageRow, RewindRow, Row
from tests.chatapp.conftest import Say, use_tools
from tests.chatapp.page.transcript.shown_rows import fail, talk
from tests.chatapp.scripted_turns import ask, end, regenerate


def rows(conversation: Conversation) -> list[Row]:
    """Return the rows of the newest page."""
    return list(row_pages.page(conversation).rows)


def rewinds(conversation: Conversation) -> list[RewindRow]:
    """Return the rows of rewinds that no other one took along."""
    return [row for row in rows(conversation) if isinstance(row, RewindRow)]


def test_a_failed_attempt_is_rewound_with_the_messages_it_stood_between(
    conversation: Conversation, say: Say
) -> None:
    """One rewind is one row; what fails after it stands after it."""
    talk(say, 3)
    fail(conversation)
    talk(say, 2)
    rewind_conversation(conversation=conversation, first_hidden_seq=2)
    fail(conversation)
    _first, rewound, failed = row_pages.page(conversation).rows
    assert isinstance(failed, FailureRow)
    kinds = [type(row) for row in rewound.rows]
    assert kinds == [MessageRow, MessageRow, FailureRow, MessageRow, MessageRow]


def test_an_undone_rewind_stays_on_record(conversation: Conversation, say: Say) -> None:
    """As one line after what it had hidden; a later rewind takes it along."""
    talk(say, 4)
    record = rewind_conversation(conversation=conversation, first_hidden_seq=3)
    undo_rewind(rewind=record)
    talk(say, 1)
    kinds = [type(row) for row in rows(conversation)]
    assert kinds == [*[MessageRow] * 4, RewindRow, MessageRow]
    (line,) = rewinds(conversation)
    assert (line.words, line.undoable, line.slim, line.rows) == ("2 messages", False, True, ())
    assert line.rewind.undone_at
    rewind_conversation(conversation=conversation, first_hidden_seq=2)
    (outer,) = rewinds(conversation)
    assert not outer.rewind.undone_at
    assert [row for row in outer.rows if isinstance(row, RewindRow)] == [line]


def test_a_rewind_longer_than_a_page_says_once_what_it_hid(
    conversation: Conversation, say: Say
) -> None:
    """The page that has its beginning has its figures and its button."""
    talk(say, 12)
    rewind_conversation(conversation=conversation, first_hidden_seq=3)
    page = row_pages.page(conversation, limit=5)
    (rest,) = page.rows
    first = row_pages.page(conversation, before=page.older, limit=20).rows[-1]
    assert [(row.rest, row.undoable) for row in (first, rest)] == [(False, True), (True, False)]
    assert rest.id != first.id


def choices(conversation: Conversation) -> dict[int, str]:
    """Return what stands at messages: "2/3", by seq."""
    found = [row for row in rows(conversation) if isinstance(row, MessageRow) and row.versions]
    for row in found:
        assert row_builder.live_row(conversation, row.seq, {}).versions == row.versions
    return {row.seq: f"{row.versions.number}/{row.versions.count}" for row in found}


def test_an_answer_asked_for_again_has_its_versions_at_its_end(conversation: Conversation) -> None:
    """At the last message of a turn that used tools; the version before is one line."""
    end(ask(conversation), "First.")
    turn = regenerate(conversation, 2)
    use_tools(conversation, 2, "I look.", turn=turn)
    end(turn, "Second.")
    assert choices(conversation) == {5: "2/2"}
    _question, aside, *_answer = rows(conversation)
    assert (aside.name, aside.words, aside.slim) == ("Version 1 of 2", "1 message", True)


def test_a_question_and_its_answer_have_versions_of_their_own(conversation: Conversation) -> None:
    """Each stands at its message; those of the answer go with the question they answer."""
    end(ask(conversation, "Why?"), "Because.")
    end(ask(conversation, "How?", replaces=1), "Thus.")
    end(regenerate(conversation, 4), "So.")
    assert choices(conversation) == {3: "2/2", 5: "2/2"}
    rewind.switch_version(rewind=Rewind.objects.get(cause=Rewind.Cause.EDITED))
    assert choices(conversation) == {1: "1/2"}
    first, _answer, aside = rows(conversation)
    assert first.seq == 1
    assert [type(row) for row in aside.rows] == [MessageRow, RewindRow, MessageRow]
