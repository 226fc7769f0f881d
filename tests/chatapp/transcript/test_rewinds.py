"""Rewinds and versions as rows: what they hide is in one of them, and none ever disappears."""

from chatapp.conversations import rewind
from chatapp.conversations.rewind import rewind_conversation, undo_rewind
from chatapp.models import Condensation, Conversation, Rewind, hidden_messages
from chatapp.transcript import row_builder, row_pages
from chatapp.transcript.rows import (
    CondensationRow,
    FailureRow,
    MessageRow,
    RewindRow,
    Row,
    TurnRow,
    VersionChoice,
)
from tests.chatapp.conftest import Say, summarise, use_tools
from tests.chatapp.scripted_turns import FAILED, ask, end, regenerate, retry
from tests.chatapp.transcript.test_transcript import fail, talk
from tests.records import record_for


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
    rewind_conversation(conversation=conversation, to_seq=2)
    fail(conversation)
    _first, rewound, failed = row_pages.page(conversation).rows
    assert isinstance(failed, FailureRow)
    assert isinstance(rewound, RewindRow)
    kinds = [type(row) for row in rewound.rows]
    assert kinds == [MessageRow, MessageRow, FailureRow, MessageRow, MessageRow]


def test_rewound_messages_fold_into_one_row(conversation: Conversation, say: Say) -> None:
    """With a way back until something new is written."""
    talk(say, 6)
    rewind_conversation(conversation=conversation, to_seq=3)
    *_kept, rewound = row_pages.page(conversation).rows
    assert isinstance(rewound, RewindRow)
    assert (len(rewound.rows), rewound.undoable) == (4, True)
    say("user", "something new")
    rewound = row_pages.page(conversation).rows[-2]
    assert isinstance(rewound, RewindRow)
    assert not rewound.undoable


def test_a_rewind_past_another_one_holds_it(conversation: Conversation, say: Say) -> None:
    """Each says once what it hid, and the inner one is undone after the outer one."""
    talk(say, 6)
    inner = rewind_conversation(conversation=conversation, to_seq=5)
    talk(say, 2)
    outer = rewind_conversation(conversation=conversation, to_seq=3)
    (row,) = rewinds(conversation)
    assert (row.rewind, row.words) == (outer, "4 messages")
    assert [one.seq for one in row.rows] == [3, 4, 5, 7, 8]
    held = row.rows[2]
    assert isinstance(held, RewindRow)
    assert (held.rewind, held.words, held.undoable) == (inner, "2 messages", False)


def test_an_undone_rewind_stays_on_record(conversation: Conversation, say: Say) -> None:
    """As one line after what it had hidden; a later rewind takes it along."""
    talk(say, 4)
    record = rewind_conversation(conversation=conversation, to_seq=3)
    undo_rewind(rewind=record)
    talk(say, 1)
    kinds = [type(row) for row in rows(conversation)]
    assert kinds == [*[MessageRow] * 4, RewindRow, MessageRow]
    (line,) = rewinds(conversation)
    assert (line.words, line.undoable, line.slim, line.rows) == ("2 messages", False, True, ())
    assert line.rewind.undone_at
    rewind_conversation(conversation=conversation, to_seq=2)
    (outer,) = rewinds(conversation)
    assert not outer.rewind.undone_at
    assert [row for row in outer.rows if isinstance(row, RewindRow)] == [line]


def test_everything_counts_as_people_see_it(conversation: Conversation, say: Say) -> None:
    """In the fold, at what it hides, and in the row of a rewind: the same words."""
    say("user", "Read them.")
    use_tools(conversation, 2)
    use_tools(conversation, 4)
    talk(say, 2)
    words = "5 messages, 6 tool results"
    record = rewind_conversation(conversation=conversation, to_seq=1)
    assert [row.words for row in rewinds(conversation)] == [words]
    undo_rewind(rewind=record)
    made = summarise(conversation)
    attempt = record_for(conversation, made)
    hidden = hidden_messages.hidden_by(conversation.pk, [made]).count_seen()
    Condensation.objects.filter(pk=attempt.pk).change(**hidden)
    first, *_others, fold = rows(conversation)
    assert isinstance(first, MessageRow)
    assert first.hidden_by
    assert isinstance(fold, CondensationRow)
    assert (first.hidden_by.words, fold.hidden_text) == (words, f"{words} hidden")


def test_a_rewind_longer_than_a_page_says_once_what_it_hid(
    conversation: Conversation, say: Say
) -> None:
    """The page that has its beginning has its figures and its button."""
    talk(say, 12)
    rewind_conversation(conversation=conversation, to_seq=3)
    page = row_pages.page(conversation, limit=5)
    (rest,) = page.rows
    first = row_pages.page(conversation, before=page.older, limit=20).rows[-1]
    assert isinstance(rest, RewindRow)
    assert isinstance(first, RewindRow)
    assert [(row.rest, row.undoable) for row in (first, rest)] == [(False, True), (True, False)]
    assert rest.id != first.id


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
    assert isinstance(aside, RewindRow)
    assert [type(row) for row in aside.rows] == [MessageRow, RewindRow, MessageRow]


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
